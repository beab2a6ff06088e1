/** The map of unanswered pings: edges around 32 and 64, the limit of 32, and a naive list as its twin. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PingMap } from '../../src/session/pings.ts';

const U32 = 2 ** 32;

/** The same from a plain list of whole numbers that never wrap. */
class NaiveMap {
  readonly #waiting: number[] = [];
  #newest = -1;

  sent(absolute: number, isPing: boolean): void {
    this.#newest = absolute;
    if (isPing) this.#waiting.push(absolute);
    while (this.#waiting.length > 0 && this.#waiting[0]! <= absolute - 64) this.#waiting.shift();
    if (this.#waiting.length > 32) this.#waiting.shift();
  }

  answered(absolute: number): boolean {
    const index = absolute <= this.#newest ? this.#waiting.indexOf(absolute) : -1;
    if (index >= 0) this.#waiting.splice(index, 1);
    return index >= 0;
  }

  get outstanding(): number {
    return this.#waiting.length;
  }
}

/** One ping, then so many beats. */
const aged = (start: number, beats: number): PingMap => {
  const map = new PingMap();
  map.sent(start, true);
  for (let k = 1; k <= beats; k++) map.sent((start + k) >>> 0, false);
  return map;
};

describe('PingMap', () => {
  it.each([
    [0, true],
    [1, true],
    [30, true],
    [31, true],
    [32, true],
    [33, true],
    [62, true],
    [63, true],
    [64, false],
    [65, false],
    [200, false],
  ])('F42: a ping %i frames old waits: %s; and is matched once', (beats, waits) => {
    for (const start of [0, 500, 0x7ffffff0, U32 - 10, U32 - 1]) {
      const map = aged(start, beats);
      expect(map.outstanding).toBe(waits ? 1 : 0);
      expect(map.waits(start)).toBe(waits);
      expect(map.answered(start)).toBe(waits);
      expect(map.outstanding).toBe(0);
      expect(map.answered(start)).toBe(false);
    }
  });

  it('knows nothing of numbers it never sent, next ones and beats included', () => {
    const map = aged(5, 10);
    for (const seq of [4, 6, 15, 16, 17, 5 + 64, (5 - 64) >>> 0, 5 + 2 ** 31])
      expect(map.answered(seq >>> 0)).toBe(false);
    expect(map.answered(5)).toBe(true);
  });

  it.each([0, 31, 32, 33, 63])('an answer clears its own bit and no other, %i frames back', (age) => {
    const map = new PingMap();
    const pings = [age, (age + 7) % 64, (age + 32) % 64].sort((a, b) => b - a);
    for (let back = 63; back >= 0; back--) map.sent(1000 - back, pings.includes(back));
    expect(map.answered(1000 - age)).toBe(true);
    expect(pings.filter((back) => map.waits(1000 - back))).toEqual(pings.filter((back) => back !== age));
  });

  it('holds 32 at most: the 33rd drives out the oldest, wherever that is', () => {
    for (const gap of [1, 2]) {
      const map = new PingMap();
      for (let k = 0; k < 32 * gap; k++) map.sent(k, k % gap === 0);
      expect([map.outstanding, map.full, map.waits(0)]).toEqual([32, true, true]);
      map.sent(32 * gap, true);
      expect([map.outstanding, map.full]).toEqual([32, true]);
      expect([map.waits(0), map.waits(gap)]).toEqual([false, true]);
      map.answered(32 * gap);
      expect([map.outstanding, map.full]).toEqual([31, false]);
    }
  });

  it('agrees with a naive list under random sends and answers, across the wrap', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ ping: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ back: fc.integer({ min: -3, max: 70 }) }) },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1000, 2 ** 31 - 40, U32 - 1, U32 - 60),
        fc.array(step, { minLength: 40, maxLength: 300 }),
        (start, steps) => {
          const map = new PingMap();
          const naive = new NaiveMap();
          let next = start;
          for (const move of steps) {
            if ('ping' in move) {
              map.sent(next % U32, move.ping);
              naive.sent(next++, move.ping);
            } else {
              const seq = next - 1 - move.back;
              expect(map.answered(((seq % U32) + U32) % U32)).toBe(naive.answered(seq));
            }
            expect(map.outstanding).toBe(naive.outstanding);
          }
        },
      ),
    );
  });
});
