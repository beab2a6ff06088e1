/** Ten thousand peers fall silent at once: questions stay within the process's budget, verdicts within their bound. */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/wire/constants.ts';
import { Crowd, mostWithin } from './crowd.ts';

const LINKS = 10_000;

function silence(intervalMs: number) {
  const crowd = new Crowd(5);
  const { clock, hub } = crowd;
  crowd.accept(LINKS, { intervalMs });
  clock.advance(3 * intervalMs);
  expect(hub.stats().states.up).toBe(LINKS);
  const boundMs = Math.max(...[...hub.links()].map((link) => link.detectionTimeMs));
  crowd.answers = false;
  const sinceMs = clock.now();
  const deadMs: number[] = [];
  hub.on('dead', () => deadMs.push(clock.now() - sinceMs));
  const allowed: { index: number; atMs: number; isGranted: boolean }[] = [];
  const allowProbe = hub.allowProbe.bind(hub);
  hub.allowProbe = (index) => {
    const isGranted = allowProbe(index);
    allowed.push({ index, atMs: clock.now(), isGranted });
    return isGranted;
  };
  const pings: number[] = [];
  crowd.onFrame = (flags, nowMs) => {
    if ((flags & Flag.AckRequest) !== 0) pings.push(nowMs);
  };
  clock.advance(6 * intervalMs);
  return { deadMs, boundMs, allowed, pings, links: hub.stats().links };
}

describe('F15: ten thousand peers silent at once', () => {
  it.each([1_000, 15_000])(
    'at %i ms all are found within the published bound, at most one tick later',
    (intervalMs) => {
      const { deadMs, boundMs, links } = silence(intervalMs);
      expect(deadMs).toHaveLength(LINKS);
      expect(links).toBe(0);
      expect(boundMs).toBe(3 * intervalMs);
      expect(Math.max(...deadMs)).toBeLessThanOrEqual(boundMs + 10);
      // No earlier than D after the last answer, which came within one interval before.
      expect(Math.min(...deadMs)).toBeGreaterThanOrEqual(2 * intervalMs - 10);
    },
  );

  it('at most 2 000 suspect probes leave within any second, and the budget is used when all are suspect at once', () => {
    for (const [intervalMs, least] of [
      [1_000, 1_900],
      [15_000, 900],
    ] as const) {
      const granted = silence(intervalMs).allowed.filter(({ isGranted }) => isGranted);
      const most = mostWithin(
        granted.map(({ atMs }) => atMs),
        1_000,
      );
      expect(most).toBeLessThanOrEqual(2_000);
      expect(most).toBeGreaterThan(least);
    }
  });

  it('first probes go first: at 15 s every suspect is asked once, whatever the repeated ones want', () => {
    const { allowed } = silence(15_000);
    const firsts = allowed.filter(({ index }) => index === 0);
    expect(firsts).toHaveLength(LINKS);
    expect(firsts.every(({ isGranted }) => isGranted)).toBe(true);
    expect(allowed.some(({ index, isGranted }) => index > 0 && !isGranted)).toBe(true);
  });
});
