/** RFC 3550 jitter: hand-made numbers, unknown offsets, the wrap of both clocks, peers that only answer. */
import { describe, expect, it } from 'vitest';
import { JitterEstimator } from '../../src/session/jitter.ts';

/** Arrival and timestamp of each frame. */
const fed = (...frames: [number, number][]): number => {
  const jitter = new JitterEstimator();
  for (const [arrivalMs, timestamp] of frames) jitter.arrival(arrivalMs, timestamp >>> 0);
  return jitter.jitterMs;
};

describe('JitterEstimator', () => {
  it.each([
    ['one frame says nothing', [[500, 0]], 0],
    [
      'an even flow has none',
      [
        [0, 0],
        [100, 100],
        [200, 200],
      ],
      0,
    ],
    [
      '16 ms late: a sixteenth of it',
      [
        [0, 0],
        [116, 100],
      ],
      1,
    ],
    [
      'and 16 ms early again: 1 + (16 - 1) / 16',
      [
        [0, 0],
        [116, 100],
        [200, 200],
      ],
      1.9375,
    ],
    [
      'a change lasts one sample, not for ever',
      [
        [0, 0],
        [116, 100],
        [216, 200],
      ],
      0.9375,
    ],
  ] as [string, [number, number][], number][])('%s', (_, frames, want) => {
    expect(fed(...frames)).toBe(want);
  });

  it.each([0, 12_345, 0x7fffffff, 0x80000000, 0xffffffff])(
    'F31: the offset %i of the peer cancels, wherever either clock wraps',
    (offset) => {
      for (const startMs of [0, 2 ** 31 - 50, 2 ** 32 - 50, 2 ** 40]) {
        expect(fed([startMs, offset], [startMs + 116, offset + 100], [startMs + 200, offset + 200])).toBe(
          1.9375,
        );
      }
    },
  );

  it('takes the change of the round trip while the peer only answers, and no longer', () => {
    const jitter = new JitterEstimator();
    jitter.answer(100);
    expect(jitter.jitterMs).toBe(0);
    jitter.answer(132);
    expect(jitter.jitterMs).toBe(2);
    jitter.answer(100);
    expect(jitter.jitterMs).toBe(2 + 30 / 16);
    jitter.arrival(0, 0);
    jitter.answer(900);
    expect(jitter.jitterMs).toBe(2 + 30 / 16);
  });

  it('a first round trip of 0 ms is a round trip', () => {
    const jitter = new JitterEstimator();
    jitter.answer(0);
    jitter.answer(16);
    expect(jitter.jitterMs).toBe(1);
  });
});
