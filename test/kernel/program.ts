/**
 * What the programs of the lab have in common: happenings go out as one JSON object per line, commands come in as
 * lines (`block 3000`), and the end of the input is the end of the program, so that none outlives the lab.
 * Times are of the machine's monotonic clock, which all its processes share.
 */
import { createInterface } from 'node:readline';

/** One line of a program. */
export interface Happening {
  /** Machine's monotonic clock, ms. */
  readonly atMs: number;
  readonly event: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What a program does at a command; `argument` is the number behind it, NaN when there is none. */
export type Commands = Readonly<Record<string, (argument: number) => void>>;

export function machineNowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export function say(event: string, detail: object = {}): void {
  process.stdout.write(`${JSON.stringify({ atMs: machineNowMs(), event, detail })}\n`);
}

/** The options a program was started with, as one JSON argument. */
export function programOptions<T>(): T {
  return JSON.parse(process.argv[2] ?? '{}') as T;
}

export function obey(commands: Commands): void {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const [name = '', argument] = line.split(' ');
    const command = commands[name];
    if (command === undefined)
      throw new RangeError(`command must be one of ${Object.keys(commands)}, got ${line}`);
    say('obeys', { command: line });
    command(Number(argument));
  });
  lines.on('close', () => process.exit(0));
}

/** Nothing of this process runs for so long: its event loop is blocked. */
export function blockLoop(forMs: number): void {
  const untilMs = machineNowMs() + forMs;
  while (machineNowMs() < untilMs);
}
