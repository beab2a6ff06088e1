/**
 * A server with 50 000 links goes: its clients are told when to return and obey, and another server sees them come.
 * The GOAWAYs are those of real links; each client is a process of its own, with chance of its own.
 */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { planReturn } from '../../src/client/return-plan.ts';
import { awayMs } from '../../src/server/echo-server.ts';
import { goAwayRetryAfterMs } from '../../src/session/goaway.ts';
import { Flag, GoAwayReason } from '../../src/wire/constants.ts';
import { goAwayReason } from '../../src/wire/param.ts';
import { sized } from '../support/sizes.ts';
import { Crowd } from './crowd.ts';

const LINKS = sized(50_000, 10_000);
const INTERVAL_MS = 15_000;
const GOAWAY = Flag.GoAway | Flag.Param;
const GOAWAYS_OVER_MS = 2_000;

/** When each client comes back, counted from the first GOAWAY; and what it was told at what time. */
function drain(links: number, retryAfterMs: number) {
  const crowd = new Crowd(3);
  const { clock, hub } = crowd;
  crowd.accept(links, { intervalMs: INTERVAL_MS });
  clock.advance(INTERVAL_MS);
  const startMs = clock.now();
  const told: { atMs: number; waitMs: number; toldMs: number }[] = [];
  crowd.onGoAway = (word, nowMs) => {
    const toldMs = goAwayRetryAfterMs(word);
    const chance = seededRandom(told.length + 1);
    const plan = planReturn({ reason: goAwayReason(word), retryAfterMs: toldMs }, INTERVAL_MS, 1_000, chance);
    told.push({ atMs: nowMs - startMs, waitMs: plan.waitMs, toldMs });
  };
  const leaving = [...hub.links()];
  const slots = GOAWAYS_OVER_MS / 10;
  for (let slot = 0; slot < slots; slot++) {
    const until = Math.ceil(((slot + 1) / slots) * links);
    for (const link of leaving.splice(0, until - (links - leaving.length))) {
      void link.leave({ reason: GoAwayReason.Leaving, retryAfterMs, drainMs: 300_000 });
    }
    clock.advance(10);
  }
  return told;
}

/** The fullest of the stretches of `stretchMs` between the first and the last, in mean stretches. */
function peakOfMean(timesMs: readonly number[], stretchMs: number): number {
  const [firstMs, lastMs] = timesMs.reduce(
    ([least, most], atMs) => [Math.min(least as number, atMs), Math.max(most as number, atMs)],
    [Infinity, -Infinity],
  ) as [number, number];
  const counts = new Uint32Array(Math.ceil((lastMs - firstMs) / stretchMs) + 1);
  for (const atMs of timesMs) counts[Math.floor((atMs - firstMs) / stretchMs)]!++;
  return (Math.max(...counts) * counts.length) / timesMs.length;
}

describe(`F50: ${LINKS} clients lose one server`, { timeout: 60_000 }, () => {
  const told = drain(LINKS, awayMs(LINKS));
  const returnsMs = told.map(({ atMs, waitMs }) => atMs + waitMs);

  it('all are told, and nobody returns before it may, nor after half as long again', () => {
    expect(told).toHaveLength(LINKS);
    for (const { waitMs, toldMs } of told) {
      expect(toldMs).toBe(awayMs(LINKS));
      expect(waitMs).toBeGreaterThanOrEqual(toldMs);
      expect(waitMs).toBeLessThanOrEqual(1.5 * toldMs);
    }
  });

  it('no 100 ms see more than twice the mean number of returns, and no second more than 3 000', () => {
    expect(peakOfMean(returnsMs, 100)).toBeLessThanOrEqual(2);
    const seconds = new Map<number, number>();
    for (const atMs of returnsMs) {
      const second = Math.floor(atMs / 1_000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
    expect(Math.max(...seconds.values())).toBeLessThanOrEqual(3_000);
  });

  it('the beats on the server they return to are spread as well', () => {
    const crowd = new Crowd(4);
    const startMs = crowd.clock.now();
    const beatsMs: number[] = [];
    const sorted = [...returnsMs].sort((a, b) => a - b);
    const beginMs = sorted.at(-1)!;
    crowd.onFrame = (flags, nowMs) => {
      if ((flags & (Flag.Ack | GOAWAY)) !== 0) return;
      if (nowMs - startMs > beginMs) beatsMs.push(nowMs);
    };
    for (let at = 0; at < sorted.length; ) {
      const nowMs = crowd.clock.now() - startMs;
      let count = 0;
      while (at < sorted.length && sorted[at]! <= nowMs) {
        at++;
        count++;
      }
      crowd.accept(count, { intervalMs: INTERVAL_MS });
      crowd.clock.advance(10);
    }
    crowd.clock.advance(3 * INTERVAL_MS);
    expect(crowd.hub.stats().links).toBe(LINKS);
    // By then chance has the say: in a tick of 10 ms its noise alone reaches 2.2 with the smaller crowd.
    expect(peakOfMean(beatsMs, 100)).toBeLessThanOrEqual(1.6);
  });
});

it('told nothing, they would all be there within the second of their own backoff', () => {
  const told = drain(1_000, 0);
  const returnsMs = told.map(({ atMs, waitMs }) => atMs + waitMs);
  expect(Math.max(...returnsMs)).toBeLessThanOrEqual(GOAWAYS_OVER_MS + 1_500);
});
