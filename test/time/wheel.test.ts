/** The wheel case by case: the numbers of F29 and the operations of F33 to F40. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { TimerHandle, TimerWheelOptions } from '../../src/time/index.ts';
import { TimerWheel } from '../../src/time/index.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const DAY_MS = 86_400_000;

/** A wheel that writes down what fires; a payload that is a function is run as well. */
function logged(options: Partial<TimerWheelOptions<unknown>> = {}) {
  const fired: unknown[] = [];
  const wheel = new TimerWheel<unknown>({
    onExpire(payload) {
      fired.push(payload);
      if (typeof payload === 'function') payload();
    },
    ...options,
  });
  return { wheel, fired };
}

describe('deadlines', () => {
  it('fires on the first tick at or after the deadline, never before', () => {
    const { wheel, fired } = logged({ tickMs: 10 });
    wheel.arm(20, 'on the tick');
    wheel.arm(20.001, 'just after it');
    expect(wheel.advance(19.999)).toBe(0);
    expect(wheel.advance(20)).toBe(1);
    expect(wheel.advance(29.999)).toBe(0);
    expect(wheel.advance(30)).toBe(1);
    expect(fired).toEqual(['on the tick', 'just after it']);
  });

  it('hands the callback payload and deadline', () => {
    const calls: unknown[][] = [];
    const wheel = new TimerWheel<string>({ onExpire: (...given) => calls.push(given) });
    wheel.arm(12.5, 'a');
    wheel.advance(100);
    expect(calls).toEqual([['a', 12.5]]);
  });

  it('fires in order of ticks, and of arming within a tick, whatever level the timers came from', () => {
    const { wheel, fired } = logged({ tickMs: 1 });
    for (const [deadlineMs, name] of [
      [70_000, 'e'],
      [300, 'c'],
      [5, 'a'],
      [300, 'd'],
      [299, 'b'],
      [70_000, 'f'],
    ] as const)
      wheel.arm(deadlineMs, name);
    wheel.advance(69_999);
    wheel.arm(70_000, 'g');
    wheel.advance(70_000);
    expect(fired.join('')).toBe('abcdefg');
  });

  it('fires timers armed for the past at the next advance, by deadline, though time stands still', () => {
    const { wheel, fired } = logged();
    wheel.advance(1000);
    for (const deadlineMs of [900, 1000, Number.NEGATIVE_INFINITY, 950]) wheel.arm(deadlineMs, deadlineMs);
    expect(wheel.nextDueMs()).toBeLessThanOrEqual(1000);
    expect(wheel.advance(1000)).toBe(4);
    expect(fired).toEqual([Number.NEGATIVE_INFINITY, 900, 950, 1000]);
  });

  it('takes a time that went backwards for the latest one seen', () => {
    const { wheel, fired } = logged();
    wheel.advance(1000);
    wheel.arm(1010, 'later');
    wheel.arm(500, 'past');
    expect(wheel.advance(0)).toBe(1);
    expect(fired).toEqual(['past']);
    expect(wheel.nextDueMs()).toBe(1010);
  });

  it('F29: delays of 2^31, 2^32 and 2^53 ms fire on their tick and not before', () => {
    for (const delayMs of [2 ** 31, 2 ** 31 + 1, 2 ** 32, 2 ** 40, 2 ** 53]) {
      for (const tickMs of [1, 7.5, 10]) {
        const { wheel, fired } = logged({ tickMs });
        wheel.arm(delayMs, 'x');
        const dueMs = wheel.nextDueMs();
        expect(dueMs).toBeGreaterThanOrEqual(delayMs);
        expect(dueMs).toBeLessThan(delayMs + tickMs + 2);
        expect(wheel.advance(delayMs - 1)).toBe(0);
        expect(wheel.advance(dueMs)).toBe(1);
        expect(fired).toEqual(['x']);
      }
    }
  });

  it('F29: Infinity, and more than 2^53 ticks, is never, yet counted and cancellable', () => {
    const { wheel, fired } = logged({ tickMs: 1 });
    const handle = wheel.arm(Number.POSITIVE_INFINITY, 'never');
    wheel.arm(1e300, 'nor this');
    expect(wheel.size).toBe(2);
    expect(wheel.nextDueMs()).toBe(Number.POSITIVE_INFINITY);
    wheel.advance(2 ** 53);
    wheel.advance(Number.MAX_VALUE);
    expect(fired).toEqual([]);
    expect(wheel.cancel(handle)).toBe(true);
    expect(wheel.size).toBe(1);
  });

  it('F29: 60 virtual days of a 15 s beat: every beat on its tick, nothing else fires', () => {
    let nowMs = 0;
    let beats = 0;
    let early = 0;
    let late = 0;
    const wheel: TimerWheel<number> = new TimerWheel({
      tickMs: 10,
      onExpire(_payload, deadlineMs) {
        beats++;
        if (nowMs < deadlineMs) early++;
        if (nowMs >= deadlineMs + 10) late++;
        wheel.rearm(handle, deadlineMs + 15_000);
      },
    });
    const handle = wheel.arm(15_000, 0);
    wheel.arm(61 * DAY_MS, 1);
    while (nowMs < 60 * DAY_MS) {
      nowMs = wheel.nextDueMs();
      wheel.advance(nowMs);
    }
    expect({ beats, early, late }).toEqual({ beats: (60 * DAY_MS) / 15_000, early: 0, late: 0 });
  });

  it('F33: timers beyond one, two and three turns of a level fire on their own tick', () => {
    const { wheel, fired } = logged({ tickMs: 1 });
    const ticks = [1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 2 ** 24 - 1, 2 ** 24, 2 ** 24 + 1];
    const far = [2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 3 * 2 ** 32 + 5];
    for (const tick of [...ticks, ...far].reverse()) wheel.arm(tick, tick);
    for (const tick of [...ticks, ...far]) {
      expect(wheel.nextDueMs()).toBe(tick);
      expect(wheel.advance(tick - 0.5)).toBe(0);
      expect(wheel.advance(tick)).toBe(1);
    }
    expect(fired).toEqual([...ticks, ...far]);
  });

  it('a jump of 2^40 ms over an empty stretch is no work', () => {
    const { wheel, fired } = logged({ tickMs: 1 });
    wheel.arm(2 ** 40, 'x');
    const startedMs = performance.now();
    wheel.advance(2 ** 40);
    expect(fired).toEqual(['x']);
    expect(performance.now() - startedMs).toBeLessThan(1000); // tick by tick it would take an hour
  });
});

