/**
 * The one real timer behind a wheel: sleeps until the wheel's next due tick, then fires what is due in batches.
 *
 * Contract: the pending `setTimeout` is moved only when something is due earlier than it (a later deadline costs
 * nothing: at worst one wake for nothing). Each wake first reports its own lateness, before any timer fires, because
 * a process that was late itself must not judge others by the clock alone. More than `batchTimers` due at once: the
 * rest follows in `setImmediate` turns, so that sockets are polled between. Timers armed for the past from inside a
 * callback run a millisecond later at the earliest, so a timer that always re-arms itself cannot spin the loop.
 * Caveats: Node runs due timers *before* it polls the sockets; what is judged on missing input must be judged again
 * in `afterPoll`. A delay beyond 2^31 - 1 ms would fire at once in Node: longer sleeps are taken in pieces.
 * Source: libuv's loop order (timers, poll, check), docs.libuv.org/en/v1.x/design.html.
 */
import { functionOf, integerIn, knownKeys } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { monotonicClock } from '../base/clock.ts';
import { WirebeatError } from '../base/errors.ts';
import type { TimerHandle } from './wheel.ts';
import { TimerWheel } from './wheel.ts';

/** What Node's Timeout and Immediate have in common here. */
export interface HostTimer {
  ref(): unknown;
  unref(): unknown;
}

/** The event loop as the scheduler sees it; a test passes a virtual one. */
export interface TimerHost {
  setTimeout(callback: () => void, delayMs: number): HostTimer;
  clearTimeout(timer: HostTimer): void;
  setImmediate(callback: () => void): HostTimer;
  clearImmediate(timer: HostTimer): void;
}

/** Node's own event loop. */
export const nodeTimerHost: TimerHost = {
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setImmediate: (callback) => setImmediate(callback),
  clearImmediate: (timer) => clearImmediate(timer as NodeJS.Immediate),
};

/** What a scheduler can be told. */
export interface SchedulerOptions<T> {
  /** Resolution in ms, as for the wheel. */
  tickMs?: number;
  /** Timers held at most, as for the wheel. */
  maxTimers?: number;
  /** Timers fired in one turn of the event loop, 1..2^24. */
  batchTimers?: number;
  clock?: Clock;
  host?: TimerHost;
  /** Called for each timer as it fires, with the deadline it was armed for. */
  onExpire(payload: T, deadlineMs: number): void;
  /**
   * Called once per wake, before its timers: the time, and how much later than asked for that is. When a wake takes
   * several turns, each later one tells how long the turn before it took.
   */
  onWake?(nowMs: number, lagMs: number): void;
  /** Takes what `onExpire` throws. Absent: it becomes an uncaught exception after the batch. */
  onError?(error: unknown): void;
}

/**
 * `tickMs` 10 and `maxTimers` 2^22 as for the wheel. `batchTimers` 4 096: at about a microsecond of work per timer
 * a turn stays below half a tick.
 */
export const SCHEDULER_DEFAULTS = Object.freeze({ tickMs: 10, maxTimers: 2 ** 22, batchTimers: 4096 });

/** Node turns a longer delay into 1 ms. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;
/** Node turns a shorter delay into this. */
const SHORTEST_DELAY_MS = 1;

const OPTION_NAMES = [
  'tickMs',
  'maxTimers',
  'batchTimers',
  'clock',
  'host',
  'onExpire',
  'onWake',
  'onError',
] as const;

/**
 * A timer wheel that runs by itself.
 *
 * It does not keep the process alive unless `ref()` is called: open sockets do that, and a program whose sockets
 * are gone should end. Call `ref()` where timers alone carry the work, such as waiting to reconnect.
 */
export class Scheduler<T> {
  readonly #wheel: TimerWheel<T>;
  readonly #clock: Clock;
  readonly #host: TimerHost;
  readonly #batchTimers: number;
  readonly #onWake: ((nowMs: number, lagMs: number) => void) | undefined;

  #sleep: HostTimer | undefined;
  /** When `#sleep` ends; Infinity without one. */
  #wakeMs = Number.POSITIVE_INFINITY;
  /** When the sleep should have ended, had the last wake's callbacks taken no time: lateness counts from here. */
  #wantedMs = Number.POSITIVE_INFINITY;
  /** When the last turn began. */
  #wokeMs = Number.NEGATIVE_INFINITY;
  /** Immediates stay referenced: an unreferenced one does not keep the loop from sleeping in its poll. */
  #continuation: HostTimer | undefined;
  #firing = false;
  #poll: HostTimer | undefined;
  #afterPoll: (() => void)[] = [];
  #referenced = false;
  #closed = false;

