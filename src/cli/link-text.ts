/** Events of links as lines and as fields, the same words in every command that shows them. */
import type { ClosedDetail, DeadDetail, LeavingDetail, SuspectDetail } from '../net/events.ts';
import { formatDuration } from './durations.ts';
import { reasonName } from './words.ts';

export function suspectText({ silentMs, limitMs }: SuspectDetail): string {
  return `suspect: silent for ${formatDuration(silentMs)}, dead at ${formatDuration(limitMs)}`;
}

export function recoveredText({ silentMs }: { readonly silentMs: number }): string {
  return `recovered after ${formatDuration(silentMs)} of silence`;
}

export function deadText({ cause, silentMs, limitMs }: DeadDetail): string {
  return `dead (${cause}): silent for ${formatDuration(silentMs)}, limit ${formatDuration(limitMs)}`;
}

/** `closed (protocol-error): HB_ERR_RESYNC, more than 1024 bytes would be skipped at byte 7` */
export function closedText({ cause, code, reason }: ClosedDetail): string {
  // The system's own messages begin with their code, or nearly.
  const parts = code !== undefined && reason?.includes(code) ? [reason] : [code, reason];
  const why = parts.filter((part) => part !== undefined).join(', ');
  return why === '' ? `closed (${cause})` : `closed (${cause}): ${why}`;
}

export function leavingText({ by, reason, retryAfterMs }: LeavingDetail): string {
  const name = reasonName(reason) ?? `reason ${reason}`;
  const wait =
    retryAfterMs === 0
      ? ''
      : `, return ${retryAfterMs === Infinity ? 'never' : `after ${formatDuration(retryAfterMs)}`}`;
  return `GOAWAY from ${by === 'us' ? 'us' : 'the peer'}: ${name}${wait}`;
}