describe('batches', () => {
  it('F34: a skipped stretch of 500 ticks fires all due timers once, in batches, in order', () => {
    const { wheel, fired } = logged({ tickMs: 10 });
    for (let tick = 1; tick <= 500; tick++) for (const copy of [0, 1]) wheel.arm(tick * 10, tick * 10 + copy);
    wheel.arm(5010, 'not yet');
    const batches: number[] = [];
    do batches.push(wheel.advance(5000, 301));
    while (wheel.nextDueMs() <= 5000);
    expect(batches).toEqual([301, 301, 301, 97]);
    expect(fired).toEqual([...fired].sort((a, b) => Number(a) - Number(b)));
    expect(new Set(fired).size).toBe(1000);
    expect(wheel.size).toBe(1);
    expect(wheel.nextDueMs()).toBe(5010);
  });

  it('F34: a beat that re-arms itself into the stretch just skipped fires once per advance', () => {
    const { wheel, fired } = logged({ tickMs: 10 });
    const beat = (): void => void wheel.rearm(handle, 10 * fired.length + 10);
    const handle = wheel.arm(10, beat);
    expect(wheel.advance(5000)).toBe(1);
    expect(wheel.advance(5000)).toBe(1);
    expect(fired.length).toBe(2);
  });

  it('a limit of 0 fires nothing and keeps everything', () => {
    const { wheel } = logged();
    wheel.arm(10, 'x');
    expect(wheel.advance(10, 0)).toBe(0);
    expect(wheel.nextDueMs()).toBeLessThanOrEqual(10);
    expect(wheel.advance(10, 1)).toBe(1);
  });
});

