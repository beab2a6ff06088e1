/** When the kernel gives up an idle connection, against a second-by-second walk through its rule. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type KeepAliveTimes,
  keepAliveGivesUpMs,
  keepAliveProblem,
} from '../../src/session/kernel-patience.ts';

/** As the kernel goes about it: at each timer either give up, or ask and wait. */
function walked({ idleMs, intervalMs, count }: KeepAliveTimes, userTimeoutMs: number | false): number {
  let silentMs = idleMs;
  for (let asked = 0; ; asked++) {
    const isOver = userTimeoutMs === false ? asked >= count : silentMs >= userTimeoutMs && asked > 0;
    if (isOver) return silentMs;
    silentMs += intervalMs;
  }
}

test('the sum is what a walk through the rule gives', () => {
  const seconds = (most: number) => fc.integer({ min: 1, max: most }).map((value) => value * 1_000);
  const times = fc.record({
    idleMs: seconds(600),
    intervalMs: seconds(120),
    count: fc.integer({ min: 1, max: 127 }),
  });
  const userTimeout = fc.oneof(fc.constant<false>(false), fc.integer({ min: 1, max: 2_000_000 }));
  fc.assert(
    fc.property(times, userTimeout, (keepAlive, userTimeoutMs) => {
      expect(keepAliveGivesUpMs(keepAlive, userTimeoutMs)).toBe(walked(keepAlive, userTimeoutMs));
    }),
  );
});

test.each<[KeepAliveTimes, number | false, number]>([
  [{ idleMs: 7_200_000, intervalMs: 75_000, count: 9 }, false, 7_875_000],
  [{ idleMs: 300_000, intervalMs: 30_000, count: 5 }, false, 450_000],
  [{ idleMs: 300_000, intervalMs: 30_000, count: 5 }, 1, 330_000], // one question must go unanswered
  [{ idleMs: 300_000, intervalMs: 30_000, count: 5 }, 330_000, 330_000],
  [{ idleMs: 300_000, intervalMs: 30_000, count: 5 }, 330_001, 360_000],
  [{ idleMs: 300_000, intervalMs: 30_000, count: 5 }, 1_000_000, 1_020_000], // later than the count, too
])('%j with a user time-out of %s: %i ms', (keepAlive, userTimeoutMs, expected) => {
  expect(keepAliveGivesUpMs(keepAlive, userTimeoutMs)).toBe(expected);
});

test.each([
  [1_000, 1_000, undefined],
  [32_767_000, 32_767_000, undefined],
  [999, 1_000, /^keepAlive\.idleMs .*below a second.*got 999$/],
  [1_000, 500, /^keepAlive\.intervalMs .*below a second.*got 500$/],
  [0, 1_000, /^keepAlive\.idleMs .*keepAlive false does.*got 0$/],
  [1_500, 1_000, /^keepAlive\.idleMs .*counts seconds.*got 1500$/],
  [1_000, 32_768_000, /^keepAlive\.intervalMs .*got 32768000$/],
])('F23: idle %i, interval %i: %s', (idleMs, intervalMs, expected) => {
  const problem = keepAliveProblem({ idleMs, intervalMs, count: 1 });
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(expected);
});
