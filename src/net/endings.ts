/** How links end that break a rule or a limit: cause, code and the clause for the log, worded in one place. */
import type { ClosedDetail } from './events.ts';

/** After which wait a peer that sent too many frames may return, ms. */
export const TOO_FAST_RETRY_MS = 30_000;

/** An echo service, not a peer. */
export const REFLECTED: ClosedDetail = Object.freeze({
  cause: 'protocol-error',
  code: 'HB_ERR_REFLECTED',
  reason: 'our own pings come back: an echo, no peer',
});

export function silentEnding(limitMs: number): ClosedDetail {
  return { cause: 'policy', code: 'HB_ERR_SILENT', reason: `nothing valid within ${limitMs} ms` };
}

export function frameRateEnding(framesPerSecond: number): ClosedDetail {
  return {
    cause: 'policy',
    code: 'HB_ERR_FRAME_RATE',
    reason: `more than ${framesPerSecond} heartbeats per second`,
  };
}

export function tooFastEnding(requiredMinRxMs: number): ClosedDetail {
  return {
    cause: 'policy',
    code: 'HB_ERR_TOO_FAST',
    reason: `faster than the agreed ${requiredMinRxMs} ms, after a reminder`,
  };
}

export function queueEnding(queuedBytes: number, limitBytes: number): ClosedDetail {
  return {
    cause: 'policy',
    code: 'HB_ERR_QUEUE_LIMIT',
    reason: `${queuedBytes} bytes queued for a peer that does not take them, limit ${limitBytes}`,
  };
}