describe('inside a callback', () => {
  it('F35: arming into the slot being fired, or the past, waits for the next advance', () => {
    const { wheel, fired } = logged();
    wheel.arm(10, () => {
      wheel.arm(10, 'same slot');
      wheel.arm(0, 'past');
      expect(wheel.size).toBe(2);
    });
    expect(wheel.advance(10)).toBe(1);
    expect(wheel.advance(10)).toBe(2);
    expect(fired.slice(1)).toEqual(['past', 'same slot']);
  });

  it('F35: cancelling and re-arming timers of the slot being fired', () => {
    const { wheel, fired } = logged();
    wheel.arm(10, () => {
      expect(wheel.cancel(cancelled)).toBe(true);
      expect(wheel.rearm(moved, 20)).toBe(true);
      expect(wheel.size).toBe(2);
    });
    const cancelled = wheel.arm(10, 'cancelled');
    const moved = wheel.arm(10, 'moved');
    wheel.arm(10, 'stays');
    expect(wheel.advance(10)).toBe(2);
    expect(wheel.nextDueMs()).toBe(20);
    expect(wheel.advance(20)).toBe(1);
    expect(fired.slice(1)).toEqual(['stays', 'moved']);
  });

  it('F35: one timer re-armed in its own callback keeps its handle for life', () => {
    const { wheel, fired } = logged();
    const beat = (): void => {
      expect(wheel.size).toBe(0);
      expect(wheel.cancel(handle)).toBe(false);
      expect(wheel.rearm(handle, fired.length * 10 + 10)).toBe(true);
      expect(wheel.size).toBe(1);
    };
    const handle = wheel.arm(10, beat);
    for (let nowMs = 10; nowMs <= 1000; nowMs += 10) expect(wheel.advance(nowMs)).toBe(1);
    expect(wheel.cancel(handle)).toBe(true);
    expect(wheel.size).toBe(0);
  });

  it('F35: postponed in its own callback it is re-armed; postponed for the past, due', () => {
    const { wheel, fired } = logged();
    const handle = wheel.arm(10, () => {
      expect(wheel.postpone(handle, 30)).toBe(true);
      expect(wheel.size).toBe(1);
    });
    expect(wheel.advance(20)).toBe(1);
    expect(wheel.postpone(handle, 15)).toBe(true);
    expect([wheel.nextDueMs(), wheel.advance(20)]).toEqual([20, 1]);
    expect(wheel.cancel(handle)).toBe(true);
    expect(wheel.postpone(handle, 50)).toBe(false);
    expect(() => wheel.postpone(wheel.arm(50, 'kept'), Number.NaN)).toThrow(/deadlineMs/);
    expect(wheel.advance(50)).toBe(1);
    expect(fired).toContain('kept');
  });

  it('F35: re-armed then cancelled in its own callback, its place can be taken at once', () => {
    const { wheel, fired } = logged();
    let other: TimerHandle = 0;
    const handle = wheel.arm(10, () => {
      wheel.rearm(handle, 20);
      expect(wheel.cancel(handle)).toBe(true);
      expect(wheel.rearm(handle, 20)).toBe(false);
      other = wheel.arm(20, 'other');
    });
    wheel.advance(10);
    expect(wheel.size).toBe(1);
    expect(wheel.cancel(handle)).toBe(false);
    expect(wheel.advance(20)).toBe(1);
    expect(fired[1]).toBe('other');
    expect(wheel.cancel(other)).toBe(false);
  });

  it('F36: a callback that throws stops nothing, and its error comes out afterwards', () => {
    const { wheel, fired } = logged();
    const failure = new Error('first');
    wheel.arm(10, () => {
      throw failure;
    });
    wheel.arm(10, 'same tick');
    wheel.arm(20, 'next tick');
    expect(() => wheel.advance(20)).toThrow(failure);
    expect(fired.slice(1)).toEqual(['same tick', 'next tick']);
    expect(wheel.size).toBe(0);
    expect(wheel.advance(30)).toBe(0);
  });

  it('F36: several errors come out together, or one by one through onError', () => {
    const fail = (text: string) => () => {
      throw new Error(text);
    };
    const { wheel } = logged();
    wheel.arm(10, fail('a'));
    wheel.arm(20, fail('b'));
    let thrown: unknown;
    try {
      wheel.advance(20);
    } catch (error) {
      thrown = error;
    }
    expect((thrown as AggregateError).errors.map(String)).toEqual(['Error: a', 'Error: b']);

    const taken: string[] = [];
    const { wheel: other } = logged({ onError: (error) => taken.push(String(error)) });
    other.arm(10, fail('c'));
    other.arm(10, fail('d'));
    expect(other.advance(10)).toBe(2);
    expect(taken).toEqual(['Error: c', 'Error: d']);
  });

  it('refuses to advance from inside a callback, and works on afterwards', () => {
    const { wheel } = logged();
    wheel.arm(10, () => wheel.advance(20));
    expect(() => wheel.advance(10)).toThrow('advance must not be called from inside a timer callback');
    wheel.arm(20, 'x');
    expect(wheel.advance(20)).toBe(1);
  });
});

