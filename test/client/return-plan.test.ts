/** What a client that was told to go owes the server: the wait, the pace, and when people must be told. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { MAX_RETURN_WAIT_MS, planReturn, type Told } from '../../src/client/return-plan.ts';
import { MAX_INTERVAL_MS } from '../../src/session/policy.ts';
import { GoAwayReason } from '../../src/wire/constants.ts';

const always = (value: number): Random => ({ next: () => value, u32: () => 0 });
const BACKOFF_MS = 1_000;
const leaving = (retryAfterMs: number): Told => ({ reason: GoAwayReason.Leaving, retryAfterMs });
const waitMs = (retryAfterMs: number, chance: number): number =>
  planReturn(leaving(retryAfterMs), 15_000, BACKOFF_MS, always(chance)).waitMs;

describe('the wait', () => {
  it.each([
    // told, at least, at most
    [30_000, 30_000, 45_000],
    [100, 100, 150],
    [200_000, 200_000, 300_000],
    [250_000, 250_000, 300_000],
    [300_000, 300_000, 300_000],
    [6_553_400, 300_000, 300_000],
    [Infinity, 300_000, 300_000],
    [0, 1_000, 1_500],
  ])('told %d ms: from %i to %i', (told, least, most) => {
    expect([waitMs(told, 0), waitMs(told, 1)]).toEqual([least, most]);
    expect(waitMs(told, 0.5)).toBe((least + most) / 2);
  });

  it('is never shorter than told or five minutes, never longer than 1.5 times that or five minutes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 65_534 }), fc.integer(), (units, seed) => {
        const toldMs = units * 100;
        const plan = planReturn(leaving(toldMs), 15_000, BACKOFF_MS, seededRandom(seed));
        expect(plan.waitMs).toBeGreaterThanOrEqual(Math.min(toldMs, MAX_RETURN_WAIT_MS));
        expect(plan.waitMs).toBeLessThanOrEqual(Math.min(1.5 * toldMs, MAX_RETURN_WAIT_MS));
      }),
    );
  });
});

describe('the pace', () => {
  it.each<[string, Partial<Told>, number, number]>([
    ['too fast, and told more than twice ours', { requiredMinRxMs: 5_000 }, 1_000, 5_000],
    ['too fast, and told less than twice ours', { requiredMinRxMs: 1_500 }, 1_000, 2_000],
    ['too fast, and told nothing', {}, 1_000, 2_000],
    ['too fast already at the longest interval', {}, MAX_INTERVAL_MS, MAX_INTERVAL_MS],
    ['another reason', { reason: GoAwayReason.Overloaded, requiredMinRxMs: 5_000 }, 1_000, 1_000],
  ])('%s', (_title, told, intervalMs, expected) => {
    const plan = planReturn(
      { reason: GoAwayReason.TooFast, retryAfterMs: 30_000, ...told },
      intervalMs,
      BACKOFF_MS,
      always(0),
    );
    expect(plan.intervalMs).toBe(expected);
  });
});

it('only "do not return" is a matter for people', () => {
  const alert = (retryAfterMs: number): boolean =>
    planReturn(leaving(retryAfterMs), 15_000, BACKOFF_MS, always(0)).alert;
  expect([alert(0), alert(30_000), alert(6_553_400), alert(Infinity)]).toEqual([false, false, false, true]);
});
