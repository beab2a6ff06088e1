/** Scratch runner. */
import { generatePlan } from './generate.ts';
import { runHistory } from './history.ts';
import { describePlan } from './plan.ts';
const from = Number(process.argv[2] ?? 1), n = Number(process.argv[3] ?? 50), verbose = process.argv[4] === 'v';
let deaths = 0, averted = 0, bad = 0; const t = performance.now(); const by = new Map<string, number[]>();
for (let s = from; s < from + n; s++) {
  const plan = generatePlan(s);
  try {
    const r = await runHistory(plan);
    deaths += r.deaths; averted += r.averted;
    if (verbose) { console.log(describePlan(plan)); console.log(r.log.join('\n')); }
    if (r.violations.length) { bad++; const k = r.violations[0]!.invariant; by.set(k, [...(by.get(k) ?? []), s]); }
  } catch (e) { bad++; const k = String((e as Error).stack).split('\n').slice(0,3).join('|'); by.set(k, [...(by.get(k) ?? []), s]); }
}
console.log({ n, deaths, averted, bad, perS: n / (performance.now() - t) * 1000 });
for (const [k, v] of by) console.log(k, v.length, v.slice(0, 12).join(' '));