describe('handles', () => {
  it('F37: a handle that fired, was cancelled or is reused does nothing', () => {
    const { wheel, fired } = logged();
    const first = wheel.arm(10, 'first');
    wheel.advance(10);
    expect([wheel.cancel(first), wheel.rearm(first, 20)]).toEqual([false, false]);
    const second = wheel.arm(20, 'second');
    expect(second).not.toBe(first);
    expect([wheel.cancel(first), wheel.rearm(first, 30)]).toEqual([false, false]);
    expect(wheel.cancel(second)).toBe(true);
    expect([wheel.cancel(second), wheel.rearm(second, 20)]).toEqual([false, false]);
    expect(wheel.size).toBe(0);
    wheel.advance(1000);
    expect(fired).toEqual(['first']);
  });

  it('F37: numbers that never were handles do nothing', () => {
    const { wheel } = logged();
    const handle = wheel.arm(10, 'x');
    const ahead = handle + 2 ** 24;
    for (const forged of [
      0,
      1,
      1025,
      -1,
      handle + 1,
      handle + 0.5,
      ahead,
      -handle,
      2 ** 53,
      Number.NaN,
      1e300,
    ])
      expect([forged, wheel.cancel(forged), wheel.rearm(forged, 5)]).toEqual([forged, false, false]);
    wheel.cancel(handle);
    expect(wheel.cancel(ahead)).toBe(false); // the right generation, of a place that is free
    expect(wheel.size).toBe(0);
  });

  it('F37: generations stay apart beyond 2^31 and below 2^53', () => {
    const { wheel } = logged();
    const seen = new Set<TimerHandle>();
    for (let use = 0; use < 1000; use++) {
      const handle = wheel.arm(10, use);
      expect(Number.isSafeInteger(handle)).toBe(true);
      seen.add(handle);
      expect(wheel.cancel(handle)).toBe(true);
    }
    expect(seen.size).toBe(1000);
    expect(Math.max(...seen)).toBeGreaterThan(2 ** 31);
    for (const handle of seen) expect(wheel.cancel(handle)).toBe(false);
  });
});

