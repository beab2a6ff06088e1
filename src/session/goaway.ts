/** GOAWAY in the session's terms: reason, and how long the other side should stay away in ms. */
import { integerIn, numberIn } from '../base/assert.ts';
import { GoAwayReason, RETRY_AFTER_NEVER, RETRY_AFTER_OWN, RETRY_AFTER_UNIT_MS } from '../wire/constants.ts';
import { goAwayReason, goAwayRetryAfterUnits, makeGoAwayInfo } from '../wire/param.ts';

/** Longest retry-after that can be said; more is clamped to it. 6 553.4 s. */
const MAX_RETRY_AFTER_UNITS = RETRY_AFTER_NEVER - 1;

/** The GOAWAY_INFO word. `retryAfterMs`: 0 = own backoff, Infinity = do not return, else rounded up to 100 ms. */
export function goAwayWord(reason: number, retryAfterMs: number): number {
  integerIn('reason', reason, 0, 255);
  numberIn('retryAfterMs', retryAfterMs, 0, Infinity);
  if (retryAfterMs === Infinity) return makeGoAwayInfo(reason, RETRY_AFTER_NEVER);
  return makeGoAwayInfo(
    reason,
    Math.min(Math.ceil(retryAfterMs / RETRY_AFTER_UNIT_MS), MAX_RETRY_AFTER_UNITS),
  );
}

/** The wait a GOAWAY_INFO word asks for: 0 = own backoff, Infinity = do not return. */
export function goAwayRetryAfterMs(word: number): number {
  const units = goAwayRetryAfterUnits(word);
  if (units === RETRY_AFTER_OWN) return 0;
  return units === RETRY_AFTER_NEVER ? Infinity : units * RETRY_AFTER_UNIT_MS;
}

/** The reason a peer's GOAWAY_INFO word gives; one that is not assigned reads as none given. */
export function peerGoAwayReason(word: number): number {
  const reason = goAwayReason(word);
  return reason <= GoAwayReason.Version ? reason : GoAwayReason.Unspecified;
}
