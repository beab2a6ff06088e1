/** The process's own lateness: score, memory of late wakes, and stretched limits, each against a naive twin. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lateness } from '../../src/session/index.ts';

/** Keeps every wake for ever and counts the score by walking through them. */
class NaiveLateness {
  readonly wakes: { atMs: number; lagMs: number }[] = [];
  #score = 0;
  #scoredMs = 0;

  note(atMs: number, lagMs: number): void {
    this.wakes.push({ atMs, lagMs });
    if (lagMs < 100) return;
    this.#score = Math.min(8, this.score(atMs) + (lagMs >= 1000 ? 2 : 1));
    this.#scoredMs = atMs;
  }

  score(nowMs: number): number {
    let score = this.#score;
    for (let atMs = this.#scoredMs + 5000; atMs <= nowMs && score > 0; atMs += 5000) score--;
    return score;
  }

  newestLaterThan(lagMs: number): number {
    return Math.max(-Infinity, ...this.wakes.filter((wake) => wake.lagMs > lagMs).map(({ atMs }) => atMs));
  }

  recentLagMs(nowMs: number): number {
    const recent = this.wakes.filter(({ atMs, lagMs }) => atMs >= nowMs - 5000 && lagMs >= 50);
    return Math.floor(Math.max(0, ...recent.map(({ lagMs }) => lagMs)));
  }

  /** First whole millisecond, from `nowMs` on, at which the silence is long enough by the score of that moment. */
  limitAtMs(fromMs: number, limitMs: number, nowMs: number): number {
    for (let atMs = nowMs; ; atMs++) {
      if (atMs - fromMs >= Math.ceil(limitMs * (1 + this.score(atMs) / 8))) return atMs;
    }
  }
}

function both(wakes: readonly (readonly [gapMs: number, lagMs: number])[]) {
  const lateness = new Lateness();
  const naive = new NaiveLateness();
  let nowMs = 0;
  for (const [gapMs, lagMs] of wakes) {
    nowMs += gapMs;
    lateness.note(nowMs, lagMs);
    naive.note(nowMs, lagMs);
  }
  return { lateness, naive, nowMs };
}

const wakesArbitrary = fc.array(
  fc.tuple(
    fc.integer({ min: 1, max: 9000 }),
    fc.oneof(fc.constantFrom(0, 49, 50, 99, 100, 999, 1000), fc.nat(5000)),
  ),
  { maxLength: 15, size: 'max' },
);

describe('the score of lateness', () => {
  it.each([
    [99.9, 0, false],
    [100, 1, true],
    [999.9, 1, true],
    [1000, 2, true],
    [86_400_000, 2, true],
  ])('a wake %d ms late scores %i, told: %s', (lagMs, score, isTold) => {
    const lateness = new Lateness();
    expect(lateness.note(1000, lagMs)).toBe(isTold);
    expect(lateness.score(1000)).toBe(score);
    expect(lateness.worstLagMs).toBe(lagMs);
  });

  it('never exceeds 8, and falls by one each 5 s down to 0', () => {
    const lateness = new Lateness();
    for (let count = 0; count < 20; count++) lateness.note(1000, 2000);
    expect(lateness.score(1000)).toBe(8);
    expect([5999, 6000, 10_999, 11_000, 40_999, 41_000, 1e9].map((at) => lateness.score(at))).toEqual([
      8, 7, 7, 6, 1, 0, 0,
    ]);
  });

  it('falls at the pace it would have, also between two late wakes', () => {
    const lateness = new Lateness();
    for (let count = 0; count < 3; count++) lateness.note(0, 1000);
    expect(lateness.score(12_000)).toBe(4);
    lateness.note(12_000, 150);
    expect(lateness.score(12_000)).toBe(5);
  });
});

describe('lateness against its naive twin', () => {
  it('remembers what any session can ask: score, newest wake too late for an interval, worst of the last 5 s', () => {
    fc.assert(
      fc.property(wakesArbitrary, fc.nat(20_000), fc.nat(5000), (wakes, laterMs, lagMs) => {
        const { lateness, naive, nowMs } = both(wakes);
        const askedLagMs = Math.max(50, lagMs);
        expect(lateness.newestLaterThan(askedLagMs)).toBe(naive.newestLaterThan(askedLagMs));
        expect(lateness.score(nowMs + laterMs)).toBe(naive.score(nowMs + laterMs));
        expect(lateness.recentLagMs(nowMs + laterMs)).toBe(naive.recentLagMs(nowMs + laterMs));
      }),
      { numRuns: 500 },
    );
  });

  it('a great stall is not forgotten over any number of small ones', () => {
    const { lateness } = both([[10, 8000], ...Array.from({ length: 100 }, () => [100, 60] as const)]);
    expect(lateness.newestLaterThan(7500)).toBe(10);
  });

  it('knows the first moment at which a silence exceeds its limit, stretched by the score of that moment', () => {
    fc.assert(
      fc.property(
        wakesArbitrary,
        fc.integer({ min: 100, max: 12_000 }),
        fc.nat(8000),
        (wakes, limitMs, agoMs) => {
          const { lateness, naive, nowMs } = both(wakes);
          const fromMs = nowMs - agoMs;
          const atMs = lateness.limitAtMs(fromMs, limitMs, nowMs);
          expect(Math.max(atMs, nowMs)).toBe(naive.limitAtMs(fromMs, limitMs, nowMs));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is asked again later, and the answer is the same while nothing new is late', () => {
    const { lateness, nowMs } = both([
      [1000, 3000],
      [100, 3000],
      [100, 500],
    ]);
    const atMs = lateness.limitAtMs(nowMs, 30_000, nowMs);
    for (let later = nowMs; later < atMs; later += 97) {
      expect(lateness.limitAtMs(nowMs, 30_000, later)).toBe(atMs);
    }
    expect(atMs).toBe(nowMs + 30_000);
  });
});
