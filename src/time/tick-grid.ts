/**
 * The grid of ticks: tick k (0, 1, 2, ...) stands at `startMs + k * tickMs`, computed in doubles.
 *
 * Contract: `firstTick` and `lastTick` are exact with respect to `timeOf`, whatever a quotient rounds to, so a timer
 * filed under `firstTick(deadline)` and released at `lastTick(now)` can never be early: the tick between them has
 * deadline <= timeOf(tick) <= now. Ticks go up to 2^53, the last integer a double counts to one by one.
 */
import { numberIn } from '../base/assert.ts';

/** The last tick of the grid; what lies beyond counts as never. */
export const LAST_TICK = 2 ** 53;

/** Node cannot wake more often than once per millisecond; a day per tick is far beyond any use. */
const TICK_MS_MIN = 1;
const TICK_MS_MAX = 86_400_000;

/** Converts between milliseconds and ticks. */
export class TickGrid {
  readonly startMs: number;
  readonly tickMs: number;
  /** Multiplying is several times cheaper than dividing, and what it rounds wrongly is put right below. */
  readonly #ticksPerMs: number;

  /** `tickMs` in 1..86 400 000, fractions allowed; `startMs` in -2^53..2^53. RangeError outside. */
  constructor(startMs: number, tickMs: number) {
    this.startMs = numberIn('startMs', startMs, -LAST_TICK, LAST_TICK);
    this.tickMs = numberIn('tickMs', tickMs, TICK_MS_MIN, TICK_MS_MAX);
    this.#ticksPerMs = 1 / tickMs;
  }

  /** Time of a tick in ms. */
  timeOf(tick: number): number {
    return this.startMs + tick * this.tickMs;
  }

  /** First tick at or after `deadlineMs`: 0 for anything before the start, Infinity beyond the last tick. */
  firstTick(deadlineMs: number): number {
    const { startMs, tickMs } = this;
    const tick = Math.ceil((deadlineMs - startMs) * this.#ticksPerMs);
    // Nearly always right at once; apart from the rest, so that this much is inlined where timers are armed.
    if (
      tick > 0 &&
      tick < LAST_TICK &&
      startMs + tick * tickMs >= deadlineMs &&
      startMs + (tick - 1) * tickMs < deadlineMs
    )
      return tick;
    return this.#correctedFirstTick(tick, deadlineMs);
  }

  #correctedFirstTick(tick: number, deadlineMs: number): number {
    if (tick < 0) return 0;
    if (tick > LAST_TICK) return Number.POSITIVE_INFINITY;
    while (this.timeOf(tick) < deadlineMs) {
      if (tick === LAST_TICK) return Number.POSITIVE_INFINITY;
      tick++;
    }
    while (tick > 0 && this.timeOf(tick - 1) >= deadlineMs) tick--;
    return tick;
  }

  /** Last tick at or before `nowMs`, within 0..2^53. */
  lastTick(nowMs: number): number {
    const { startMs, tickMs } = this;
    let tick = Math.min(Math.max(Math.floor((nowMs - startMs) * this.#ticksPerMs), 0), LAST_TICK);
    while (tick > 0 && startMs + tick * tickMs > nowMs) tick--;
    while (tick < LAST_TICK && startMs + (tick + 1) * tickMs <= nowMs) tick++;
    return tick;
  }
}
