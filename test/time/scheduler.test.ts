/** The scheduler in a virtual event loop, and a few times in the real one: waking, lag, batches, polls, closing. */
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import type { SchedulerOptions } from '../../src/time/index.ts';
import { nodeTimerHost, Scheduler } from '../../src/time/index.ts';
import { programOf, removePrograms } from '../support/programs.ts';
import { VirtualHost } from './virtual-host.ts';

afterAll(removePrograms);

/** A scheduler in a virtual loop that starts at 1 000 ms, and what it did. */
function virtual(options: Partial<SchedulerOptions<unknown>> = {}) {
  const host = new VirtualHost();
  const fired: [unknown, number][] = [];
  const wakes: number[] = [];
  const scheduler = new Scheduler<unknown>({
    clock: host,
    host,
    onExpire(payload) {
      fired.push([payload, host.nowMs]);
      if (typeof payload === 'function') payload();
    },
    onWake: (_nowMs, lagMs) => wakes.push(lagMs),
    ...options,
  });
  return { host, fired, wakes, scheduler };
}

describe('sleeping', () => {
  it('fires on the first tick at or after the deadline and sleeps for nothing else', () => {
    const { host, fired, wakes, scheduler } = virtual();
    scheduler.arm(1015, 'a');
    scheduler.arm(1042.5, 'b');
    expect(host.runUntil(5000)).toBe(2);
    expect(fired).toEqual([
      ['a', 1020],
      ['b', 1050],
    ]);
    expect(wakes).toEqual([0, 0]);
    expect(host.timeouts).toEqual([]);
    expect(scheduler.size).toBe(0);
  });

  it('moves the real timer only when something is due earlier', () => {
    const { host, fired, scheduler } = virtual();
    const handle = scheduler.arm(2000, 'a');
    scheduler.arm(3000, 'later');
    scheduler.arm(1995, 'same tick');
    scheduler.rearm(handle, 4000);
    expect(host.delaysMs).toEqual([1000]);
    scheduler.arm(1500, 'earlier');
    expect(host.delaysMs).toEqual([1000, 500]);
    expect(scheduler.rearm(handle, 1200)).toBe(true);
    expect(host.delaysMs).toEqual([1000, 500, 200]);
    expect(host.timeouts.length).toBe(1);
    host.runUntil(5000);
    expect(fired.map(([payload]) => payload)).toEqual(['a', 'earlier', 'same tick', 'later']);
  });

  it('F29: sleeps beyond 2^31 ms are taken in pieces, Infinity needs no timer at all', () => {
    const { host, fired, wakes, scheduler } = virtual();
    scheduler.arm(Number.POSITIVE_INFINITY, 'never');
    expect(host.timeouts).toEqual([]);
    scheduler.arm(1000 + 2 ** 33, 'far');
    expect(host.runUntil(2 ** 34)).toBe(5);
    expect(Math.max(...host.delaysMs)).toBe(2 ** 31 - 1);
    expect(fired).toEqual([['far', 1000 + Math.ceil(2 ** 33 / 10) * 10]]);
    expect(wakes).toEqual([0, 0, 0, 0, 0]);
  });

  it('sleeps at least 1 ms for a deadline already past, and never spins', () => {
    const { host, fired, scheduler } = virtual();
    const again = (): void => void scheduler.arm(0, again);
    scheduler.arm(0, again);
    expect(host.delaysMs).toEqual([1]);
    expect(host.runUntil(1100)).toBe(100);
    expect(fired.length).toBe(100);
    expect(host.immediates).toEqual([]);
  });

  it('arming for the past again and again does not put the wake off', () => {
    const { host, fired, scheduler } = virtual();
    for (let step = 0; step < 10; step++) {
      scheduler.arm(0, step);
      host.nowMs += 0.1;
    }
    expect(host.delaysMs).toEqual([1]);
    host.runUntil(1001);
    expect(fired.length).toBe(10);
  });

  it('a real timer that wakes a little early fires nothing early', () => {
    const { host, fired, scheduler } = virtual();
    scheduler.arm(1020, 'a');
    host.timeouts[0]!.atMs = 1019.4;
    host.runUntil(1019.9);
    expect(fired).toEqual([]);
    host.runUntil(1030);
    expect(fired.map(([payload]) => payload)).toEqual(['a']);
  });

  it('cancelling the last timer ends the sleep', () => {
    const { host, scheduler } = virtual();
    const handles = [scheduler.arm(2000, 'a'), scheduler.arm(3000, 'b')];
    expect(scheduler.cancel(handles[0]!)).toBe(true);
    expect(host.timeouts.length).toBe(1);
    expect(scheduler.cancel(handles[1]!)).toBe(true);
    expect(host.timeouts).toEqual([]);
    expect(scheduler.cancel(handles[1]!)).toBe(false);
  });
});

