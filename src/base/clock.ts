/**
 * Where time comes from. Everything below `net` takes `nowMs` as an argument; only this file and the scheduler
 * touch the real clock, so the same code runs under a virtual clock in tests and simulations.
 */
import { performance } from 'node:perf_hooks';

/** A monotonic clock: milliseconds, fractional, never going back, with an arbitrary origin. */
export interface Clock {
  now(): number;
}

/** The process's monotonic clock (CLOCK_MONOTONIC through `performance.now`), unaffected by wall-clock steps. */
export const monotonicClock: Clock = { now: () => performance.now() };