describe('memory and limits', () => {
  it('F39: a million arm and cancel leave memory flat', () => {
    const { wheel } = logged();
    const churn = (rounds: number): void => {
      const handles = new Float64Array(1000);
      for (let round = 0; round < rounds; round++) {
        for (let i = 0; i < 1000; i++) handles[i] = wheel.arm(round + i * 37, 'x');
        for (let i = 0; i < 1000; i++) wheel.cancel(handles[i]!);
      }
    };
    churn(1);
    const before = wheel.arrayBytes;
    churn(1000);
    expect(wheel.arrayBytes).toBe(before);
    expect(wheel.size).toBe(0);
  });

  it('F39: 100 000 timers cost at most 24 bytes of array each, and growing keeps them all', () => {
    const { wheel, fired } = logged({ maxTimers: 100_000 });
    const headBytes = wheel.arrayBytes;
    for (let i = 0; i < 100_000; i++) wheel.arm(100_000 - i, i);
    expect(wheel.arrayBytes - headBytes).toBeGreaterThan(0);
    expect(wheel.arrayBytes).toBeLessThan(100_000 * 24);
    expect(wheel.advance(100_000)).toBe(100_000);
    expect(fired.length).toBe(100_000);
  });

  it('F39: payloads of fired and cancelled timers are let go', () => {
    const { wheel } = logged({ onExpire() {} });
    const handles: TimerHandle[] = [];
    const arm = (): WeakRef<object> => {
      const payload = {};
      handles.push(wheel.arm(10, payload));
      return new WeakRef(payload);
    };
    const references = [arm(), arm()];
    wheel.cancel(handles[0]!);
    wheel.advance(10);
    return new Promise(setImmediate).then(() => {
      collectGarbage();
      expect(references.map((reference) => reference.deref())).toEqual([undefined, undefined]);
    });
  });

  it('F40: maxTimers fit, one more is HB_ERR_TIMER_LIMIT, a freed one makes room', () => {
    for (const maxTimers of [1, 3, 64, 65, 1000]) {
      const { wheel } = logged({ maxTimers });
      let last: TimerHandle = 0;
      for (let i = 0; i < maxTimers; i++) last = wheel.arm(i % 2 ? 10 : Number.POSITIVE_INFINITY, i);
      expect(() => wheel.arm(10, 'x')).toThrow(expect.objectContaining({ code: 'HB_ERR_TIMER_LIMIT' }));
      expect(wheel.size).toBe(maxTimers);
      wheel.cancel(last);
      wheel.arm(10, 'x');
      expect(wheel.size).toBe(maxTimers);
    }
  });

  it('F40: the timer whose callback runs makes room, and cannot come back when that is taken', () => {
    const { wheel, fired } = logged({ maxTimers: 1 });
    const handle = wheel.arm(10, () => {
      wheel.arm(20, 'successor');
      expect(() => wheel.rearm(handle, 20)).toThrow(expect.objectContaining({ code: 'HB_ERR_TIMER_LIMIT' }));
    });
    wheel.advance(10);
    wheel.advance(20);
    expect(fired[1]).toBe('successor');
  });

  it('misuse is refused with the name of the option and the value', () => {
    const onExpire = (): void => {};
    const build = (options: object) => () => new TimerWheel(options as TimerWheelOptions<unknown>);
    expect(build({})).toThrow(new TypeError('onExpire must be a function, got undefined'));
    expect(build({ onExpire, onError: 1 })).toThrow('onError must be a function');
    expect(build({ onExpire, tickMs: 0.5 })).toThrow(RangeError);
    expect(build({ onExpire, tickMs: Number.NaN })).toThrow('tickMs must be');
    expect(build({ onExpire, startMs: Number.POSITIVE_INFINITY })).toThrow('startMs must be');
    expect(build({ onExpire, maxTimers: 0 })).toThrow('maxTimers must be');
    expect(build({ onExpire, maxTimers: 2 ** 23 + 1 })).toThrow('maxTimers must be');
    expect(build({ onExpire, tikcMs: 1 })).toThrow('options.tikcMs');
    const { wheel } = logged();
    const handle = wheel.arm(10, 'x');
    expect(() => wheel.arm(Number.NaN, 'x')).toThrow(RangeError);
    expect(() => wheel.arm('10' as never, 'x')).toThrow(TypeError);
    expect(() => wheel.rearm(handle, Number.NaN)).toThrow(
      'deadlineMs must be a time in ms or Infinity, got NaN',
    );
    expect(() => wheel.advance(Number.NaN)).toThrow(RangeError);
    expect(() => wheel.advance(Number.POSITIVE_INFINITY)).toThrow('nowMs must be');
    for (const limit of [-1, 1.5, Number.NaN]) expect(() => wheel.advance(1, limit)).toThrow('limit must be');
    expect(wheel.size).toBe(1);
  });
});
