/** RFC 6298 with numbers worked out by hand. */
import { describe, expect, it } from 'vitest';
import { RttEstimator } from '../../src/session/rtt.ts';

const fed = (...samplesMs: number[]): RttEstimator => {
  const rtt = new RttEstimator();
  for (const sampleMs of samplesMs) rtt.sample(sampleMs);
  return rtt;
};

describe('RttEstimator', () => {
  it('waits a second while nothing is known', () => {
    expect(fed().rtoMs).toBe(1000);
  });

  it.each([
    // first: SRTT = R, RTTVAR = R / 2, RTO = R + 4 x R / 2
    [[1000], 1000, 500, 3000],
    // 0.75 x 500 + 0.25 x |1000 - 2000| = 625; 0.875 x 1000 + 0.125 x 2000 = 1125; 1125 + 2500
    [[1000, 2000], 1125, 625, 3625],
    // 0.75 x 625 + 0.25 x |1125 - 500| = 625; 0.875 x 1125 + 0.125 x 500 = 1046.875; 3546.875 rounds up
    [[1000, 2000, 500], 1046.875, 625, 3547],
    [[0.25], 0.25, 0.125, 200],
    [[66], 66, 33, 200],
    [[67], 67, 33.5, 201],
    [[20_000], 20_000, 10_000, 60_000],
    [[20_001], 20_001, 10_000.5, 60_000],
  ])('samples %j give the average %d, deviation %d, time-out %d', (samples, srttMs, rttvarMs, rtoMs) => {
    expect(fed(...samples)).toMatchObject({ srttMs, rttvarMs, rtoMs, samples: samples.length });
  });

  it('keeps a millisecond of granularity above a constant round trip', () => {
    expect(fed(...Array<number>(200).fill(300)).rtoMs).toBe(301);
  });

  it('remembers the newest, the smallest and the largest', () => {
    expect(fed(30, 10, 50, 20)).toMatchObject({ latestMs: 20, minMs: 10, maxMs: 50 });
  });
});
