/** The wheel against its twin, a sorted list, under random operations. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TimerWheel } from '../../src/time/index.ts';
import { sized } from '../support/sizes.ts';
import { SortedListTwin } from './sorted-list-twin.ts';

const MAX_TIMERS = 24;
const MAX_NOW_MS = 2 ** 53;

/** Milliseconds or ticks from now; what a deadline or a step of time is made of. */
const distance = fc.oneof(
  fc.constantFrom(0, 1, 255, 256, 257, 2 ** 16 - 1, 2 ** 16, 2 ** 24 - 1, 2 ** 24, 2 ** 32 - 1, 2 ** 32),
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: 0, max: 600 }),
  fc.integer({ min: 0, max: 2 ** 17 }),
  fc.integer({ min: 0, max: 2 ** 25 }),
  fc.integer({ min: 0, max: 2 ** 34 }),
  fc.double({ min: 0, max: 40, noNaN: true }),
);
const deadline = fc.oneof(
  { weight: 12, arbitrary: fc.record({ from: fc.constant('now' as const), by: distance }) },
  { weight: 3, arbitrary: fc.record({ from: fc.constant('past' as const), by: distance }) },
  {
    weight: 2,
    arbitrary: fc.record({
      from: fc.constant('zero' as const),
      by: fc.constantFrom(Number.NEGATIVE_INFINITY, 0, 2 ** 31, 2 ** 53, 1e300, Number.POSITIVE_INFINITY),
    }),
  },
);
type Deadline = typeof deadline extends fc.Arbitrary<infer D> ? D : never;

const index = fc.nat(60);
const change = fc.oneof(
  fc.record({ kind: fc.constant('arm' as const), deadline }),
  fc.record({ kind: fc.constant('rearm' as const), index, deadline }),
  fc.record({ kind: fc.constant('cancel' as const), index }),
);
const operation = fc.oneof(
  { weight: 3, arbitrary: change },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      by: distance,
      back: fc.constantFrom(false, false, false, true),
      limit: fc.constantFrom(0, 1, 2, 3, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    }),
  },
);
/** What a callback does: nothing, re-arm its own timer, or any change. */
const reaction = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('self' as const), deadline }) },
  { weight: 2, arbitrary: change },
  { weight: 1, arbitrary: fc.constant({ kind: 'self-twice' as const }) },
);

type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;
type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never;
type Reaction = typeof reaction extends fc.Arbitrary<infer R> ? R : never;

/** Both sides seen alike: timers named by ids that are never used twice. */
interface Timers {
  arm(deadlineMs: number, id: number): void;
  rearm(id: number, deadlineMs: number): boolean;
  cancel(id: number): boolean;
  advance(nowMs: number, limit: number): number;
  nextDueMs(latestMs: number): number | 'due';
  readonly size: number;
}
type Build = (onExpire: (id: number, deadlineMs: number) => void) => Timers;

/** Runs the operations on one side and writes down everything that can be seen. */
function record(
  build: Build,
  startMs: number,
  tickMs: number,
  operations: Operation[],
  reactions: Reaction[],
) {
  const log: unknown[] = [];
  let nowMs = startMs;
  let nextId = 0;
  let reacted = 0;
  const at = ({ from, by }: Deadline): number =>
    from === 'zero' ? by : from === 'now' ? nowMs + by * (by > 100 ? tickMs : 1) : nowMs - by;
  const attempt = (work: () => unknown): void => {
    try {
      log.push(work());
    } catch (error) {
      log.push(String(error).includes('holds maxTimers') ? 'Error: limit' : String(error));
    }
  };
  const apply = (step: Change): void =>
    attempt(() => {
      if (step.kind === 'arm') return timers.arm(at(step.deadline), nextId++);
      const id = step.index % Math.max(nextId, 1);
      return step.kind === 'cancel' ? timers.cancel(id) : timers.rearm(id, at(step.deadline));
    });
  const timers = build((id, deadlineMs) => {
    log.push(`fires ${id} of ${deadlineMs}`, timers.size);
    const step = reactions[reacted++ % reactions.length];
    if (step === undefined) return;
    if (step.kind === 'self') attempt(() => timers.rearm(id, at(step.deadline)));
    else if (step.kind === 'self-twice') {
      for (const work of [
        () => timers.cancel(id),
        () => timers.rearm(id, nowMs + tickMs),
        () => timers.cancel(id),
        () => timers.rearm(id, nowMs + tickMs),
      ])
        attempt(work);
    } else apply(step);
  });
  for (const step of operations) {
    log.push(JSON.stringify(step));
    if (step.kind === 'advance') {
      const stepMs = step.by * (step.by > 100 ? tickMs : 1);
      if (!step.back) nowMs = Math.min(nowMs + stepMs, MAX_NOW_MS);
      attempt(() => timers.advance(step.back ? nowMs - stepMs : nowMs, step.limit));
    } else apply(step);
    log.push(timers.size, timers.nextDueMs(nowMs));
  }
  return log;
}

