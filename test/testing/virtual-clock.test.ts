/** The virtual event loop: Node's order, three clocks that come apart, and the real scheduler and hub on it. */
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { Scheduler } from '../../src/time/scheduler.ts';

describe('virtual clock', () => {
  test("one turn runs timers, then what is ready, then immediates, each with its next ticks (Node's order)", () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    const say = (text: string) => () => {
      order.push(text);
      clock.nextTick(() => order.push(`${text}'s tick`));
    };
    clock.setImmediate(say('immediate'));
    clock.onPoll(say('poll'));
    clock.setTimeout(say('late timer'), 5);
    clock.setTimeout(say('early timer'), 2);
    clock.stall(5);
    clock.turn();
    const ran = ['early timer', 'late timer', 'poll', 'immediate'];
    expect(order).toEqual(ran.flatMap((text) => [text, `${text}'s tick`]));
  });

  test('what callbacks add waits for the next turn, except immediates set in timers and polls', () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    clock.setTimeout(() => {
      order.push('timer');
      clock.setImmediate(() => {
        order.push('immediate');
        clock.setImmediate(() => order.push('second turn'));
      });
    }, 1);
    clock.stall(1);
    clock.turn();
    expect(order).toEqual(['timer', 'immediate']);
    clock.turn();
    expect(order).toEqual(['timer', 'immediate', 'second turn']);
  });

  test('a timer or immediate cancelled by an earlier one of the same phase does not run', () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    const later = clock.setTimeout(() => order.push('wrong'), 2);
    clock.setTimeout(() => clock.clearTimeout(later), 1);
    const second = { timer: clock.setImmediate(() => clock.clearImmediate(second.timer)) };
    second.timer = clock.setImmediate(() => order.push('wrong'));
    clock.stall(10);
    clock.turn();
    expect(order).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test('a callback that throws loses nothing of what was due after it', () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    clock.setTimeout(() => {
      throw new Error('first');
    }, 1);
    clock.setTimeout(() => order.push('second'), 1);
    clock.onPoll(() => {
      throw new Error('poll');
    });
    clock.onPoll(() => order.push('second poll'));
    clock.stall(1);
    expect(() => clock.turn()).toThrow('first');
    expect(() => clock.turn()).toThrow('poll');
    clock.turn();
    expect(order).toEqual(['second', 'second poll']);
  });

  test('time passes timer by timer, and delays are cut and bounded as Node does', () => {
    const clock = new VirtualClock(0);
    const at: number[] = [];
    for (const delayMs of [7.9, 0, 2 ** 31, -5]) clock.setTimeout(() => at.push(clock.now()), delayMs);
    expect(clock.nextDueMs).toBe(1);
    expect(clock.advance(20)).toBe(2);
    expect(at).toEqual([1, 1, 1, 7]);
    expect(clock.now()).toBe(20);
    expect(clock.nextDueMs).toBe(Infinity);
  });

  test('F5, F6: suspend moves boot and wall clock, a stall all three, a step only the wall clock', () => {
    const clock = new VirtualClock(0);
    const wallMs = clock.wallMs();
    const moved = (): number[] => [clock.now(), clock.boot(), clock.wallMs() - wallMs];
    clock.sleep(5_000);
    expect(moved()).toEqual([0, 5_000, 5_000]);
    clock.stall(100);
    expect(moved()).toEqual([100, 5_100, 5_100]);
    clock.stepWall(-86_400_000);
    expect(moved()).toEqual([100, 5_100, 5_100 - 86_400_000]);
  });

  test('unreferenced timers do not keep a process alive', () => {
    const clock = new VirtualClock();
    const timer = clock.setTimeout(() => {}, 10);
    expect(clock.isAlive).toBe(true);
    timer.unref();
    expect([clock.isAlive, clock.pending]).toEqual([false, 1]);
  });

  test('the real scheduler on it fires on time, tells its lateness, and judges after the poll', () => {
    const clock = new VirtualClock(0);
    const told: string[] = [];
    const scheduler = new Scheduler<string>({
      clock,
      host: clock,
      onExpire: (name) => {
        told.push(`${name} at ${clock.now()}`);
        scheduler.afterPoll(() => told.push('judged'));
      },
      onWake: (_nowMs, lagMs) => told.push(`lag ${lagMs}`),
    });
    scheduler.arm(100, 'due');
    clock.stall(350);
    clock.onPoll(() => told.push('read'));
    clock.advance(0);
    expect(told).toEqual(['lag 250', 'due at 350', 'read', 'judged']);
    scheduler.close();
    expect(clock.pending).toBe(0);
  });

  test.each([Number.NaN, -1, Infinity])('refuses a start of %s, naming it', (startMs) => {
    expect(() => new VirtualClock(startMs)).toThrow(/^startMs must be/);
  });
});
