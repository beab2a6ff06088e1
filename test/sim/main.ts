/**
 * `npm run sim`: thousands of random histories of links in the lab, each checked against the published promises; or
 * the same with known mistakes planted, which must be caught. `--help` tells the options. Exit code 1 when a promise
 * was broken (or a mistake was not caught), 2 for arguments that are none.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { SIM_HELP, type SimArguments, simArguments, UsageError } from './arguments.ts';
import { generatePlan } from './generate.ts';
import { runHistory } from './history.ts';
import { type Mutant, plant } from './mutants.ts';
import { describePlan } from './plan.ts';
import { explainFailure, runSim } from './runner.ts';

const PROGRESS_EVERY_MS = 2_000;

function understood(): SimArguments {
  try {
    return simArguments(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`sim: ${error.message}`);
    process.exit(2);
  }
}

const options = understood();

async function replay(seed: number): Promise<boolean> {
  const plan = generatePlan(seed);
  const { violations, log } = await runHistory(plan);
  console.log(
    options.json ? JSON.stringify({ seed, violations, log }) : [describePlan(plan), ...log].join('\n'),
  );
  return violations.length === 0;
}

async function simulate(): Promise<boolean> {
  const startedMs = performance.now();
  let toldMs = startedMs;
  const totals = await runSim({
    from: options.from,
    seeds: options.seeds,
    onHistory: (seed, _result, soFar) => {
      const nowMs = performance.now();
      if (nowMs - toldMs < PROGRESS_EVERY_MS) return;
      toldMs = nowMs;
      console.error(`seed ${seed}: ${soFar.histories} histories, ${soFar.deaths} deaths`);
    },
  });
  const { histories, deaths, averted, failedSeed } = totals;
  const perSecond = Math.round((histories * 1_000) / (performance.now() - startedMs));
  if (failedSeed !== undefined && !options.json) console.log(await explainFailure(failedSeed));
  const verdict =
    failedSeed === undefined ? 'all promises kept' : `seed ${failedSeed} broke ${totals.invariant}`;
  const counted = `${histories} histories, ${deaths} deaths, ${averted} averted kills, ${perSecond}/s`;
  console.log(options.json ? JSON.stringify({ ...totals, perSecond }) : `${counted}: ${verdict}`);
  return failedSeed === undefined;
}

/** True when the sim, run on a copy with the mistake in it, turns red. */
function catchMutant(mutant: Mutant): boolean {
  const { folder, remove } = plant(mutant);
  try {
    const entry = join(folder, 'test/sim/main.ts');
    const sim = ['--json', '--seeds', String(options.seeds), '--from', String(options.from)];
    const child = spawnSync(process.execPath, ['--import', import.meta.resolve('tsx'), entry, ...sim], {
      cwd: folder,
      encoding: 'utf8',
    });
    const last = child.stdout.trim().split('\n').at(-1) ?? '';
    if (!last.startsWith('{')) throw new Error(`${mutant.name}: the sim did not run: ${child.stderr}`);
    const totals = JSON.parse(last);
    const isCaught = totals.failedSeed !== undefined;
    const how = isCaught ? `caught by ${totals.invariant}, seed ${totals.failedSeed}` : `NOT CAUGHT ${last}`;
    console.log(options.json ? JSON.stringify({ mutant: mutant.name, ...totals }) : `${mutant.name}: ${how}`);
    return isCaught;
  } finally {
    remove();
  }
}

async function main(): Promise<boolean> {
  const { help, mutants, seed } = options;
  if (help) console.log(SIM_HELP);
  else if (mutants.length > 0) return mutants.map(catchMutant).every(Boolean);
  else return seed === undefined ? simulate() : replay(seed);
  return true;
}

process.exitCode = (await main()) ? 0 : 1;