describe('lateness', () => {
  it('F3: reports how late it woke before any timer fires', () => {
    const order: string[] = [];
    const { host, scheduler } = virtual({
      onWake: (nowMs, lagMs) => order.push(`woke at ${nowMs}, ${lagMs} late`),
      onExpire: (payload) => order.push(`fired ${payload}`),
    });
    scheduler.arm(1100, 'a');
    scheduler.arm(1300, 'b');
    host.nowMs = 1350;
    host.turn();
    expect(order).toEqual(['woke at 1350, 250 late', 'fired a', 'fired b']);
  });

  it('a piece of a long sleep that ends late counts as late too', () => {
    const { host, wakes, scheduler } = virtual();
    scheduler.arm(2 ** 40, 'far');
    host.nowMs += 2 ** 31 - 1 + 700;
    host.turn();
    expect(wakes).toEqual([700]);
  });

  it('counts lateness from the end of a 1 ms sleep for deadlines already past', () => {
    const { host, wakes, scheduler } = virtual();
    scheduler.arm(0, 'long ago');
    host.runUntil(1010);
    expect(wakes).toEqual([0]);
  });

  it('F34: more than a batch is due: sockets are polled between, timers armed meanwhile wait their turn', () => {
    const { host, fired, wakes, scheduler } = virtual({ batchTimers: 3 });
    for (let i = 0; i < 7; i++) scheduler.arm(1010 + 10 * i, i);
    host.nowMs = 2000;
    host.sockets.push(() => {
      fired.push(['bytes', 2000]);
      scheduler.arm(0, 'armed between');
    });
    host.turn();
    host.turn();
    host.turn();
    host.runUntil(2100);
    expect(fired.map(([payload]) => payload)).toEqual([0, 1, 2, 'bytes', 'armed between', 3, 4, 5, 6]);
    expect(wakes.length).toBe(1);
    expect(host.timeouts).toEqual([]);
  });

  it('F2: afterPoll calls back once the sockets have been read, though the timer ran before', () => {
    const order: string[] = [];
    const { host, scheduler } = virtual();
    host.sockets.push(() => order.push('bytes that arrived meanwhile'));
    scheduler.arm(1010, () => {
      order.push('deadline');
      scheduler.afterPoll(() => order.push('verdict'));
      scheduler.afterPoll(() => scheduler.afterPoll(() => order.push('after the next poll')));
    });
    host.nowMs = 1500;
    host.turn();
    host.sockets.push(() => order.push('more bytes'));
    host.turn();
    expect(order).toEqual([
      'deadline',
      'bytes that arrived meanwhile',
      'verdict',
      'more bytes',
      'after the next poll',
    ]);
  });
});

describe('errors', () => {
  it('F36: a timer that throws stops neither its batch nor the schedule', () => {
    const { host, fired, scheduler } = virtual();
    scheduler.arm(1010, () => {
      throw new Error('callback');
    });
    scheduler.arm(1010, 'same tick');
    scheduler.arm(1500, 'later');
    expect(() => host.runUntil(2000)).toThrow('callback');
    host.runUntil(2000);
    expect(fired.slice(1).map(([payload]) => payload)).toEqual(['same tick', 'later']);
  });

  it('F36: onError takes what timers throw', () => {
    const taken: string[] = [];
    const { host, scheduler } = virtual({ onError: (error) => taken.push(String(error)) });
    scheduler.arm(1010, () => {
      throw new Error('callback');
    });
    host.runUntil(2000);
    expect(taken).toEqual(['Error: callback']);
  });

  it('an onWake that throws does not lose the timers', () => {
    let fail = true;
    const { host, fired, scheduler } = virtual({
      onWake() {
        if (fail) throw new Error('onWake');
      },
    });
    scheduler.arm(1010, 'a');
    expect(() => host.runUntil(2000)).toThrow('onWake');
    fail = false;
    host.runUntil(2000);
    expect(fired.length).toBe(1);
  });

  it('an afterPoll callback that throws stops no other', () => {
    const { host, scheduler } = virtual();
    let others = 0;
    const fail = (): void => {
      throw new Error('poll');
    };
    scheduler.afterPoll(fail);
    scheduler.afterPoll(() => others++);
    expect(() => host.turn()).toThrow('poll');
    scheduler.afterPoll(fail);
    scheduler.afterPoll(fail);
    expect(() => host.turn()).toThrow(AggregateError);
    expect(others).toBe(1);
  });

  it('misuse is refused with the name of the option', () => {
    expect(() => virtual({ batchTimers: 0 })).toThrow('batchTimers must be');
    expect(() => virtual({ onExpire: 1 as never })).toThrow('onExpire must be');
    expect(() => virtual({ onWake: 1 as never })).toThrow('onWake must be');
    expect(() => virtual({ tickMs: 0 })).toThrow('tickMs must be');
    expect(() => virtual({ batch: 1 } as never)).toThrow('options.batch');
    expect(() => virtual().scheduler.afterPoll(1 as never)).toThrow('callback must be');
    const { scheduler } = virtual({ maxTimers: 1 });
    scheduler.arm(5000, 'x');
    expect(() => scheduler.arm(5000, 'y')).toThrow(expect.objectContaining({ code: 'HB_ERR_TIMER_LIMIT' }));
  });
});

