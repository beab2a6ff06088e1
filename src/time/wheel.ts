/**
 * A hierarchical timer wheel as a pure structure: time is an argument, nothing here reads a clock.
 *
 * Four levels of 256 slots. A timer lies at the level of the highest byte in which its tick differs from the
 * current tick, in the slot that byte names. So everything in level 0 is due before everything in level 1, and so
 * on: the lowest occupied slot is always the next one to open. Five more lists hold what is no slot's: `ready`
 * (armed for a time already reached), `firing` (a detached slot being run), `far` (2^32 ticks ahead and more),
 * `parked` (never).
 *
 * Cost: arm, rearm, cancel O(1); a timer changes level at most four times in its life; `advance` takes time for
 * timers and occupied slots, not for ticks passed. 20 bytes of typed arrays per timer, and a payload reference.
 * Nothing is allocated but on growth, for errors, and for boxing handles above 2^31 (a place reused 128 times).
 * Caveats: memory grows by doubling and never shrinks; a handle's generation repeats after 2^29 uses of one place.
 * Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987.
 */
import { functionOf, integerIn, knownKeys, numberIn } from '../base/assert.ts';
import { rangeError, typeError, WirebeatError } from '../base/errors.ts';
import { SLOT_COUNT, SlotBitmap } from './slot-bitmap.ts';
import { TickGrid } from './tick-grid.ts';
import { TimerStore } from './timer-store.ts';

/** Names one arming place and its generation: generation * 2^24 + place. Never 0. A stale one is a no-op. */
export type TimerHandle = number;

/** What a wheel can be told. */
export interface TimerWheelOptions<T> {
  /** Resolution in ms, 1..86 400 000. */
  tickMs?: number;
  /** Time of tick 0 in ms; earlier times count as this one. */
  startMs?: number;
  /** Timers held at most, 1..2^23; one more throws HB_ERR_TIMER_LIMIT. */
  maxTimers?: number;
  /** Called for each timer as it fires, with the deadline it was armed for. */
  onExpire(payload: T, deadlineMs: number): void;
  /** Takes what `onExpire` throws. Absent: `advance` throws it after the batch. */
  onError?(error: unknown): void;
}

/**
 * `tickMs` 10: a tenth of the shortest heartbeat interval. `maxTimers` 2^22: four million timers are 120 MB, more
 * than the sockets of any one process, so reaching it means a leak.
 */
export const TIMER_WHEEL_DEFAULTS = Object.freeze({ tickMs: 10, startMs: 0, maxTimers: 2 ** 22 });

/** The head of slot s is place s itself; these are the other heads. */
const READY = SLOT_COUNT;
const FIRING = SLOT_COUNT + 1;
const FAR = SLOT_COUNT + 2;
const PARKED = SLOT_COUNT + 3;
const HEADS = SLOT_COUNT + 4;

const OPTION_NAMES = ['tickMs', 'startMs', 'maxTimers', 'onExpire', 'onError'] as const;

/**
 * Timers by the million, each armed for a deadline in ms and fired by `advance`.
 *
 * A timer fires once, on the first tick at or after its deadline, in order of ticks and, within a tick, in order of
 * arming. One `advance` fires a timer at most once: what is armed for a time already reached, from inside a
 * callback or outside, waits for the next `advance`. While its own callback runs a timer is no longer pending
 * (`size` has dropped, `cancel` is false), but `rearm` brings it back under the same handle, so that one timer can
 * serve for a connection's whole life. If the callback does not, the handle is dead when it returns.
 */
export class TimerWheel<T> {
  readonly #grid: TickGrid;
  readonly #store: TimerStore<T>;
  readonly #maxTimers: number;
  readonly #onExpire: (payload: T, deadlineMs: number) => void;
  readonly #onError: ((error: unknown) => void) | undefined;

