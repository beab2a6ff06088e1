/**
 * `npm run sim`: thousands of random histories of links in the lab, each checked against the published promises.
 * `--seeds N` how many, `--from S` the first, `--seed N` replay one with its log, `--json` one object per line,
 * `--mutant NAME` (or `all`) plant a known mistake first and see it caught. Exit 1 when a rule was broken; with
 * `--mutant` when one was not.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { integerIn } from '../../src/base/assert.ts';
import { generatePlan } from './generate.ts';
import { runHistory } from './history.ts';
import { MUTANTS, type Mutant, plant } from './mutants.ts';
import { describePlan } from './plan.ts';
import { explainFailure, runSim } from './runner.ts';

const PROGRESS_EVERY_MS = 2_000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
    mutant: { type: 'string' },
  },
});
const whole = (name: string, text: string): number =>
  integerIn(name, Number(text), 0, Number.MAX_SAFE_INTEGER);

async function replay(seed: number): Promise<boolean> {
  const plan = generatePlan(seed);
  const { violations, log } = await runHistory(plan);
  console.log(
    values.json ? JSON.stringify({ seed, violations, log }) : [describePlan(plan), ...log].join('\n'),
  );
  return violations.length === 0;
}

async function simulate(): Promise<boolean> {
  const startedMs = performance.now();
  let toldMs = startedMs;
  const totals = await runSim({
    from: whole('--from', values.from),
    seeds: whole('--seeds', values.seeds),
    onHistory: (seed, _result, soFar) => {
      const nowMs = performance.now();
      if (nowMs - toldMs < PROGRESS_EVERY_MS) return;
      toldMs = nowMs;
      console.error(`seed ${seed}: ${soFar.histories} histories, ${soFar.deaths} deaths`);
    },
  });
  const { histories, deaths, averted, failedSeed } = totals;
  const perSecond = Math.round((histories * 1_000) / (performance.now() - startedMs));
  if (failedSeed !== undefined && !values.json) console.log(await explainFailure(failedSeed));
  const verdict =
    failedSeed === undefined ? 'all promises kept' : `seed ${failedSeed} broke ${totals.invariant}`;
  const counted = `${histories} histories, ${deaths} deaths, ${averted} averted kills, ${perSecond}/s`;
  console.log(values.json ? JSON.stringify({ ...totals, perSecond }) : `${counted}: ${verdict}`);
  return failedSeed === undefined;
}

/** True when the sim, run on a copy with the mistake in it, turns red. */
function catchMutant(mutant: Mutant): boolean {
  const { folder, remove } = plant(mutant);
  try {
    const entry = join(folder, 'test/sim/main.ts');
    const sim = ['--json', '--seeds', values.seeds, '--from', values.from];
    const child = spawnSync(process.execPath, ['--import', import.meta.resolve('tsx'), entry, ...sim], {
      cwd: folder,
      encoding: 'utf8',
    });
    const last = child.stdout.trim().split('\n').at(-1) ?? '';
    if (!last.startsWith('{')) throw new Error(`${mutant.name}: the sim did not run: ${child.stderr}`);
    const totals = JSON.parse(last);
    const isCaught = totals.failedSeed !== undefined;
    const how = isCaught ? `caught by ${totals.invariant}, seed ${totals.failedSeed}` : `NOT CAUGHT ${last}`;
    console.log(values.json ? JSON.stringify({ mutant: mutant.name, ...totals }) : `${mutant.name}: ${how}`);
    return isCaught;
  } finally {
    remove();
  }
}

async function main(): Promise<boolean> {
  if (values.mutant === undefined) {
    return values.seed === undefined ? simulate() : replay(whole('--seed', values.seed));
  }
  const chosen = MUTANTS.filter(({ name }) => values.mutant === 'all' || values.mutant === name);
  if (chosen.length === 0) {
    throw new RangeError(`--mutant must be all or one of ${MUTANTS.map(({ name }) => name).join(', ')}`);
  }
  return chosen.map(catchMutant).every(Boolean);
}

process.exitCode = (await main()) ? 0 : 1;
