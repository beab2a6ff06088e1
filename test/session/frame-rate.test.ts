/** The hard cap on heartbeats received: at the limit, one past it, and against a bucket that keeps plain tokens. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { freshFrameLevel, spendFrame } from '../../src/session/frame-rate.ts';

/** How many frames at these times pass, before the first that is one too many. */
function passed(openedMs: number, timesMs: readonly number[], framesPerSecond: number): number {
  let level = freshFrameLevel(openedMs);
  let count = 0;
  for (const nowMs of timesMs) {
    level = spendFrame(level, nowMs, framesPerSecond);
    if (level > nowMs) return count;
    count++;
  }
  return count;
}

const times = (count: number, atMs: (index: number) => number): number[] =>
  Array.from({ length: count }, (_, n) => atMs(n));

describe('the frame cap', () => {
  test('a fresh link may send two seconds worth at once, and not one frame more', () => {
    expect(
      passed(
        5_000,
        times(100, () => 5_000),
        50,
      ),
    ).toBe(100);
    expect(
      passed(
        5_000,
        times(101, () => 5_000),
        50,
      ),
    ).toBe(100);
  });

  test('exactly the rate goes on for ever, a little more does not', () => {
    expect(
      passed(
        0,
        times(10_000, (n) => 20 * n),
        50,
      ),
    ).toBe(10_000);
    expect(
      passed(
        0,
        times(10_000, (n) => 19.8 * n),
        50,
      ),
    ).toBeLessThan(10_000);
  });

  test('F64: all the cap allows in a minute of our own stall, arriving at once, is taken', () => {
    const before = times(1_000, (n) => 20 * n); // uses all it may
    const stalled = times(50 * 60, () => 20_000 + 60_000);
    expect(passed(0, [...before, ...stalled], 50)).toBe(4_000);
  });

  test('no more than a minute is saved up', () => {
    const allowed = 50 * (60 + 2);
    expect(
      passed(
        0,
        times(allowed, () => 3_600_000),
        50,
      ),
    ).toBe(allowed);
    expect(
      passed(
        0,
        times(allowed + 1, () => 3_600_000),
        50,
      ),
    ).toBe(allowed);
  });

  test('Infinity is no limit', () => {
    expect(
      passed(
        0,
        times(100_000, () => 0),
        Number.POSITIVE_INFINITY,
      ),
    ).toBe(100_000);
  });

  test('agrees with a bucket of tokens', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 400 });
    fc.assert(
      fc.property(fc.constantFrom(1, 2, 5, 20), gaps, (rate, gapsMs) => {
        // Whole thousandths of a token, so that the twin is exact.
        let tokens = 2_000 * rate;
        let nowMs = 0;
        let level = freshFrameLevel(0);
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          tokens = Math.min(62_000 * rate, tokens + gapMs * rate) - 1_000;
          level = spendFrame(level, nowMs, rate);
          expect(level > nowMs).toBe(tokens < 0);
        }
      }),
    );
  });
});
