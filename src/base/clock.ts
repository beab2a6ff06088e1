/**
 * Where time comes from. Everything below `net` takes `nowMs` as an argument; only this file and the scheduler
 * touch the real clock, so the same code runs under a virtual clock in tests and simulations.
 */
import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';

/** A monotonic clock: milliseconds, fractional, never going back, with an arbitrary origin. */
export interface Clock {
  now(): number;
  /** A clock that goes on while the machine sleeps, ms, any origin; absent: sleep is not told from a stall. */
  boot?(): number;
  /** `boot` is really the wall clock, whose steps look like sleep. */
  readonly bootIsWall?: boolean;
}

/**
 * The process's monotonic clock (CLOCK_MONOTONIC through `performance.now`), unaffected by wall-clock steps. On Linux
 * `os.uptime` is CLOCK_BOOTTIME; elsewhere only the wall clock goes on during sleep.
 */
export const monotonicClock: Clock = {
  now: () => performance.now(),
  boot: process.platform === 'linux' ? () => uptime() * 1_000 : () => Date.now(),
  bootIsWall: process.platform !== 'linux',
};
