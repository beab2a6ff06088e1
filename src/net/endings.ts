/** How links end that break a rule or a limit: cause, code and the clause for the log, worded in one place. */
import type { Session } from '../session/session.ts';
import type { Diagnosis } from './diagnosis/evidence.ts';
import type { Examined, Examiner } from './diagnosis/examiner.ts';
import type { ClosedDetail } from './events.ts';
import { textOfSocketError } from './socket-errors.ts';

/** After which wait a peer that sent too many frames may return, ms. */
export const TOO_FAST_RETRY_MS = 30_000;

/** An echo service, not a peer. */
export const REFLECTED: ClosedDetail = Object.freeze({
  cause: 'protocol-error',
  code: 'HB_ERR_REFLECTED',
  reason: 'our own pings come back: an echo, no peer',
});

/** A link, as far as its end needs it. */
interface Ended extends Examined {
  readonly session: Session;
}

/** After a GOAWAY of either side it no longer matters how the connection ends. */
function endingOf(link: Ended, examine: () => Diagnosis): ClosedDetail {
  const cause = link.session.departure.causeOfPeerClose;
  if (cause !== 'peer-closed') return { cause };
  const diagnosis = examine();
  return { cause: diagnosis.cause, diagnosis };
}

/** The stream has ended: after us, or by the peer. */
export function streamEnding(link: Ended, examiner: Examiner): ClosedDetail {
  if (link.socket.writableEnded) return { cause: 'local' };
  return endingOf(link, () => examiner.examine(link, 'ended'));
}

/** The socket failed. */
export function failureEnding(link: Ended, examiner: Examiner, error: NodeJS.ErrnoException): ClosedDetail {
  const { code } = error;
  const ending = endingOf(link, () => examiner.examine(link, 'failed', code));
  return { ...ending, reason: textOfSocketError(error), ...(code !== undefined && { code }) };
}

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
