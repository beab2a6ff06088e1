/**
 * `npm run model`: the models beside this file, searched exhaustively by spin. Each check lists the states stored, the
 * depth, the time and what was shown; it fails when a property is violated, when the search is not complete, or when
 * a planted mistake is *not* found. Needs `spin` and `gcc` on the path.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHECKS, MUTANTS, type Planned, PROPERTIES } from './checks.ts';

const MEMORY_MB = 2_000;
const MAX_DEPTH = 1_000_000;
const TIME_LIMIT_MS = 120_000;

/** What a search came to. `violated`: what breaking the property looks like; undefined: all hold. */
export interface Outcome {
  readonly states: number;
  readonly depth: number;
  readonly seconds: number;
  readonly isComplete: boolean;
  readonly violated: string | undefined;
}

function run(command: string, args: readonly string[], folder: string): string {
  const done = spawnSync(command, args, { cwd: folder, encoding: 'utf8', timeout: TIME_LIMIT_MS });
  if (done.error !== undefined) throw done.error;
  if (done.status !== 0)
    throw new Error(`${command} ${args.join(' ')}: status ${done.status}\n${done.stdout}${done.stderr}`);
  return done.stdout;
}

function numberAfter(pattern: RegExp, output: string): number {
  return Number(pattern.exec(output)?.[1] ?? Number.NaN);
}

/** What pan printed. Anything it could not search to the end, for want of depth, memory or time, is incomplete. */
export function readOutcome(output: string): Omit<Outcome, 'seconds'> {
  const errors = numberAfter(/errors: (\d+)/, output);
  const isCut = /Search not completed|max search depth too small|out of memory|MEMLIM bound/.test(output);
  const assertion = /^pan:\d+: (.*)$/m.exec(output)?.[1] ?? 'unknown';
  const property = Object.values(PROPERTIES).find(({ pattern }) => pattern.test(assertion));
  return {
    states: numberAfter(/(\d+) states, stored/, output),
    depth: numberAfter(/depth reached (\d+)/, output),
    isComplete: errors === 0 && !isCut,
    violated: errors > 0 ? (property?.broken ?? assertion) : undefined,
  };
}

/** Most mistakes are found sooner than a compiler optimises. */
export const UNOPTIMISED = '-O0';

/** Searches one model; throws when spin, the compiler or the search cannot be run at all. */
export function search({ model, defines }: Planned, optimisation = '-O1'): Outcome {
  const folder = mkdtempSync(join(tmpdir(), 'wirebeat-model-'));
  try {
    const flags = defines.map((define) => `-D${define}`);
    run('spin', ['-a', ...flags, fileURLToPath(new URL(`./${model}.pml`, import.meta.url))], folder);
    // Only assertions and dead ends are asked for; one process has nothing to reduce.
    const compile = [optimisation, '-w', '-DSAFETY', '-DNOREDUCE', `-DMEMLIM=${MEMORY_MB}`];
    run('gcc', [...compile, '-o', 'pan', 'pan.c'], folder);
    const startedMs = performance.now();
    const output = run('./pan', [`-m${MAX_DEPTH}`, '-w22'], folder);
    return { ...readOutcome(output), seconds: (performance.now() - startedMs) / 1_000 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function nameOf({ model, defines }: Planned): string {
  return [model, ...defines].join(' ');
}

function describeOutcome({ states, depth, seconds }: Outcome): string {
  return `${states} states, depth ${depth}, ${seconds.toFixed(1)} s`;
}

function main(): boolean {
  let failed = 0;
  let passed = 0;
  const report = (isGood: boolean, text: string): void => {
    if (isGood) passed++;
    else failed++;
    console.log(`${isGood ? 'ok  ' : 'FAIL'} ${text}`);
  };
  for (const check of CHECKS) {
    const outcome = search(check);
    const verdict = outcome.violated ?? (outcome.isComplete ? check.shows : 'the search was not completed');
    report(outcome.isComplete, `${nameOf(check)}: ${describeOutcome(outcome)}: ${verdict}`);
  }
  for (const mutant of MUTANTS) {
    const outcome = search(mutant, UNOPTIMISED);
    const verdict = outcome.violated === undefined ? 'NOT found' : `found: ${outcome.violated}`;
    const isFound = outcome.violated === mutant.shows;
    report(isFound, `${nameOf(mutant)}: ${describeOutcome(outcome)}: ${verdict}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main() ? 0 : 1;
