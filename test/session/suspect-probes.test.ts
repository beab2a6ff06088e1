/** Five questions to a suspect, spaced by the round trip: 0, s, 3s, 7s, 15s after entry. */
import { expect, it } from 'vitest';
import { SuspectProbes } from '../../src/session/suspect-probes.ts';

const times = (rtoMs: number): number[] => {
  const probes = new SuspectProbes(5000, rtoMs);
  const found: number[] = [];
  for (let k = 0; k < 6; k++) {
    found.push(probes.nextMs - 5000);
    if (k < 5) expect(probes.take()).toBe(k);
  }
  return found;
};

it.each([
  [1000, 1000],
  [201, 201],
  [200, 200],
  [199, 200],
  [0, 200],
])('with a time-out of %i ms the step is %i ms, and after the fifth there is none', (rtoMs, s) => {
  expect(times(rtoMs)).toEqual([0, s, 3 * s, 7 * s, 15 * s, Infinity]);
});