function compareWithTwin(
  tickMs: number,
  startMs: number,
  operations: Operation[],
  reactions: Reaction[],
): void {
  const real = record(
    (onExpire) => {
      const wheel = new TimerWheel<number>({ tickMs, startMs, maxTimers: MAX_TIMERS, onExpire });
      const handles: number[] = [];
      return {
        arm(deadlineMs, id) {
          handles[id] = wheel.arm(deadlineMs, id);
        },
        rearm: (id, deadlineMs) => wheel.rearm(handles[id] ?? 0, deadlineMs),
        cancel: (id) => wheel.cancel(handles[id] ?? 0),
        advance: (nowMs, limit) => wheel.advance(nowMs, limit),
        nextDueMs(latestMs) {
          const dueMs = wheel.nextDueMs();
          expect(wheel.nextDueMs()).toBe(dueMs);
          return dueMs <= latestMs ? 'due' : dueMs;
        },
        get size() {
          return wheel.size;
        },
      };
    },
    startMs,
    tickMs,
    operations,
    reactions,
  );
  const model = record(
    (onExpire) => {
      const twin = new SortedListTwin({ tickMs, startMs, maxTimers: MAX_TIMERS, onExpire });
      return {
        arm: (deadlineMs, id) => twin.arm(deadlineMs, id),
        rearm: (id, deadlineMs) => twin.rearm(id, deadlineMs),
        cancel: (id) => twin.cancel(id),
        advance: (nowMs, limit) => twin.advance(nowMs, limit),
        nextDueMs: () => twin.nextDueMs() ?? 'due',
        get size() {
          return twin.size;
        },
      };
    },
    startMs,
    tickMs,
    operations,
    reactions,
  );
  expect(real).toEqual(model);
}

describe('the wheel does what a sorted list does', () => {
  const operations = fc.array(operation, { minLength: 1, maxLength: 80, size: 'max' });
  const reactions = fc.array(reaction, { minLength: 1, maxLength: 12 });
  for (const [tickMs, startMs] of [
    [1, 0],
    [10, 123_456.789],
    [7.5, -1000.25],
    [10, 2 ** 43],
  ] as const) {
    it(`F38: fires, counts, nextDueMs and answers agree, tick ${tickMs} ms from ${startMs}`, () => {
      fc.assert(
        fc.property(operations, reactions, (ops, answers) => compareWithTwin(tickMs, startMs, ops, answers)),
        { numRuns: sized(400, 150) },
      );
    });
  }
});

describe('postponed timers', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('arm' as const), deadline }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('postpone' as const), index, deadline }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('rearm' as const), index, deadline }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), index }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('advance' as const), by: distance }) },
    { weight: 4, arbitrary: fc.constant({ kind: 'next' as const }) },
  );

  it('fire when re-armed ones would, and whoever sleeps until nextDueMs never oversleeps nor wakes in the past', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }), (steps) => {
        const fired = { wheel: [] as string[], twin: [] as string[] };
        const options = { tickMs: 10, startMs: 0, maxTimers: 100 };
        const twin = new SortedListTwin({ ...options, onExpire: (id, at) => fired.twin.push(`${id} ${at}`) });
        const wheel = new TimerWheel<number>({
          ...options,
          onExpire: (id, at) => fired.wheel.push(`${id} ${at}`),
        });
        const handles: number[] = [];
        let nowMs = 0;
        const at = ({ from, by }: Deadline): number =>
          from === 'zero' ? by : from === 'now' ? nowMs + by : nowMs - by;
        const advance = (toMs: number): void => {
          nowMs = Math.min(Math.max(toMs, nowMs), MAX_NOW_MS);
          wheel.advance(nowMs);
          twin.advance(nowMs, Infinity);
          expect(fired.wheel.sort()).toEqual(fired.twin.sort());
        };
        for (const one of steps) {
          if (one.kind === 'arm') {
            const deadlineMs = at(one.deadline);
            twin.arm(deadlineMs, handles.length);
            handles.push(wheel.arm(deadlineMs, handles.length));
          } else if (one.kind === 'advance') advance(nowMs + one.by * 10);
          else if (one.kind === 'next') {
            const dueMs = wheel.nextDueMs();
            if (dueMs < Infinity) advance(dueMs);
          } else {
            const id = one.index % Math.max(handles.length, 1);
            const handle = handles[id] ?? 0;
            if (one.kind === 'cancel') expect(wheel.cancel(handle)).toBe(twin.cancel(id));
            else expect(wheel[one.kind](handle, at(one.deadline))).toBe(twin.rearm(id, at(one.deadline)));
          }
          expect(wheel.size).toBe(twin.size);
          const exactMs = twin.nextDueMs();
          const dueMs = wheel.nextDueMs();
          expect(wheel.nextDueMs()).toBe(dueMs);
          if (exactMs === undefined) expect(dueMs).toBeLessThanOrEqual(nowMs);
          else expect(dueMs).toBeLessThanOrEqual(exactMs);
        }
        // From wake to wake, as a scheduler goes: every wake leads further, and at the end nothing is left.
        for (let wakes = 0; wheel.nextDueMs() < MAX_NOW_MS; wakes++) {
          const dueMs = wheel.nextDueMs();
          advance(dueMs);
          expect(wheel.nextDueMs()).toBeGreaterThan(nowMs);
          expect(wakes).toBeLessThan(1_000);
        }
        expect(twin.nextDueMs() ?? 0).toBeGreaterThanOrEqual(MAX_NOW_MS);
      }),
      { numRuns: sized(1_000, 300) },
    );
  });
});
