/**
 * `wirebeat doctor`: what settings come to on this machine before anything is connected. How long each kind of failure
 * can go unnoticed, what does not fit together, what the path forgets, and what many links cost.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ExplainOptions, explainTuning, type PathName } from '../../net/tuning/explain.ts';
import {
  MAX_COUNT,
  MAX_USER_TIMEOUT_MS,
  MIN_USER_TIMEOUT_MS,
  TUNE_DEFAULTS,
} from '../../net/tuning/options.ts';
import { PATH_IDLE_LIMITS_MS } from '../../session/coherence.ts';
import { MAX_KEEPALIVE_MS } from '../../session/kernel-patience.ts';
import { MAX_DETECTION_MS } from '../../session/negotiation.ts';
import { MAX_INTERVAL_MS, MIN_INTERVAL_MS, SESSION_DEFAULTS } from '../../session/policy.ts';
import { PRESET_NAMES, type PresetName } from '../../session/presets.ts';
import { calibrate } from '../doctor/calibrate.ts';
import { codeLines } from '../doctor/code.ts';
import {
  environmentText,
  FAILURES,
  failureText,
  findingText,
  loadText,
  pathText,
  settingsText,
  withoutBeatsText,
} from '../doctor/text.ts';
import { durationIn, typedDuration } from '../durations.ts';
import { BAD, type ExitCode, GOOD, UsageError } from '../errors.ts';
import { flagOf, inFlags } from '../flag-words.ts';
import { counted, integerBetween } from '../numbers.ts';
import { runCommand, type Shell } from '../run.ts';

interface DoctorFlags {
  preset?: PresetName;
  interval?: number;
  deadAfter?: number;
  keepalive: boolean;
  keepaliveIdle?: number;
  keepaliveInterval?: number;
  keepaliveCount?: number;
  userTimeout?: 'follow' | false | number;
  path?: PathName | number;
  serverMin?: number;
  links?: number;
  json?: boolean;
}

const MAX_PATH_MS = 7 * 86_400_000;
const MAX_LINKS = 10_000_000;
const PATHS = Object.keys(PATH_IDLE_LIMITS_MS) as PathName[];

const EXAMPLES = `
Paths by name: ${Object.entries(PATH_IDLE_LIMITS_MS)
  .map(([name, ms]) => `${name} (${typedDuration(ms)})`)
  .join(', ')}.

Examples:
  $ wirebeat doctor
  $ wirebeat doctor --preset behind-nat --path nat --user-timeout follow
  $ wirebeat doctor -i 2m --path balancer-350 --server-min 30s
  $ wirebeat doctor --keepalive-idle 30s --keepalive-interval 5s --keepalive-count 3 --json
  $ wirebeat doctor --links 50000    (measures for two seconds what a frame costs here)

Conflicts (errors) are: a keepalive that the kernel does not take; a user time-out of 0, or one that takes the place of
--keepalive-count; an interval that the path's idle limit or the server's minimum (--server-min) does not allow; more
silence than peers agree to (${typedDuration(MAX_DETECTION_MS)}). A warning is what works, but otherwise than it seems:
the kernel ends the link before our verdict, one lost beat and the path forgets.

Exit codes: 0 it fits (warnings are shown), 1 a conflict, 2 the command line cannot be used.`;

export function addDoctor(program: Command): void {
  const { idleMs, intervalMs, count } = TUNE_DEFAULTS;
  const keepAliveDuration = durationIn(0, MAX_KEEPALIVE_MS);
  program
    .command('doctor')
    .summary('say how long failures can go unnoticed with given settings, and what does not fit')
    .description('Explain settings on this machine, before anything is connected.')
    .addOption(
      new Option('--preset <name>', 'interval and dead-after for a kind of path').choices(PRESET_NAMES),
    )
    .option(
      '-i, --interval <duration>',
      `longest time between beats (default: ${typedDuration(SESSION_DEFAULTS.intervalMs)}, or the preset's)`,
      durationIn(MIN_INTERVAL_MS, MAX_INTERVAL_MS),
    )
    .option(
      '--dead-after <number>',
      `dead after this many silent intervals (default: ${SESSION_DEFAULTS.deadAfter}, or the preset's)`,
      integerBetween(1, 255),
    )
    .option('--no-keepalive', 'the kernel asks nothing')
    .option(
      '--keepalive-idle <duration>',
      `the kernel asks after this long without a packet (default: ${typedDuration(idleMs)})`,
      keepAliveDuration,
    )
    .option(
      '--keepalive-interval <duration>',
      `and then this often (default: ${typedDuration(intervalMs)})`,
      keepAliveDuration,
    )
    .option(
      '--keepalive-count <number>',
      `dead after so many without an answer (default: ${count})`,
      integerBetween(1, MAX_COUNT),
    )
    .option(
      '--user-timeout <duration>',
      "the kernel's patience with data in flight: follow (a link's verdict), off (default), or a duration",
      parseUserTimeout,
    )
    .option('--path <name>', 'what lies between: a name (below), or its idle limit as a duration', parsePath)
    .option(
      '--server-min <duration>',
      'the shortest interval that the server takes',
      durationIn(1, MAX_INTERVAL_MS),
    )
    .option('--links <number>', 'say what so many idle links cost', integerBetween(1, MAX_LINKS))
    .option('--json', 'one JSON object per statement, then a summary')
    .addHelpText('after', EXAMPLES)
    .action((flags: DoctorFlags) => runCommand(flags, (shell) => doctor(shell, flags)));
}

async function doctor({ output, interrupted }: Shell, flags: DoctorFlags): Promise<ExitCode> {
  const options = optionsOf(flags);
  if (flags.links !== undefined) {
    output.draw('measuring what a frame costs here ...\n');
    const cost = await calibrate(interrupted).catch((error: Error) => {
      if (interrupted.aborted) return undefined;
      throw error;
    });
    if (cost === undefined) throw new Error(`${interrupted.reason} while measuring`);
    options.beatCost = cost;
  }
  const explained = explainTuning(options);
  const { environment, failures, idleWithoutBeats, findings, missing, paths, load } = explained;
  const { intervalMs, deadAfter, detectionTimeMs, detectionBoundMs } = explained;
  const { keepAlive, userTimeoutMs, userTimeoutBy } = explained;
  output.report({ type: 'environment', ...environment }, environmentText(explained));
  const settings = { intervalMs, deadAfter, detectionTimeMs, detectionBoundMs, keepAlive, userTimeoutMs };
  output.report({ type: 'settings', ...settings, userTimeoutBy }, settingsText(explained));
  for (const name of Object.keys(FAILURES) as (keyof typeof FAILURES)[]) {
    output.report({ type: 'failure', failure: name, ...failures[name] }, failureText(name, failures[name]));
  }
  output.report(
    { type: 'without-heartbeats', failure: 'idle', kernel: idleWithoutBeats },
    withoutBeatsText(idleWithoutBeats),
  );
  for (const path of paths) output.report({ type: 'path', ...path }, pathText(path));
  if (load !== undefined) output.report({ type: 'load', ...load }, loadText(load));
  for (const text of missing.map(inFlags)) {
    output.report({ type: 'missing', message: text }, `missing: ${text}`);
  }
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  for (const { purpose, code } of errors === 0 ? codeLines(options, explained) : []) {
    output.report({ type: 'code', purpose, code }, `${purpose}:\n  ${code}`);
  }
  for (const finding of findings) {
    const message = inFlags(finding.message);
    output.report({ type: 'finding', ...finding, message, flag: flagOf(finding) }, findingText(finding));
  }
  const warnings = findings.length - errors;
  output.summary(
    { errors, warnings, missing: missing.length, detectionTimeMs },
    `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`,
  );
  return errors === 0 ? GOOD : BAD;
}

/** UsageError for flags that exclude each other. */
function optionsOf(flags: DoctorFlags): ExplainOptions {
  const { keepaliveIdle: idleMs, keepaliveInterval: intervalMs, keepaliveCount: count } = flags;
  const keepAlive = Object.fromEntries(
    Object.entries({ idleMs, intervalMs, count }).filter(([, value]) => value !== undefined),
  );
  if (!flags.keepalive && Object.keys(keepAlive).length > 0) {
    throw new UsageError('--no-keepalive excludes the other --keepalive flags');
  }
  return {
    keepAlive: flags.keepalive && keepAlive,
    ...(flags.preset !== undefined && { preset: flags.preset }),
    ...(flags.interval !== undefined && { intervalMs: flags.interval }),
    ...(flags.deadAfter !== undefined && { deadAfter: flags.deadAfter }),
    ...(flags.userTimeout !== undefined && { userTimeoutMs: flags.userTimeout }),
    ...(flags.path !== undefined && { path: flags.path }),
    ...(flags.serverMin !== undefined && { serverMinimumMs: flags.serverMin }),
    ...(flags.links !== undefined && { links: flags.links }),
  };
}

/** 0 is let through: it is a conflict, and the validator says why. */
function parseUserTimeout(text: string): 'follow' | false | number {
  if (text === 'follow') return text;
  if (text === 'off') return false;
  if (!/^\d/.test(text)) throw new InvalidArgumentError('Expected follow, off or a duration.');
  return text === '0' ? 0 : durationIn(MIN_USER_TIMEOUT_MS, MAX_USER_TIMEOUT_MS)(text);
}

function parsePath(text: string): PathName | number {
  const name = PATHS.find((one) => one === text);
  if (name !== undefined) return name;
  if (!/^\d/.test(text)) throw new InvalidArgumentError(`Expected ${PATHS.join(', ')} or a duration.`);
  return durationIn(1, MAX_PATH_MS)(text);
}