describe('close', () => {
  it('F26: leaves nothing pending, calls nothing back, and refuses new timers', () => {
    const { host, fired, scheduler } = virtual({ batchTimers: 1 });
    const handle = scheduler.arm(1010, 'a');
    scheduler.arm(1010, 'b');
    scheduler.arm(1010, 'c');
    host.nowMs = 1010;
    const [sleep] = host.timeouts;
    host.clearTimeout(sleep!);
    sleep!.callback();
    scheduler.afterPoll(() => fired.push(['poll', 0]));
    expect(host.immediates.length).toBe(2);
    scheduler.close();
    scheduler.close();
    expect([host.timeouts, host.immediates]).toEqual([[], []]);
    expect(() => scheduler.arm(2000, 'd')).toThrow(expect.objectContaining({ code: 'HB_ERR_CLOSED' }));
    expect(scheduler.rearm(handle, 2000)).toBe(false);
    scheduler.afterPoll(() => fired.push(['poll', 0]));
    host.runUntil(3000);
    expect(fired.length).toBe(1);
  });

  it('F26: from inside a timer, the rest of the batch stays silent', () => {
    const { host, fired, scheduler } = virtual();
    scheduler.arm(1010, () => scheduler.close());
    scheduler.arm(1010, 'after close');
    scheduler.arm(1020, 'later');
    host.runUntil(2000);
    expect(fired.length).toBe(1);
    expect([host.timeouts, host.immediates]).toEqual([[], []]);
  });

  it('F26: from inside an afterPoll callback or onWake, nothing more is called', () => {
    const { host, fired, scheduler } = virtual({ onWake: () => scheduler.close() });
    scheduler.arm(1010, 'a');
    host.runUntil(2000);
    expect(fired).toEqual([]);
    const other = virtual();
    other.scheduler.afterPoll(() => other.scheduler.close());
    other.scheduler.afterPoll(() => other.fired.push(['poll', 0]));
    other.host.turn();
    expect(other.fired).toEqual([]);
  });

  it('does not keep the process alive unless told to', () => {
    const { host, scheduler } = virtual();
    scheduler.arm(2000, 'a');
    expect(host.alive).toBe(false);
    scheduler.ref();
    expect(host.alive).toBe(true);
    host.turn();
    scheduler.arm(1500, 'b');
    expect(host.alive).toBe(true);
    scheduler.unref();
    expect(host.alive).toBe(false);
  });
});

describe('in the real event loop', () => {
  it('fires, polls and lets go', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      const scheduler = new Scheduler<string>({
        tickMs: 1,
        onWake: (nowMs, lagMs) => order.push(Number.isFinite(nowMs) && lagMs >= 0 ? 'wake' : 'bad wake'),
        onExpire(payload, deadlineMs) {
          order.push(scheduler.now() >= deadlineMs ? payload : 'early');
          scheduler.afterPoll(() => {
            order.push('polled');
            scheduler.close();
            resolve();
          });
        },
      });
      scheduler.ref();
      scheduler.arm(scheduler.now() + 5, 'fired');
    });
    expect(order.slice(-3)).toEqual(['wake', 'fired', 'polled']);
  });

  it('F2: afterPoll does not wait for the loop to wake up for something else', async () => {
    // In a process of its own: inside the test runner something else always keeps the loop awake.
    const script = `import { Scheduler } from './src/time/index.ts';
      const scheduler = new Scheduler({ onExpire() {} });
      setTimeout(() => {}, 3_000);
      setTimeout(() => {
        const askedMs = performance.now();
        scheduler.afterPoll(() => {
          console.log(performance.now() - askedMs < 1_500 ? 'at once' : 'late');
          process.exit();
        });
      }, 50);`;
    const run = spawnSync(process.execPath, [await programOf(script)], { timeout: 15_000, encoding: 'utf8' });
    expect([run.stdout.trim(), run.stderr]).toEqual(['at once', '']);
  });

  it('F26: a process with an open scheduler and no sockets ends', async () => {
    const script = `import { Scheduler } from './src/time/index.ts';
      const scheduler = new Scheduler({ onExpire() {} });
      scheduler.arm(scheduler.now() + 600_000, 'x');
      scheduler.afterPoll(() => {});`;
    const run = spawnSync(process.execPath, [await programOf(script)], { timeout: 15_000, encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([0, '']);
  });

  it('the real host clears what it set', () => {
    const calls: string[] = [];
    nodeTimerHost.clearTimeout(nodeTimerHost.setTimeout(() => calls.push('timeout'), 1));
    nodeTimerHost.clearImmediate(nodeTimerHost.setImmediate(() => calls.push('immediate')));
    return new Promise<void>((resolve) => setTimeout(resolve, 5)).then(() => expect(calls).toEqual([]));
  });
});
