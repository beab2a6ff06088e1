/**
 * Thousands of links accepted in the same instant: their beats must not stay in step. Counted per tick of 10 ms; the
 * mean is over the interval, so every frame that a link sends on its own account is in it.
 */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/wire/constants.ts';
import { sized } from '../support/sizes.ts';
import { Crowd, Histogram, PING, pollGroup } from './crowd.ts';

const INTERVAL_MS = 15_000;
/** Answers have the peer's pace; parameter groups are spread by rules of their own. */
const NOT_BEATS = Flag.Ack | Flag.Param | Flag.GoAway;

/** What the far ends do at the instant of the accept. */
type Case = 'only answer' | 'do not answer our groups' | 'negotiate at once' | 'ask at once';

function beatsAfterAccept(links: number, intervals: number, peers: Case) {
  const crowd = new Crowd(links);
  const startMs = crowd.clock.now();
  const beats = new Histogram(startMs, INTERVAL_MS, intervals);
  const firsts = new Histogram(startMs, INTERVAL_MS, 1);
  const heard = new Set<object>();
  crowd.onFrame = (flags, nowMs, socket) => {
    if ((flags & NOT_BEATS) !== 0) return;
    beats.count(nowMs);
    if (!heard.has(socket)) firsts.count(nowMs);
    heard.add(socket);
  };
  const negotiate = peers === 'do not answer our groups' || peers === 'negotiate at once';
  crowd.accept(links, { intervalMs: INTERVAL_MS, negotiate });
  if (peers === 'ask at once') crowd.sayAll(PING);
  if (peers === 'negotiate at once') crowd.sayAll(pollGroup(INTERVAL_MS));
  crowd.clock.advance(intervals * INTERVAL_MS);
  return { beats: beats.intervals(), firsts: firsts.intervals()[0]!, links: crowd.hub.stats().links };
}

describe('F49: accepted in the same instant, the fullest tick is at most twice the mean', {
  timeout: 60_000,
}, () => {
  it.each([
    [10_000, sized(6, 3), 'only answer'],
    [sized(10_000, 5_000), 2, 'do not answer our groups'],
    [sized(10_000, 5_000), 1, 'negotiate at once'],
    [sized(10_000, 5_000), 1, 'ask at once'],
    // More of the first: about scale alone.
    ...sized([[50_000, 2, 'only answer']] as const, []),
  ] as const)('%i links, %i intervals, peers that %s', (links, intervals, peers) => {
    const found = beatsAfterAccept(links, intervals, peers);
    expect(found.links).toBe(links);
    expect(found.firsts.total).toBe(links);
    for (const { total, peakOfMean } of found.beats) {
      expect(peakOfMean).toBeLessThanOrEqual(2);
      // Steady from the first interval on: gaps of U(0.75, 1) T make 8/7 beats per link and interval.
      expect(total / links).toBeGreaterThan(1.12);
      expect(total / links).toBeLessThan(1.16);
    }
  });
});
