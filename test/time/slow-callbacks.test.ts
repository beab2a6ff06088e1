/** The loop is blocked by our own callbacks: the wake that follows says how late the timers really were. */
import { expect, it } from 'vitest';
import { Scheduler } from '../../src/time/scheduler.ts';
import { VirtualHost } from './virtual-host.ts';

function virtual(batchTimers = 4096) {
  const host = new VirtualHost();
  const lags: number[] = [];
  const scheduler = new Scheduler<() => void>({
    clock: host,
    host,
    batchTimers,
    onExpire: (run) => run(),
    onWake: (_nowMs, lagMs) => lags.push(lagMs),
  });
  const block = (ms: number) => () => {
    host.nowMs += ms;
  };
  return { host, lags, scheduler, block };
}

it('F1: a timer that blocks the loop makes those behind it late, and that is told', () => {
  const { host, lags, scheduler, block } = virtual();
  scheduler.arm(1100, block(3000));
  scheduler.arm(1500, () => {});
  host.runUntil(5000);
  expect(lags[0]).toBe(0);
  expect(lags[1]).toBe(1100 + 3000 + 1 - 1500);
});

it('nothing was due meanwhile: nothing was late', () => {
  const { host, lags, scheduler, block } = virtual();
  scheduler.arm(1100, block(3000));
  scheduler.arm(9000, () => {});
  host.runUntil(10_000);
  expect(lags).toEqual([0, 0]);
});

it('a timer armed again for the past by a quick callback is not late', () => {
  const { host, lags, scheduler } = virtual();
  const again = (): void => void scheduler.arm(0, again);
  scheduler.arm(0, again);
  host.runUntil(1020);
  expect(new Set(lags)).toEqual(new Set([0]));
});

it('F34: a wake of several turns tells in each how long the one before took', () => {
  const { host, lags, scheduler, block } = virtual(2);
  for (let count = 0; count < 4; count++) scheduler.arm(1100, block(300));
  scheduler.arm(1100, () => {});
  scheduler.arm(5000, () => {});
  host.runUntil(9000);
  expect(lags).toEqual([0, 600, 600, 0]);
});