  /** TypeError and RangeError name the option that is wrong. */
  constructor(options: SchedulerOptions<T>) {
    knownKeys('options', options, OPTION_NAMES);
    const { tickMs, maxTimers, batchTimers } = { ...SCHEDULER_DEFAULTS, ...options };
    const onExpire = functionOf('onExpire', options.onExpire);
    this.#batchTimers = integerIn('batchTimers', batchTimers, 1, 2 ** 24);
    this.#clock = options.clock ?? monotonicClock;
    this.#host = options.host ?? nodeTimerHost;
    this.#onWake = options.onWake === undefined ? undefined : functionOf('onWake', options.onWake);
    this.#wheel = new TimerWheel<T>({
      tickMs,
      maxTimers,
      startMs: this.#clock.now(),
      onExpire: (payload, deadlineMs) => {
        if (!this.#closed) onExpire(payload, deadlineMs); // one callback of a batch may have closed us
      },
      ...(options.onError && { onError: options.onError }),
    });
  }

  /** The clock's time in ms: what deadlines are measured by. */
  now(): number {
    return this.#clock.now();
  }

  /** Timers pending, those armed for Infinity included. */
  get size(): number {
    return this.#wheel.size;
  }

  /** As the wheel's `arm`. WirebeatError HB_ERR_CLOSED after `close`. */
  arm(deadlineMs: number, payload: T): TimerHandle {
    if (this.#closed) throw new WirebeatError('HB_ERR_CLOSED', 'the scheduler is closed');
    const handle = this.#wheel.arm(deadlineMs, payload);
    if (deadlineMs < this.#wakeMs) this.#sleepUntilDue();
    return handle;
  }

  /** As the wheel's `rearm`; false after `close`. */
  rearm(handle: TimerHandle, deadlineMs: number): boolean {
    if (this.#closed || !this.#wheel.rearm(handle, deadlineMs)) return false;
    if (deadlineMs < this.#wakeMs) this.#sleepUntilDue();
    return true;
  }

  /** As the wheel's `postpone`; false after `close`. */
  postpone(handle: TimerHandle, deadlineMs: number): boolean {
    if (this.#closed || !this.#wheel.postpone(handle, deadlineMs)) return false;
    if (deadlineMs < this.#wakeMs) this.#sleepUntilDue();
    return true;
  }

  /** As the wheel's `cancel`. The last timer's going stops the sleep too. */
  cancel(handle: TimerHandle): boolean {
    const cancelled = this.#wheel.cancel(handle);
    if (cancelled && this.#wheel.size === 0) this.#stopSleep();
    return cancelled;
  }

  /**
   * Call back once after the event loop's next poll of the sockets: called from a timer, every byte that had arrived
   * by now has been read by then. (Called from a socket's own callback, the poll under way counts as the next.)
   * A callback that throws stops no other; its error is thrown afterwards. Dropped by `close`, ignored after it.
   */
  afterPoll(callback: () => void): void {
    functionOf('callback', callback);
    if (this.#closed) return;
    this.#afterPoll.push(callback);
    this.#poll ??= this.#host.setImmediate(() => this.#runAfterPoll());
  }

  /** Keep the process alive while something is scheduled. */
  ref(): void {
    this.#referenced = true;
    this.#sleep?.ref();
  }

  /** Let the process end with something scheduled; so it is at first. */
  unref(): void {
    this.#referenced = false;
    this.#sleep?.unref();
  }

  /** Nothing fires or is called back from here on, and nothing stays pending in the event loop. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#stopSleep();
    if (this.#continuation !== undefined) this.#host.clearImmediate(this.#continuation);
    if (this.#poll !== undefined) this.#host.clearImmediate(this.#poll);
    this.#continuation = this.#poll = undefined;
    this.#afterPoll = [];
  }

  #hold(timer: HostTimer): HostTimer {
    if (!this.#referenced) timer.unref();
    return timer;
  }

  #stopSleep(): void {
    if (this.#sleep !== undefined) this.#host.clearTimeout(this.#sleep);
    this.#sleep = undefined;
    this.#wakeMs = Number.POSITIVE_INFINITY;
  }

  /** Called when something may be due earlier than the sleep ends. While a batch runs, its end sees to that. */
  #sleepUntilDue(sinceMs = this.#clock.now()): void {
    if (this.#firing || this.#continuation !== undefined) return;
    const dueMs = this.#wheel.nextDueMs();
    if (dueMs >= this.#wakeMs) return;
    const nowMs = this.#clock.now();
    const wakeMs = Math.max(Math.min(dueMs, nowMs + LONGEST_DELAY_MS), nowMs + SHORTEST_DELAY_MS);
    if (wakeMs >= this.#wakeMs) return; // else arming for the past again and again would put the wake off for ever
    this.#stopSleep();
    this.#wakeMs = wakeMs;
    this.#wantedMs = Math.min(wakeMs, Math.max(dueMs, sinceMs + SHORTEST_DELAY_MS));
    // Rounded up, as Node cuts fractions off and a wake before the tick is a wake for nothing.
    const delayMs = Math.min(Math.ceil(wakeMs - nowMs), LONGEST_DELAY_MS);
    this.#sleep = this.#hold(this.#host.setTimeout(() => this.#wake(), delayMs));
  }

  #wake(): void {
    const nowMs = this.#clock.now();
    const lagMs = Math.max(0, nowMs - this.#wantedMs);
    this.#sleep = undefined;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#fireBatch(nowMs, lagMs);
  }

  /** One turn: at most a batch of timers, then the next turn or the next sleep, whatever the callbacks throw. */
  #fireBatch(nowMs: number, lagMs: number): void {
    let full = false;
    this.#firing = true;
    this.#wokeMs = nowMs;
    try {
      if (lagMs >= 0) this.#onWake?.(nowMs, lagMs);
      full = this.#wheel.advance(nowMs, this.#batchTimers) === this.#batchTimers;
    } finally {
      this.#firing = false;
      if (!this.#closed) this.#goOn(full && this.#wheel.nextDueMs() <= nowMs);
    }
  }

  #goOn(moreIsDue: boolean): void {
    if (moreIsDue) this.#continuation = this.#host.setImmediate(() => this.#continue());
    else this.#sleepUntilDue(this.#wokeMs);
  }

  #continue(): void {
    this.#continuation = undefined;
    const nowMs = this.#clock.now();
    const tookMs = nowMs - this.#wokeMs;
    this.#fireBatch(nowMs, tookMs > 0 ? tookMs : -1);
  }

  #runAfterPoll(): void {
    const callbacks = this.#afterPoll;
    this.#afterPoll = [];
    this.#poll = undefined;
    const errors: unknown[] = [];
    for (const callback of callbacks) {
      if (this.#closed) return;
      try {
        callback();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, `${errors.length} afterPoll callbacks threw`);
  }
}
