/**
 * What `npm run fuzz` does with its arguments: a campaign against one target, which writes an input that breaks the
 * invariant to a file and says how to replay it; or a replay; or the list of targets. Told is what the caller shows.
 */
import { monotonicClock } from '../src/base/clock.ts';
import { systemRandom } from '../src/base/random.ts';
import { type Outcome, runCampaign } from './engine.ts';
import { execute } from './execute.ts';
import { readCorpus, writeCrash } from './files.ts';
import { type Options, parseOptions, USAGE, UsageError } from './options.ts';
import { TARGETS } from './registry.ts';

const PROGRESS_MS = 5_000;
const REPLAY_LIMIT_MS = 60_000;
/** Longer inputs are shown by their file alone. */
const SHOWN_BYTES = 64;

type Run = Extract<Options, { action: 'run' }>;
type Replay = Extract<Options, { action: 'replay' }>;

/** Where the words go, each with its line feed. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
}

/** One object in place of the lines, so that programs read only facts. */
function say({ out }: Terminal, json: boolean, fields: Record<string, unknown>, text: string): void {
  out(json ? `${JSON.stringify(fields)}\n` : `${text}\n`);
}

function list(terminal: Terminal, json: boolean): number {
  const width = Math.max(...TARGETS.map(({ name }) => name.length));
  const lines = TARGETS.map(({ name, about }) => `${name.padEnd(width)}  ${about}`);
  say(terminal, json, { targets: TARGETS.map(({ name, about }) => ({ name, about })) }, lines.join('\n'));
  return 0;
}

function replay(terminal: Terminal, { json, target, input }: Replay): number {
  const finding = execute(target.fuzz, [input], REPLAY_LIMIT_MS);
  const facts = { target: target.name, bytes: input.length, error: finding?.error.message ?? null };
  const verdict =
    finding === undefined ? 'the invariant holds' : `the invariant is broken\n${finding.error.stack}`;
  say(terminal, json, facts, `${target.name}: ${input.length} bytes, ${verdict}`);
  return finding === undefined ? 0 : 1;
}

function run(terminal: Terminal, options: Run): number {
  const { json, target, mode, seconds } = options;
  const seed = options.seed ?? systemRandom().u32();
  const corpus = [...readCorpus(target.name).values()];
  if (!json)
    terminal.out(`${target.name}: seed ${seed}, mode ${mode}, ${corpus.length} inputs in the corpus\n`);
  const startMs = monotonicClock.now();
  const elapsedSeconds = (): number => (monotonicClock.now() - startMs) / 1000;
  let nextProgress = PROGRESS_MS / 1000;
  const outcome = runCampaign({
    target,
    corpus,
    mode,
    seed,
    isOver: (executions) => {
      const elapsed = elapsedSeconds();
      if (elapsed >= nextProgress && elapsed < seconds) {
        terminal.err(`${target.name}: ${executions} inputs, ${Math.round(executions / elapsed)}/s\n`);
        nextProgress = elapsed + PROGRESS_MS / 1000;
      }
      return elapsed >= seconds;
    },
  });
  return report(terminal, options, seed, outcome, elapsedSeconds());
}

function report(
  terminal: Terminal,
  options: Run,
  seed: number,
  { executions, crash }: Outcome,
  elapsed: number,
): number {
  const { json, target, mode } = options;
  const perSecond = Math.round(executions / elapsed);
  const facts = { target: target.name, seed, mode, executions, seconds: elapsed, perSecond };
  const figures = `${executions} inputs in ${elapsed.toFixed(2)} s (${perSecond}/s)`;
  if (crash === undefined) {
    say(terminal, json, { ...facts, crash: null }, `${target.name}: ${figures}, the invariant held`);
    return 0;
  }
  const { input, minimised, error, source } = crash;
  const file = writeCrash(options.crashes, target.name, minimised);
  const command = `npm run fuzz -- ${target.name} --replay ${file}`;
  const shown = minimised.length <= SHOWN_BYTES ? `\ninput   ${minimised.toString('hex')}` : '';
  const found = { source, file, replay: command, bytes: minimised.length, error: error.message };
  say(
    terminal,
    json,
    { ...facts, crash: found },
    `${target.name}: the invariant is broken after ${figures}, by an input of mode ${source}
${error.message}${shown}
written ${file}, ${minimised.length} of ${input.length} bytes
replay  ${command}`,
  );
  return 1;
}

/** The exit code: 0 nothing found, 1 an invariant is broken, 2 the command line cannot be used. */
export function fuzzCommand(args: readonly string[], terminal: Terminal): number {
  try {
    const options = parseOptions(args);
    if (options.action === 'help') {
      terminal.out(`${USAGE}\n`);
      return 0;
    }
    if (options.action === 'list') return list(terminal, options.json);
    return options.action === 'replay' ? replay(terminal, options) : run(terminal, options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    terminal.err(`fuzz: ${error.message}\n`);
    return 2;
  }
}
