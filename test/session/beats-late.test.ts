/** The counter of beats that left too late: two ticks after they were due are in time, one millisecond more is not. */
import { expect, test } from 'vitest';
import type { Random } from '../../src/base/random.ts';
import { Lateness, Sent, Session, sessionPolicy } from '../../src/session/index.ts';

const half: Random = { next: () => 0.5, u32: () => 7 };

function session(): Session {
  const port = {
    lateness: new Lateness(),
    send: () => Sent.InKernel,
    check: () => false,
    allowProbe: () => true,
    queuedBytes: () => 0,
    takenBytes: () => 0,
    pong: () => {},
    notify: () => {},
  };
  return new Session(sessionPolicy({ intervalMs: 1_000, deadAfter: 3 }), port, half);
}

test.each([
  [0, 0],
  [20, 0],
  [21, 1],
  [500, 1],
])('a first beat %i ms after it was due: %i late', (delayMs, late) => {
  const beating = session();
  beating.open(10_000, 0.5);
  beating.wake(10_500 + delayMs, false);
  expect(beating.stats.framesSent).toBe(1);
  expect(beating.stats.beatsLate).toBe(late);
});

test('the tick by which a duty is planned early is no lateness', () => {
  const beating = session();
  beating.open(10_000, 0);
  beating.wake(10_000, false);
  beating.wake(10_865 + 20, false);
  expect([beating.stats.framesSent, beating.stats.beatsLate]).toEqual([2, 0]);
  beating.wake(10_885 + 865 + 21, false);
  expect([beating.stats.framesSent, beating.stats.beatsLate]).toEqual([3, 1]);
});
