/**
 * The hard cap on heartbeats received, before anything was agreed and whatever was agreed (spec/HB1.md, enforcement):
 * a token bucket whose level is one point in time, so that a link stores a single number.
 *
 * Each frame costs 1 000 / framesPerSecond ms of time gone by. A fresh link has two seconds' worth in hand. What is
 * not used adds up for a minute: when this process stalls that long, a legal peer's frames arrive all at once, and
 * that is our fault, not the peer's.
 */

/** A link begins with this much allowance, ms: 100 frames at the default of 50 per second. */
const BURST_MS = 2_000;
/** And may save up this much more, ms. */
const SAVED_MS = 60_000;

/** The level of a link that has received nothing. */
export function freshFrameLevel(nowMs: number): number {
  return nowMs - BURST_MS;
}

/** The level after one more frame; the frame was too many when it lies above `nowMs`. Pure; Infinity costs nothing. */
export function spendFrame(levelMs: number, nowMs: number, framesPerSecond: number): number {
  return Math.max(levelMs, nowMs - BURST_MS - SAVED_MS) + 1_000 / framesPerSecond;
}
