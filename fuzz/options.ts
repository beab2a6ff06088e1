/** The command line of the fuzzer: what it understands, and one line about whatever it does not. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { MODES, type Mode } from './engine.ts';
import { TARGETS, type Target } from './registry.ts';

export const USAGE = `npm run fuzz -- TARGET [--seconds N] [--seed S] [--mode ${MODES.join('|')}]
                        [--crashes FOLDER] [--json]
npm run fuzz -- TARGET --replay FILE|HEX [--json]
npm run fuzz -- --list [--json]`;

const DEFAULT_SECONDS = 10;
const MAX_SECONDS = 7 * 86_400;
const U32_MAX = 0xffffffff;

/** The command line cannot be used. */
export class UsageError extends Error {}

export type Options = { json: boolean } & (
  | { action: 'list' }
  | { action: 'help' }
  | { action: 'replay'; target: Target; input: Buffer }
  | { action: 'run'; target: Target; seconds: number; seed: number | undefined; mode: Mode; crashes: string }
);

/** UsageError with one line when `args` make no sense. Reads the file of --replay. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = split(args);
  const json = values.json === true;
  if (values.help) return { action: 'help', json };
  const campaignOnly = (['seconds', 'seed', 'mode', 'crashes'] as const).find(
    (name) => values[name] !== undefined,
  );
  if (values.list) {
    const other = positionals[0] ?? campaignOnly ?? (values.replay === undefined ? undefined : 'replay');
    if (other !== undefined) throw new UsageError(`--list stands alone, got ${other} as well`);
    return { action: 'list', json };
  }
  const target = targetOf(positionals);
  if (values.replay !== undefined) {
    if (campaignOnly !== undefined) throw new UsageError(`--replay and --${campaignOnly} exclude each other`);
    return { action: 'replay', json, target, input: readInput(values.replay) };
  }
  const seconds = values.seconds === undefined ? DEFAULT_SECONDS : numberOf('--seconds', values.seconds);
  if (seconds <= 0 || seconds > MAX_SECONDS) {
    throw new UsageError(`--seconds must be more than 0 and at most ${MAX_SECONDS}, got ${seconds}`);
  }
  const seed = values.seed === undefined ? undefined : numberOf('--seed', values.seed);
  if (seed !== undefined && (!Number.isInteger(seed) || seed > U32_MAX)) {
    throw new UsageError(`--seed must be a whole number in 0..${U32_MAX}, got ${values.seed}`);
  }
  const mode = values.mode ?? 'both';
  if (!MODES.includes(mode as Mode)) {
    throw new UsageError(`--mode must be one of ${MODES.join(', ')}, got ${JSON.stringify(mode)}`);
  }
  return {
    action: 'run',
    json,
    target,
    seconds,
    seed,
    mode: mode as Mode,
    crashes: values.crashes ?? 'fuzz/crashes',
  };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        seconds: { type: 'string' },
        seed: { type: 'string' },
        mode: { type: 'string' },
        crashes: { type: 'string' },
        replay: { type: 'string' },
        list: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]);
  }
}

function targetOf(names: readonly string[]): Target {
  const known = TARGETS.map((target) => target.name).join(', ');
  if (names.length !== 1) throw new UsageError(`name one target, got ${names.length}; there are ${known}`);
  const target = TARGETS.find(({ name }) => name === names[0]);
  if (target === undefined)
    throw new UsageError(`no target named ${JSON.stringify(names[0])}; there are ${known}`);
  return target;
}

function numberOf(option: string, text: string): number {
  if (!/^\d{1,12}(\.\d{1,6})?$/.test(text)) {
    throw new UsageError(`${option} must be a number, got ${JSON.stringify(text)}`);
  }
  return Number(text);
}

/** A file when there is one of that name, else hexadecimal digits. */
function readInput(text: string): Buffer {
  if (existsSync(text)) {
    if (!statSync(text).isFile()) throw new UsageError(`--replay: ${text} is not a file`);
    return readFileSync(text);
  }
  if (!/^([\da-f]{2})*$/i.test(text)) {
    throw new UsageError(`--replay: ${JSON.stringify(text)} is neither a file nor hexadecimal`);
  }
  return Buffer.from(text, 'hex');
}
