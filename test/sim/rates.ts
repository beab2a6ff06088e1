/**
 * Connections whose ends agree on their rates and change them while they live: what may be wished for, and which
 * limits may therefore hold at some time. Knows the published rule (per direction the slower wish decides), and not
 * when the library lets it hold.
 */
import type { ConnectionPlan, Side } from './plan.ts';

/** What an end wishes for from `atMs` on. */
export interface RateChangePlan {
  readonly by: Side;
  readonly atMs: number;
  readonly desiredMinTxMs: number;
  readonly requiredMinRxMs: number;
  readonly detectMultiplier: number;
}

export interface NegotiationPlan {
  /** Does the far end negotiate too, or does it answer no POLL? */
  readonly far: 'too' | 'mute';
  readonly farIntervalMs: number;
  readonly changes: readonly RateChangePlan[];
}

/** An end that wishes for nothing else takes whatever is legal. */
const LEAST_REQUIRED_MS = 100;

export function intervalOf(connection: ConnectionPlan, side: Side): number {
  const { intervalMs, negotiation } = connection;
  return side === 'near' ? intervalMs : (negotiation?.farIntervalMs ?? intervalMs);
}

function multiplierOf(connection: ConnectionPlan, side: Side): number {
  return side === 'near' ? connection.deadAfter : connection.farDeadAfter;
}

function wishesOf(connection: ConnectionPlan, side: Side): Omit<RateChangePlan, 'by' | 'atMs'>[] {
  const first = {
    desiredMinTxMs: intervalOf(connection, side),
    requiredMinRxMs: LEAST_REQUIRED_MS,
    detectMultiplier: multiplierOf(connection, side),
  };
  return [first, ...(connection.negotiation?.changes ?? []).filter(({ by }) => by === side)];
}

export interface Extremes {
  readonly leastIntervalMs: number;
  readonly mostIntervalMs: number;
  readonly leastMultiplier: number;
  readonly longestDeadMs: number;
}

/** The limits by which `side` may judge the other end at one time or another. */
export function extremesOf(connection: ConnectionPlan, side: Side): Extremes {
  const own = multiplierOf(connection, side);
  const ownIntervalMs = intervalOf(connection, side);
  if (connection.negotiation === undefined) {
    const longestDeadMs = own * ownIntervalMs;
    return {
      leastIntervalMs: ownIntervalMs,
      mostIntervalMs: ownIntervalMs,
      leastMultiplier: own,
      longestDeadMs,
    };
  }
  const mine = wishesOf(connection, side);
  const peers = wishesOf(connection, side === 'near' ? 'far' : 'near');
  const intervals = mine.flatMap((my) =>
    peers.flatMap((peer) => [
      Math.max(peer.desiredMinTxMs, my.requiredMinRxMs),
      Math.max(my.desiredMinTxMs, peer.requiredMinRxMs), // as long as the peer has not spoken
    ]),
  );
  const multipliers = [own, ...peers.map(({ detectMultiplier }) => detectMultiplier)];
  const mostIntervalMs = Math.max(...intervals);
  return {
    leastIntervalMs: Math.min(...intervals),
    mostIntervalMs,
    leastMultiplier: Math.min(...multipliers),
    longestDeadMs: mostIntervalMs * Math.max(...multipliers),
  };
}
