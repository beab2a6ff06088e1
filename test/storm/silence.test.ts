/** Ten thousand peers fall silent at once: questions stay within the process's budget, verdicts within their bound. */
import { describe, expect, it } from 'vitest';
import { sized } from '../support/sizes.ts';
import { Crowd, mostWithin, TICK_MS } from './crowd.ts';

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
  clock.advance(6 * intervalMs);
  return { deadMs, boundMs, allowed, links: hub.stats().links };
}

describe('F15: ten thousand peers silent at once', { timeout: 60_000 }, () => {
  // Interval; most probes within a second, at least; are all suspects asked at once?
  const storm: [number, number, boolean] = [1_000, 1_900, false];
  const calm: [number, number, boolean] = [15_000, 900, true];
  it.each(sized([storm, calm], [storm]))(
    'at %i ms: found within the bound, probes within the budget, first ones first',
    (intervalMs, least, isEnough) => {
      const { deadMs, boundMs, allowed, links } = silence(intervalMs);
      expect(deadMs).toHaveLength(LINKS);
      expect(links).toBe(0);
      expect(boundMs).toBe(3 * intervalMs);
      expect(Math.max(...deadMs)).toBeLessThanOrEqual(boundMs + TICK_MS);
      // The last answer came within one interval before, and a verdict no earlier than D after it.
      expect(Math.min(...deadMs)).toBeGreaterThanOrEqual(2 * intervalMs - TICK_MS);

      const granted = allowed.filter(({ isGranted }) => isGranted);
      const most = mostWithin(
        granted.map(({ atMs }) => atMs),
        1_000,
      );
      expect(most).toBeLessThanOrEqual(2_000);
      expect(most).toBeGreaterThan(least);

      const firsts = allowed.filter(({ index }) => index === 0);
      expect(firsts).toHaveLength(LINKS);
      expect(firsts.every(({ isGranted }) => isGranted)).toBe(isEnough);
      expect(allowed.some(({ index, isGranted }) => index > 0 && !isGranted)).toBe(true);
    },
  );
});
