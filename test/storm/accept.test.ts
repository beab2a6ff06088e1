/**
 * Thousands of links accepted in the same instant: their beats must not stay in step. Counted per tick of 10 ms; the
 * mean is over the interval, so every frame that a link sends on its own account is in it.
 */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/wire/constants.ts';
import { Crowd, Histogram } from './crowd.ts';

const INTERVAL_MS = 15_000;
/** Answers have the peer's pace; parameter groups are spread by rules of their own. */
const NOT_BEATS = Flag.Ack | Flag.Param | Flag.GoAway;

function beatsAfterAccept(links: number, intervals: number, seed: number) {
  const crowd = new Crowd(seed);
  const startMs = crowd.clock.now();
  const beats = new Histogram(startMs, INTERVAL_MS, intervals);
  const firsts = new Histogram(startMs, INTERVAL_MS, 1);
  const heard = new Set<object>();
  crowd.onFrame = (flags, nowMs, socket) => {
    if ((flags & NOT_BEATS) !== 0) return;
    beats.count(nowMs);
    if (heard.size === heard.add(socket).size) return;
    firsts.count(nowMs);
  };
  crowd.accept(links, { intervalMs: INTERVAL_MS });
  crowd.clock.advance(intervals * INTERVAL_MS);
  return { beats: beats.intervals(), firsts: firsts.intervals()[0]!, links: crowd.hub.stats().links };
}

describe('F49: accepted in the same instant', () => {
  it.each([
    [10_000, 6, 1],
    [10_000, 6, 2],
    [50_000, 2, 3],
  ])(
    '%i links, %i intervals, seed %i: no tick has twice the mean',
    { timeout: 60_000 },
    (links, intervals, seed) => {
      const found = beatsAfterAccept(links, intervals, seed);
      expect(found.links).toBe(links);
      expect(found.firsts.total).toBe(links);
      for (const { total, peakOfMean } of found.beats) {
        expect(peakOfMean).toBeLessThanOrEqual(2);
        // Steady from the first interval on: gaps of U(0.75, 1) T make 8/7 beats per link and interval.
        expect(total / links).toBeGreaterThan(1.1);
        expect(total / links).toBeLessThan(1.18);
      }
    },
  );
});
