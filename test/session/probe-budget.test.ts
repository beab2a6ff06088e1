/** How many suspect probes the process sends per second: 2 000, first questions first. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProbeBudget } from '../../src/session/index.ts';

function spend(budget: ProbeBudget, index: number, nowMs: number, tries = 5000): number {
  let allowed = 0;
  for (let count = 0; count < tries; count++) if (budget.allow(index, nowMs)) allowed++;
  return allowed;
}

describe('the probe budget', () => {
  it('lets 2 000 first probes go at once, then two per millisecond', () => {
    const budget = new ProbeBudget();
    expect(spend(budget, 0, 10_000)).toBe(2000);
    expect(spend(budget, 0, 10_001)).toBe(2);
    expect(spend(budget, 0, 10_501)).toBe(1000);
    expect(spend(budget, 0, 99_999)).toBe(2000);
  });

  it('lets repeated probes have the upper half only', () => {
    const budget = new ProbeBudget();
    expect(spend(budget, 3, 10_000)).toBe(1000);
    expect(spend(budget, 0, 10_000)).toBe(1000);
    expect(spend(budget, 1, 10_400)).toBe(0);
    expect(spend(budget, 1, 10_501)).toBe(2);
  });

  it('a clock that stands or goes back gives nothing', () => {
    const budget = new ProbeBudget();
    spend(budget, 0, 10_000);
    expect(spend(budget, 0, 9000)).toBe(0);
  });

  it('never allows more than 2 000 and what time has earned', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(300), fc.nat(4), fc.nat(800)), { maxLength: 30 }), (asks) => {
        const budget = new ProbeBudget();
        let nowMs = 5000;
        let allowed = 0;
        for (const [gapMs, index, tries] of asks) allowed += spend(budget, index, (nowMs += gapMs), tries);
        expect(allowed).toBeLessThanOrEqual(2000 + (nowMs - 5000) * 2);
      }),
      { numRuns: 50 },
    );
  });
});
