/** Events of links as lines and as fields, the same words in every command that shows them. */
import type { ClosedDetail, DeadDetail, LeavingDetail, SuspectDetail } from '../net/events.ts';
import type { Link } from '../net/types.ts';
import { formatDuration } from './durations.ts';
import { reasonName } from './words.ts';

/** How long a silence may last at most, which is longer than `limitMs` while the round trip is long or unknown. */
type Detection = Pick<Link, 'detectionTimeMs'>;

export function suspectText({ silentMs }: SuspectDetail, { detectionTimeMs }: Detection): string {
  return `suspect: silent for ${formatDuration(silentMs)}, dead at ${formatDuration(detectionTimeMs)}`;
}

export function recoveredText({ silentMs }: { readonly silentMs: number }): string {
  return `recovered after ${formatDuration(silentMs)} of silence`;
}

export function deadText({ cause, silentMs }: DeadDetail, { detectionTimeMs }: Detection): string {
  return `dead (${cause}): silent for ${formatDuration(silentMs)}, limit ${formatDuration(detectionTimeMs)}`;
}

/** `closed (protocol-error): HB_ERR_RESYNC, more than 1024 bytes would be skipped at byte 7` */
export function closedText({ cause, code, reason }: ClosedDetail): string {
  // The system's own messages begin with their code, or nearly.
  const parts = code !== undefined && reason?.includes(code) ? [reason] : [code, reason];
  const why = parts.filter((part) => part !== undefined).join(', ');
  return why === '' ? `closed (${cause})` : `closed (${cause}): ${why}`;
}

/** The same, and of a failure the sentence that explains it. */
export function endText(detail: ClosedDetail): string {
  const text = closedText(detail);
  if (detail.diagnosis === undefined) return text;
  return `${text}${text.endsWith(')') ? ':' : '.'} ${detail.diagnosis.sentence}`;
}

export function leavingText({ by, reason, retryAfterMs }: LeavingDetail): string {
  const name = reasonName(reason) ?? `reason ${reason}`;
  const wait =
    retryAfterMs === 0
      ? ''
      : `, return ${retryAfterMs === Infinity ? 'never' : `after ${formatDuration(retryAfterMs)}`}`;
  return `GOAWAY from ${by === 'us' ? 'us' : 'the peer'}: ${name}${wait}`;
}
