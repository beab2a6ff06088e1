/**
 * A virtual event loop: clock, timers, poll phase and immediates of one process, moved only by its caller.
 *
 * Contract: one turn runs what Node's loop runs, in its order: timers that are due, then everything ready in the poll
 * phase, then the immediates that were set before this phase. After each callback its `nextTick` queue is emptied.
 * Three clocks can come apart as they do on a machine: monotonic (`now`) stands still during suspend, the boot clock
 * (`boot`) goes on, the wall clock (`wallMs`) can be stepped. Callbacks that throw leave `turn` with the rest of
 * the loop intact.
 * Cost: timers are kept sorted in an array, meant for tens of them, not thousands: a scheduler needs one.
 * Source: libuv's loop order (timers, poll, check), docs.libuv.org/en/v1.x/design.html.
 */
import { numberIn } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { HostTimer, TimerHost } from '../time/scheduler.ts';

/** Node turns a longer delay into 1 ms. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;
/** Where the clocks begin: not 0, so that a forgotten initialisation shows; the wall stands in 2001. */
const MONOTONIC_START_MS = 1_000;
const WALL_START_MS = 1e12;

class VirtualTimer implements HostTimer {
  readonly callback: () => void;
  readonly atMs: number;
  isReferenced = true;
  isCancelled = false;

  constructor(callback: () => void, atMs: number) {
    this.callback = callback;
    this.atMs = atMs;
  }

  ref(): this {
    this.isReferenced = true;
    return this;
  }

  unref(): this {
    this.isReferenced = false;
    return this;
  }
}

export class VirtualClock implements Clock, TimerHost {
  #nowMs: number;
  /** How far the boot clock is ahead of the monotonic one: time spent suspended. */
  #sleptMs = 0;
  #wallOffsetMs = WALL_START_MS;
  #timers: VirtualTimer[] = [];
  #immediates: VirtualTimer[] = [];
  #ready: (() => void)[] = [];
  #ticks: (() => void)[] = [];

  /** `startMs`: what `now()` says at first, any finite number >= 0. */
  constructor(startMs: number = MONOTONIC_START_MS) {
    this.#nowMs = numberIn('startMs', startMs, 0, Number.MAX_SAFE_INTEGER);
  }

  // ---- clocks ---------------------------------------------------------------

  now(): number {
    return this.#nowMs;
  }

  /** Time since boot, suspend included, ms. */
  boot(): number {
    return this.#nowMs + this.#sleptMs;
  }

  /** Wall-clock time, ms since the epoch. */
  wallMs(): number {
    return this.boot() + this.#wallOffsetMs;
  }

  /** Somebody sets the wall clock; no other clock moves. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** The machine is suspended this long: boot and wall clock go on, the monotonic clock does not. */
  sleep(ms: number): void {
    this.#sleptMs += numberIn('ms', ms, 0, Number.MAX_SAFE_INTEGER);
  }

  /** Time passes and nothing runs: a blocked loop, or a stopped process. The next turn finds everything late. */
  stall(ms: number): void {
    this.#nowMs += numberIn('ms', ms, 0, Number.MAX_SAFE_INTEGER);
  }

  // ---- the loop, as programs see it -------------------------------------------

  setTimeout(callback: () => void, delayMs: number): HostTimer {
    // As Node has it: fractions are cut off, what is out of range becomes 1.
    const wholeMs = delayMs >= 1 && delayMs <= LONGEST_DELAY_MS ? Math.trunc(delayMs) : 1;
    const timer = new VirtualTimer(callback, this.#nowMs + wholeMs);
    let index = this.#timers.length;
    while (index > 0 && this.#timers[index - 1]!.atMs > timer.atMs) index--;
    this.#timers.splice(index, 0, timer);
    return timer;
  }

  clearTimeout(timer: HostTimer): void {
    (timer as VirtualTimer).isCancelled = true;
    this.#timers = this.#timers.filter((pending) => pending !== timer);
  }

  setImmediate(callback: () => void): HostTimer {
    const immediate = new VirtualTimer(callback, this.#nowMs);
    this.#immediates.push(immediate);
    return immediate;
  }

  clearImmediate(timer: HostTimer): void {
    (timer as VirtualTimer).isCancelled = true;
    this.#immediates = this.#immediates.filter((pending) => pending !== timer);
  }

  /** Run after the callback that is running now, before anything else. Outside a turn: at the start of the next. */
  nextTick(callback: () => void): void {
    this.#ticks.push(callback);
  }

  /** Something became ready: run `callback` in the next poll phase. */
  onPoll(callback: () => void): void {
    this.#ready.push(callback);
  }

  // ---- the loop, as its driver sees it -----------------------------------------

  /** The earliest time a turn has something to do; Infinity when nothing is pending. */
  get nextDueMs(): number {
    const isBusy = this.#ready.length > 0 || this.#immediates.length > 0 || this.#ticks.length > 0;
    return isBusy ? this.#nowMs : (this.#timers[0]?.atMs ?? Number.POSITIVE_INFINITY);
  }

  /** Timers and immediates pending: what a program left behind. */
  get pending(): number {
    return this.#timers.length + this.#immediates.length;
  }

  /** Whether something pending would keep a process alive. */
  get isAlive(): boolean {
    return [...this.#timers, ...this.#immediates].some((timer) => timer.isReferenced);
  }

  /** One turn of the loop at the present time. */
  turn(): void {
    this.#drainTicks();
    const nowMs = this.#nowMs;
    // Timers set by timers wait for the next turn, even when their time has come.
    const due = this.#timers.filter((timer) => timer.atMs <= nowMs);
    this.#timers.splice(0, due.length);
    this.#runAll(due, this.#timers);
    const ready = this.#ready;
    this.#ready = [];
    for (let at = 0; at < ready.length; at++) {
      this.#run(ready[at] as () => void, () => this.#ready.unshift(...ready.slice(at + 1)));
    }
    const immediates = this.#immediates;
    this.#immediates = [];
    this.#runAll(immediates, this.#immediates);
  }

  /** Let `ms` pass, turning whenever something is due. Returns how many turns that took. */
  advance(ms: number): number {
    return this.runUntil(this.#nowMs + numberIn('ms', ms, 0, Number.MAX_SAFE_INTEGER));
  }

  /** Let time pass until `untilMs`, turning whenever something is due. Returns how many turns that took. */
  runUntil(untilMs: number): number {
    let turns = 0;
    for (let dueMs = this.nextDueMs; dueMs <= untilMs; dueMs = this.nextDueMs) {
      this.#nowMs = Math.max(this.#nowMs, dueMs);
      this.turn();
      turns++;
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    return turns;
  }

  #runAll(timers: VirtualTimer[], rest: VirtualTimer[]): void {
    for (let at = 0; at < timers.length; at++) {
      const timer = timers[at] as VirtualTimer;
      if (timer.isCancelled) continue;
      this.#run(timer.callback, () => rest.unshift(...timers.slice(at + 1)));
    }
  }

  /** A throw must not lose what was due after it: `keepRest` puts that back. */
  #run(callback: () => void, keepRest: () => void): void {
    try {
      callback();
      this.#drainTicks();
    } catch (error) {
      keepRest();
      throw error;
    }
  }

  #drainTicks(): void {
    for (let tick = this.#ticks.shift(); tick !== undefined; tick = this.#ticks.shift()) tick();
  }
}
