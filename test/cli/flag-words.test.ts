/** Sentences of the library in the words of a command line. */
import { describe, expect, test } from 'vitest';
import { inFlags, timeOf } from '../../src/cli/flag-words.ts';

describe('flags and durations', () => {
  test.each([
    ['intervalMs must be below 15000, got 50', '--interval must be below 15 s, got 50 ms'],
    ['3 x 15000 ms without a sign', '3 x 15 s without a sign'],
    ['255 x 200 ms without a sign', '255 x 200 ms without a sign'],
    ['the system’s 7200 s stay', 'the system’s 7200 s stay'],
    [
      'userTimeoutMs 60000 takes the place of keepAlive.count 120',
      '--user-timeout 60 s takes the place of --keepalive-count 120',
    ],
    ['deadAfter 255 + 1 intervals (25600)', '--dead-after 255 + 1 intervals (25.6 s)'],
    ['suspectAfter 254 leaves a suspect 100 ms', 'suspect after 254 leaves a suspect 100 ms'],
    ['tcp_retries2 = 120', 'tcp_retries2 = 120'],
    [
      'keepAlive.idleMs must be whole seconds in ms, 1000..2000',
      '--keepalive-idle must be whole seconds, 1 s..2 s',
    ],
  ])('%s', (text, expected) => {
    expect(inFlags(text)).toBe(expected);
  });

  test('no rounding that hides what is wrong', () => {
    expect([10_001, 149_999, 300_000, 50, 900_000].map(timeOf)).toEqual([
      '10.001 s',
      '149.999 s',
      '300 s',
      '50 ms',
      '15 min',
    ]);
  });
});