  readonly #occupied = new SlotBitmap();
  #size = 0;
  /** The tick the slots are laid out around: each timer in a slot or in `far` lies after it. */
  #tick = 0;
  /** The same in two parts: its multiple of 2^32, and the low 32 bits as a signed integer. */
  #turnTick = 0;
  #lowTick = 0;
  /** The latest tick `advance` was told of; ahead of `#tick` while firing and after a limit. */
  #reachedTick = 0;
  /** No timer in `far` lies before this multiple of 2^32. */
  #farFromTick = Number.POSITIVE_INFINITY;
  /** Tick of the earliest timer in slots and `far`; NaN when it must be looked for. */
  #earliestTick = Number.POSITIVE_INFINITY;
  #readyInOrder = true;
  #advancing = false;
  #errors: unknown[] = [];

  /** TypeError and RangeError name the option that is wrong. */
  constructor(options: TimerWheelOptions<T>) {
    knownKeys('options', options, OPTION_NAMES);
    const { tickMs, startMs, maxTimers } = { ...TIMER_WHEEL_DEFAULTS, ...options };
    this.#grid = new TickGrid(startMs, tickMs);
    this.#maxTimers = integerIn('maxTimers', maxTimers, 1, 2 ** 23);
    this.#onExpire = functionOf('onExpire', options.onExpire);
    this.#onError = options.onError === undefined ? undefined : functionOf('onError', options.onError);
    // One place more than timers: the one whose callback runs keeps its place but is not counted.
    this.#store = new TimerStore(HEADS, maxTimers + 1);
  }

  /** Timers pending, those armed for Infinity included. */
  get size(): number {
    return this.#size;
  }

  /** Memory held in bytes, payload references (8 each) not counted. It doubles when full and never shrinks. */
  get arrayBytes(): number {
    return this.#store.arrayBytes;
  }

