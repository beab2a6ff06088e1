/**
 * What a client that was told to go owes the server: how long it stays away, and how fast it may be when it comes
 * back. Pure: chance is an argument.
 *
 * The wait is the time told, times U(1, 1.5): many clients told the same at once must not return at once. Five minutes
 * at most, whatever was told; a range that reaches beyond is cut there before the draw, so that only those told five
 * minutes and more return in step. Source: spec/HB1.md, enforcement.
 */
import type { Random } from '../base/random.ts';
import { MAX_INTERVAL_MS } from '../session/policy.ts';
import { GoAwayReason } from '../wire/constants.ts';

/** What the GOAWAY said. */
export interface Told {
  /** A GoAwayReason. */
  readonly reason: number;
  /** ms; 0: as you like, Infinity: do not return. */
  readonly retryAfterMs: number;
  /** The fastest the server is willing to receive, if it said so, ms. */
  readonly requiredMinRxMs?: number;
}

export interface ReturnPlan {
  /** How long to stay away from the moment it was told, ms. */
  readonly waitMs: number;
  /** Our interval from now on, ms: no shorter than before. */
  readonly intervalMs: number;
  /** The server does not want us back: a matter for people. */
  readonly alert: boolean;
}

export const MAX_RETURN_WAIT_MS = 300_000;
/** Longest wait in times told. */
const WAIT_SPREAD = 1.5;

/**
 * `intervalMs`: ours when we were told. `backoffMs`: how long we stay away when the server leaves that to us, spread
 * like the rest.
 */
export function planReturn(told: Told, intervalMs: number, backoffMs: number, random: Random): ReturnPlan {
  const awayMs = told.retryAfterMs === 0 ? backoffMs : told.retryAfterMs;
  const leastMs = Math.min(awayMs, MAX_RETURN_WAIT_MS);
  const mostMs = Math.min(WAIT_SPREAD * awayMs, MAX_RETURN_WAIT_MS);
  return {
    waitMs: leastMs + (mostMs - leastMs) * random.next(),
    intervalMs: told.reason === GoAwayReason.TooFast ? slower(intervalMs, told.requiredMinRxMs) : intervalMs,
    alert: told.retryAfterMs === Infinity,
  };
}

function slower(intervalMs: number, requiredMinRxMs = 0): number {
  return Math.min(Math.max(2 * intervalMs, requiredMinRxMs), MAX_INTERVAL_MS);
}
