/** Runs histories one after another until one breaks a rule, and counts. */
import { generatePlan } from './generate.ts';
import { type HistoryResult, runHistory } from './history.ts';
import { describePlan } from './plan.ts';
import { shrinkPlan } from './shrink.ts';

export interface SimTotals {
  histories: number;
  deaths: number;
  averted: number;
  failedSeed?: number;
  invariant?: string;
}

export interface SimOptions {
  readonly from: number;
  readonly seeds: number;
  /** Called after each history. */
  onHistory?(seed: number, result: HistoryResult, totals: SimTotals): void;
}

/** Histories `from`, `from + 1`, ...: stops at the first that fails. */
export async function runSim(options: SimOptions): Promise<SimTotals> {
  const totals: SimTotals = { histories: 0, deaths: 0, averted: 0 };
  for (let seed = options.from; seed < options.from + options.seeds; seed++) {
    const result = await runHistory(generatePlan(seed));
    totals.histories++;
    totals.deaths += result.deaths;
    totals.averted += result.averted;
    const first = result.violations[0];
    if (first !== undefined) {
      totals.failedSeed = seed;
      totals.invariant = first.invariant;
    }
    options.onHistory?.(seed, result, totals);
    if (first !== undefined) break;
  }
  return totals;
}

/** What to print about a failing seed: the broken rule, how to see it again, and the least that breaks it. */
export async function explainFailure(seed: number): Promise<string> {
  const plan = generatePlan(seed);
  const { violations } = await runHistory(plan);
  const small = await shrinkPlan(plan);
  const { log } = await runHistory(small);
  return [
    `seed ${seed} failed: ${violations[0]?.invariant} ${violations[0]?.text}`,
    `replay: npm run sim -- --seed ${seed}`,
    'shrunk to:',
    describePlan(small),
    ...log,
  ].join('\n');
}