  /**
   * Arm a timer. A deadline already reached fires at the next `advance`; Infinity, or more than 2^53 ticks ahead,
   * never. RangeError for NaN, TypeError for no number, WirebeatError HB_ERR_TIMER_LIMIT beyond `maxTimers`.
   */
  arm(deadlineMs: number, payload: T): TimerHandle {
    if (typeof deadlineMs !== 'number' || Number.isNaN(deadlineMs)) refuseDeadline(deadlineMs);
    if (this.#size >= this.#maxTimers) refuseMore(this.#maxTimers);
    const store = this.#store;
    const place = store.take(payload);
    store.deadlines[place] = deadlineMs;
    this.#file(place);
    return store.handleOf(place);
  }

  /**
   * Move a pending timer, or the one whose callback is running, to another deadline; payload and handle stay.
   * False and nothing done for a stale handle. Errors as for `arm`.
   */
  rearm(handle: TimerHandle, deadlineMs: number): boolean {
    if (typeof deadlineMs !== 'number' || Number.isNaN(deadlineMs)) refuseDeadline(deadlineMs);
    const store = this.#store;
    const place = store.placeOf(handle);
    if (place === 0) return false;
    if (!store.isRunning(place)) this.#withdraw(place);
    else if (this.#size >= this.#maxTimers) refuseMore(this.#maxTimers);
    store.deadlines[place] = deadlineMs;
    this.#file(place);
    return true;
  }

  /**
   * As `rearm`, for a deadline that moves later again and again: one number is written, and the timer moves only when
   * the place where it lies comes up. It fires when it should, but among others of its tick in no promised order, and
   * until then `nextDueMs` may still count with its earlier deadline.
   */
  postpone(handle: TimerHandle, deadlineMs: number): boolean {
    const store = this.#store;
    const place = store.placeOf(handle);
    // Written so that NaN goes the long way too.
    if (place === 0 || store.isRunning(place) || !(deadlineMs >= store.deadlines[place]!))
      return this.rearm(handle, deadlineMs);
    store.deadlines[place] = deadlineMs;
    return true;
  }

  /** Drop a pending timer. False when it is not pending: fired, firing, cancelled, or never armed. */
  cancel(handle: TimerHandle): boolean {
    const place = this.#store.placeOf(handle);
    if (place === 0 || this.#store.isRunning(place)) return false;
    this.#withdraw(place);
    this.#store.release(place);
    return true;
  }

  /**
   * Fire what is due at `nowMs`, at most `limit` timers, and return how many. The rest stays and comes first next
   * time. A time earlier than the latest seen counts as the latest. A callback that throws stops nothing; without
   * `onError` its error is thrown afterwards, several as one AggregateError. Error when called from a callback.
   */
  advance(nowMs: number, limit: number = Number.POSITIVE_INFINITY): number {
    numberIn('nowMs', nowMs, -Number.MAX_VALUE, Number.MAX_VALUE);
    if (limit !== Number.POSITIVE_INFINITY) integerIn('limit', limit, 0, Number.MAX_SAFE_INTEGER);
    if (this.#advancing) throw new Error('advance must not be called from inside a timer callback');
    this.#advancing = true;
    this.#reachedTick = Math.max(this.#reachedTick, this.#grid.lastTick(nowMs));
    this.#takeReady();
    let fired = this.#fire(limit);
    while (fired < limit) {
      const tick = this.#nextOpening();
      if (tick > this.#reachedTick) {
        this.#moveTo(this.#reachedTick);
        break;
      }
      this.#open(tick);
      fired += this.#fire(limit - fired);
    }
    this.#advancing = false;
    if (this.#errors.length > 0) this.#throwErrors();
    return fired;
  }

  /**
   * The earliest `nowMs` at which `advance` would fire something; at or before the latest `nowMs` seen when timers
   * wait that are due already; Infinity when none will fire. Constant time, except that after a slot was opened or
   * the earliest timer withdrawn, the first call may walk over one slot to find the earliest.
   */
  nextDueMs(): number {
    if (!this.#store.isEmpty(FIRING) || !this.#store.isEmpty(READY)) return this.#grid.timeOf(this.#tick);
    if (Number.isNaN(this.#earliestTick)) this.#earliestTick = this.#findEarliestTick();
    return this.#grid.timeOf(this.#earliestTick);
  }

  /** Count a timer in and put it where its deadline belongs. */
  #file(place: number): void {
    this.#size++;
    const store = this.#store;
    const { deadlines } = store;
    const tick = this.#grid.firstTick(deadlines[place]!);
    if (tick > this.#reachedTick) {
      if (tick < this.#earliestTick) this.#earliestTick = tick; // stays NaN when unknown
      this.#lay(place, tick);
      return;
    }
    const last = store.last(READY);
    if (last !== READY && deadlines[place]! < deadlines[last]!) this.#readyInOrder = false;
    store.append(READY, place);
  }

  /** Put a timer into the list for its tick, which is after the current one. */
  #lay(place: number, tick: number): void {
    const ahead = tick - this.#turnTick;
    if (ahead >= 2 ** 32) {
      this.#layBeyondSlots(place, tick);
      return;
    }
    const low = ahead | 0; // all 32 bits; the sign does not matter to what follows
    const shift = (31 - Math.clz32(low ^ this.#lowTick)) & 24; // 8 times the number of the highest byte that differs
    const slot = (shift << 5) + ((low >>> shift) & 255);
    if (this.#store.append(slot, place)) this.#occupied.add(slot);
  }

  #layBeyondSlots(place: number, tick: number): void {
    if (tick === Number.POSITIVE_INFINITY) {
      this.#store.append(PARKED, place);
      return;
    }
    this.#farFromTick = Math.min(this.#farFromTick, tick - (tick >>> 0));
    this.#store.append(FAR, place);
  }

  /** Count a pending timer out again and take it off its list. */
  #withdraw(place: number): void {
    this.#size--;
    const store = this.#store;
    const emptied = store.unlink(place);
    if (emptied >= 0 && emptied < SLOT_COUNT) this.#occupied.remove(emptied);
    // A postponed timer lies before its deadline: what it was the earliest of shows only when that is empty.
    if (emptied >= 0 || store.deadlines[place]! <= this.#grid.timeOf(this.#earliestTick))
      this.#earliestTick = Number.NaN;
  }

  /** The next tick at which a slot, or `far`, must be opened. */
  #nextOpening(): number {
    const slot = this.#occupied.first();
    if (slot < 0) return this.#farFromTick;
    const slotTicks = 2 ** ((slot >>> 8) * 8);
    const turnTicks = slotTicks * 256;
    return Math.floor(this.#tick / turnTicks) * turnTicks + (slot & 255) * slotTicks;
  }

  #moveTo(tick: number): void {
    this.#tick = tick;
    // Both are exact: bit operators take integers up to 2^53 modulo 2^32.
    this.#turnTick = tick - (tick >>> 0);
    this.#lowTick = tick | 0;
  }

  /** Move to the tick of the next opening and take out the slot (or `far`) that opens there. */
  #open(tick: number): void {
    this.#moveTo(tick);
    this.#earliestTick = Number.NaN;
    const slot = this.#occupied.first();
    if (slot < 0) {
      this.#farFromTick = Number.POSITIVE_INFINITY;
      this.#layAgain(FAR);
      return;
    }
    this.#occupied.remove(slot);
    if (slot < 256) this.#store.moveAll(slot, FIRING);
    else this.#layAgain(slot);
  }

  /** Deal a whole list out anew as seen from the current tick: what is due goes to `firing`, in order. */
  #layAgain(head: number): void {
    const store = this.#store;
    const { deadlines } = store;
    let place = store.detach(head);
    while (place !== head) {
      const following = store.after(place);
      const tick = this.#grid.firstTick(deadlines[place]!);
      if (tick <= this.#tick) this.#store.append(FIRING, place);
      else this.#lay(place, tick);
      place = following;
    }
  }

  /** Release `ready`, by deadline; sorting is for the rare case that it is not in order already. */
  #takeReady(): void {
    if (this.#store.isEmpty(READY)) return;
    if (!this.#readyInOrder) this.#store.sort(READY);
    this.#readyInOrder = true;
    this.#earliestTick = Number.NaN;
    this.#layAgain(READY);
  }

  /** Run the timers in `firing`, at most `limit`. Callbacks may grow the arrays: none is kept across a call. */
  #fire(limit: number): number {
    const store = this.#store;
    const reachedMs = this.#grid.timeOf(this.#tick);
    let fired = 0;
    for (let place = store.after(FIRING); place !== FIRING && fired < limit; place = store.after(FIRING)) {
      store.unlink(place);
      if (store.deadlines[place]! > reachedMs) {
        this.#lay(place, this.#grid.firstTick(store.deadlines[place]!)); // postponed
        continue;
      }
      store.run(place);
      this.#size--;
      fired++;
      try {
        this.#onExpire(store.payloadOf(place), store.deadlines[place]!);
      } catch (error) {
        this.#report(error);
      }
      if (store.isRunning(place)) store.release(place);
    }
    return fired;
  }

  #report(error: unknown): void {
    try {
      if (this.#onError === undefined) this.#errors.push(error);
      else this.#onError(error);
    } catch (second) {
      this.#errors.push(second);
    }
  }

  #throwErrors(): never {
    const errors = this.#errors;
    this.#errors = [];
    if (errors.length === 1) throw errors[0];
    throw new AggregateError(errors, `${errors.length} timer callbacks threw`);
  }

  #findEarliestTick(): number {
    const slot = this.#occupied.first();
    if (slot >= 0 && slot < 256) return this.#nextOpening();
    const store = this.#store;
    const head = slot < 0 ? FAR : slot;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (let place = store.after(head); place !== head; place = store.after(place))
      earliestMs = Math.min(earliestMs, store.deadlines[place]!);
    const earliestTick = this.#grid.firstTick(earliestMs);
    // All of a slot may be postponed beyond it, and beyond what lies in the next one.
    return slot < 0
      ? earliestTick
      : Math.min(earliestTick, this.#nextOpening() + 2 ** ((slot >>> 8) * 8) - 1);
  }
}

function refuseDeadline(deadlineMs: unknown): never {
  if (typeof deadlineMs !== 'number') throw typeError('deadlineMs', 'a number', deadlineMs);
  throw rangeError('deadlineMs', 'a time in ms or Infinity', deadlineMs);
}

function refuseMore(maxTimers: number): never {
  throw new WirebeatError('HB_ERR_TIMER_LIMIT', `the wheel holds maxTimers = ${maxTimers} timers already`);
}
