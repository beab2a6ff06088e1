/** From milliseconds to ticks and back: never early, whatever floating point does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LAST_TICK, TickGrid } from '../../src/time/tick-grid.ts';

const grid = fc
  .record({
    startMs: fc.oneof(
      fc.constantFrom(0, 2 ** 53, -(2 ** 53)),
      fc.double({ min: -1e15, max: 1e15, noNaN: true }),
    ),
    tickMs: fc.oneof(
      fc.constantFrom(1, 7.5, 10, 1.1, 86_400_000),
      fc.double({ min: 1, max: 1000, noNaN: true }),
    ),
  })
  .map(({ startMs, tickMs }) => new TickGrid(startMs, tickMs));
const timeMs = fc.oneof(
  fc.double({ min: -(2 ** 53), max: 2 ** 55, noNaN: true }),
  fc.integer({ min: -1000, max: 2 ** 40 }),
);

describe('ticks are exact whatever division rounds to', () => {
  it('the first tick is at or after the deadline, the one before it is not', () => {
    fc.assert(
      fc.property(grid, timeMs, fc.boolean(), fc.nat(2 ** 30), (g, anyMs, onGrid, k) => {
        const deadlineMs = onGrid ? g.timeOf(k) : anyMs;
        const tick = g.firstTick(deadlineMs);
        if (tick === Number.POSITIVE_INFINITY)
          expect(g.timeOf(LAST_TICK) - g.tickMs).toBeLessThan(deadlineMs);
        else {
          expect(g.timeOf(tick)).toBeGreaterThanOrEqual(deadlineMs);
          if (tick > 0) expect(g.timeOf(tick - 1)).toBeLessThan(deadlineMs);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('the last tick is at or before now, the one after it is not', () => {
    fc.assert(
      fc.property(grid, timeMs, fc.boolean(), fc.nat(2 ** 30), (g, anyMs, onGrid, k) => {
        const nowMs = onGrid ? g.timeOf(k) : anyMs;
        const tick = g.lastTick(nowMs);
        if (tick > 0) expect(g.timeOf(tick)).toBeLessThanOrEqual(nowMs);
        if (tick < LAST_TICK) expect(g.timeOf(tick + 1)).toBeGreaterThan(nowMs);
      }),
      { numRuns: 3000 },
    );
  });

  it('before the start everything is tick 0', () => {
    const g = new TickGrid(1000, 10);
    expect([g.firstTick(-5), g.firstTick(Number.NEGATIVE_INFINITY), g.lastTick(-5)]).toEqual([0, 0, 0]);
  });
});
