/** How many suspect probes the process sends within any second: 2 000, first questions first. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProbeBudget } from '../../src/session/index.ts';

function spend(budget: ProbeBudget, index: number, nowMs: number, tries = 5000): number {
  let allowed = 0;
  for (let count = 0; count < tries; count++) if (budget.allow(index, nowMs)) allowed++;
  return allowed;
}

describe('the probe budget', () => {
  it('lets 2 000 first probes go at once, then as many as went a second ago', () => {
    const budget = new ProbeBudget();
    expect(spend(budget, 0, 10_000, 1500)).toBe(1500);
    expect(spend(budget, 0, 10_300)).toBe(500);
    expect(spend(budget, 0, 11_049)).toBe(0);
    expect(spend(budget, 0, 11_050)).toBe(1500);
    expect(spend(budget, 0, 11_349)).toBe(0);
    expect(spend(budget, 0, 11_350)).toBe(500);
    expect(spend(budget, 0, 99_999)).toBe(2000);
  });

  it('lets repeated probes have one half only', () => {
    const budget = new ProbeBudget();
    expect(spend(budget, 3, 10_000)).toBe(1000);
    expect(spend(budget, 0, 10_000)).toBe(1000);
    expect(spend(budget, 1, 10_400)).toBe(0);
    expect(spend(budget, 1, 11_050)).toBe(1000);
  });

  it('a clock that stands or goes back gives nothing', () => {
    const budget = new ProbeBudget();
    spend(budget, 0, 10_000);
    expect(spend(budget, 0, 9000)).toBe(0);
  });

  it('never allows more than 2 000 within a second, and what is free to a first probe it always grants', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(300), fc.nat(4), fc.nat(800)), { maxLength: 30, size: 'max' }),
        (asks) => {
          const budget = new ProbeBudget();
          const sent: [number, number][] = [];
          const within = (nowMs: number, ms: number): number =>
            sent.reduce((sum, [atMs, count]) => (atMs > nowMs - ms ? sum + count : sum), 0);
          let nowMs = 5000;
          for (const [gapMs, index, tries] of asks) {
            nowMs += gapMs;
            const free = 2000 - within(nowMs, 1050);
            const count = spend(budget, index, nowMs, tries);
            sent.push([nowMs, count]);
            expect(within(nowMs, 1000)).toBeLessThanOrEqual(2000);
            if (index === 0) expect(count).toBeGreaterThanOrEqual(Math.min(tries, free));
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});
