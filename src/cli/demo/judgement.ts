/**
 * Was each verdict right, and in time? By silence: never before the limit D, and not later than detectionTimeMs + one
 * tick; a process that ran 100 ms late or more gives grace, and promises detectionBoundMs instead. By an event (reset,
 * FIN, garbage, GOAWAY): within 100 ms. This process plays both ends, so what its own event loop was late by at most
 * is added to each upper bound, and shown.
 */
import type { Peer } from './peer.ts';
import type { Kind } from './scenario.ts';

export const TICK_MS = 10;
const AT_ONCE_MS = 100;
/** From here on a process counts as late (spec/HB1.md, own lateness). */
const LATE_MS = 100;

export interface Row {
  readonly kind: Kind;
  readonly links: number;
  /** Links that went as expected. */
  readonly right: number;
  /** What was seen, most frequent first: `dead link-dead`, `up`. */
  readonly seen: string;
  /** Time from the blow to the end, ms; NaN where nothing was to end. */
  readonly minAfterMs: number;
  readonly maxAfterMs: number;
  /** The silence at the verdict, ms; NaN where silence did not judge. */
  readonly maxSilentMs: number;
  /** What the greatest of them was allowed to be, ms; NaN where nothing was to end. */
  readonly boundMs: number;
}

/** One row for a kind. `ownLagMs`: the most this process was late. */
export function judgeKind(kind: Kind, peers: readonly Peer[], ownLagMs: number): Row {
  const ends = peers.flatMap((peer) => (peer.afterMs === undefined ? [] : [peer.afterMs]));
  const silences = peers.flatMap((peer) => (peer.verdict === undefined ? [] : [peer.verdict.silentMs]));
  const counts = new Map<string, number>();
  for (const peer of peers) counts.set(seenOf(peer), (counts.get(seenOf(peer)) ?? 0) + 1);
  const seen = [...counts].sort((a, b) => b[1] - a[1]);
  return {
    kind,
    links: peers.length,
    right: peers.filter((peer) => isRight(peer, ownLagMs)).length,
    seen: seen.map(([what, count]) => (seen.length > 1 ? `${count} ${what}` : what)).join(', '),
    minAfterMs: kind.ends === undefined ? Number.NaN : least(ends),
    maxAfterMs: kind.ends === undefined ? Number.NaN : greatest(ends),
    maxSilentMs: kind.by === 'silence' ? greatest(silences) : Number.NaN,
    boundMs: kind.ends === undefined ? Number.NaN : greatest(peers.map((peer) => boundOf(peer, ownLagMs))),
  };
}

/** Did this link go the way its kind should, in time? */
export function isRight(peer: Peer, ownLagMs: number): boolean {
  const { kind, ended, verdict, afterMs } = peer;
  if (kind.ends === undefined)
    return ended === undefined && (!kind.recovers || (peer.suspected && peer.recovered));
  if (!isCauseRight(peer) || afterMs === undefined) return false;
  if (kind.by === 'event') return verdict === undefined && afterMs <= boundOf(peer, ownLagMs);
  return (
    verdict !== undefined &&
    verdict.silentMs >= verdict.limitMs &&
    verdict.silentMs <= boundOf(peer, ownLagMs)
  );
}

/** The cause expected; as far as known, where the kernel tells nothing in time. */
function isCauseRight({ kind, ended, verdict }: Peer): boolean {
  if (ended?.cause === kind.ends) return true;
  const isBlind = verdict?.diagnosis?.confidence === 'guess';
  return isBlind && ended?.cause === kind.looksLike;
}

function boundOf({ kind, verdict }: Peer, ownLagMs: number): number {
  if (kind.by === 'event') return AT_ONCE_MS + ownLagMs;
  if (verdict === undefined) return Number.NaN;
  const { detectionTimeMs, detectionBoundMs } = verdict;
  return (ownLagMs < LATE_MS ? detectionTimeMs + TICK_MS : detectionBoundMs) + ownLagMs;
}

function seenOf({ ended, verdict, recovered }: Peer): string {
  if (ended === undefined) return recovered ? 'suspect, then up' : 'up';
  return `${verdict === undefined ? 'closed' : 'dead'}, ${ended.cause}`;
}

function least(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : Math.min(...values);
}

function greatest(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : Math.max(...values);
}
