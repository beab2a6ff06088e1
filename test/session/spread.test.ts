/** Phases and gaps that keep links apart: their law against a naive simulation, evenness, and where chance rules. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { Spread } from '../../src/session/spread.ts';

/** Share of `values` below `limit`. */
const shareBelow = (values: readonly number[], limit: number): number =>
  values.filter((value) => value < limit).length / values.length;

/** Twin: beat for a long time with gaps of U(0.75, 1), then look when the next one is due. */
function waitAtRandomTime(random: { next(): number }): number {
  let untilMs = 1_000 + random.next();
  while (untilMs >= 0) untilMs -= 0.75 + 0.25 * random.next();
  return -untilMs;
}

describe('the spread of beats', () => {
  it('F49: first phases follow the law of links that have been beating for ever', () => {
    const spread = new Spread(seededRandom(1));
    const random = seededRandom(2);
    const phases = Array.from({ length: 10_000 }, () => spread.nextPhase());
    const waits = Array.from({ length: 3_000 }, () => waitAtRandomTime(random));
    for (let limit = 0.05; limit < 1; limit += 0.05) {
      expect(Math.abs(shareBelow(phases, limit) - shareBelow(waits, limit))).toBeLessThan(0.03);
    }
    expect(Math.min(...phases)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...phases)).toBeLessThan(1);
  });

  it('any run of phases and of gaps is even: no tenth has more than its share and one', () => {
    const spread = new Spread(seededRandom(3));
    spread.links = 64;
    const gaps = Array.from({ length: 500 }, () => spread.next());
    const phases = Array.from({ length: 500 }, () => spread.nextPhase());
    for (const start of [0, 123, 400]) {
      for (let tenth = 0; tenth < 1; tenth += 0.1) {
        const within = (values: number[], width: number): number =>
          values
            .slice(start, start + 100)
            .filter((value) => value >= tenth * width && value < (tenth + 0.1) * width).length;
        expect(within(gaps, 1)).toBeLessThanOrEqual(12);
        expect(within(phases, 0.75)).toBeLessThanOrEqual(11);
      }
    }
  });

  it('the gaps of fewer than 64 links are left to chance, whose numbers they are', () => {
    const spread = new Spread(seededRandom(4));
    const twin = seededRandom(4);
    twin.next();
    twin.next();
    spread.links = 63;
    expect([spread.next(), spread.next(), spread.u32()]).toEqual([twin.next(), twin.next(), twin.u32()]);
  });

  it('two processes do not begin alike', () => {
    expect(new Spread(seededRandom(5)).nextPhase()).not.toBe(new Spread(seededRandom(6)).nextPhase());
  });
});
