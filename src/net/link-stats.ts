/** Numbers out of links: a snapshot of one, and sums over many. */
import type { SessionStats } from '../session/stats.ts';
import type { SocketLink } from './link.ts';
import type { LinkStats } from './types.ts';

/** The counters that add up over links. */
export const COUNTERS = [
  'framesSent',
  'framesReceived',
  'pingsSent',
  'pongsSent',
  'pongsMatched',
  'pongsUnmatched',
  'pongsCoalesced',
  'duplicates',
  'stale',
  'candidates',
  'skipped',
  'beatsLate',
  'probesSkipped',
  'suspicions',
  'killsAverted',
  'graces',
] as const satisfies readonly (keyof SessionStats)[];

export type CounterTotals = Record<(typeof COUNTERS)[number] | 'bytesReceived' | 'resyncBytes', number>;

export function emptyTotals(): CounterTotals {
  const counters = Object.fromEntries(COUNTERS.map((name) => [name, 0]));
  return { ...counters, bytesReceived: 0, resyncBytes: 0 } as CounterTotals;
}

export function addTo(totals: CounterTotals, link: SocketLink): void {
  const { stats } = link.session;
  for (const name of COUNTERS) totals[name] += stats[name];
  totals.bytesReceived += link.bytesReceived;
  totals.resyncBytes += link.resyncBytes;
}

export function linkStats(link: SocketLink, nowMs: number): LinkStats {
  const { session } = link;
  const { rtt } = session;
  const isMeasured = rtt.samples > 0;
  return {
    state: session.state,
    rttMs: isMeasured ? rtt.srttMs : Number.NaN,
    rttvarMs: isMeasured ? rtt.rttvarMs : Number.NaN,
    rttLatestMs: isMeasured ? rtt.latestMs : Number.NaN,
    rttMinMs: isMeasured ? rtt.minMs : Number.NaN,
    rttMaxMs: isMeasured ? rtt.maxMs : Number.NaN,
    jitterMs: session.jitter.jitterMs,
    silentMs: Math.max(0, nowMs - session.lastRxMs),
    quietMs: Math.max(0, nowMs - session.lastTxMs),
    unanswered: session.unanswered,
    negotiated: session.isAgreed,
    txIntervalMs: session.limits.txIntervalMs,
    rxIntervalMs: session.limits.rxIntervalMs,
    multiplier: session.limits.multiplier,
    peerDegraded: session.peerDegraded,
    peerLagMs: session.peerLagMs,
    business: session.business,
    phi: session.advice?.suspicion.phi(nowMs) ?? Number.NaN,
    bytesReceived: link.bytesReceived,
    resyncBytes: link.resyncBytes,
    ...session.stats,
  };
}
