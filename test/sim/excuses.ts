/**
 * Which deaths are allowed: what the published limits promise, put as arithmetic over a plan.
 *
 * A *disruption* of an observer is a stretch in which its peer cannot be heard although both are there: loss on the
 * way, a peer that does not run, an open host frame. Own stalls, own pauses, sleep of the own machine and steps of
 * the wall clock are none: they must never kill. Disruptions less than two detection times apart add up. A link must
 * live as long as the sum leaves room for one interval, one round trip and the jitter within D; beyond that it may
 * die, and if the silence lasts it must.
 */
import { INITIAL_RTO_MS } from '../../src/session/rtt.ts';
import type { ConnectionPlan, FaultPlan, Plan, Side } from './plan.ts';
import { extremesOf } from './rates.ts';

interface Disruption {
  readonly fromMs: number;
  readonly forMs: number;
}

/** Rounding to ticks and to whole ms on the way there and back. */
const SLACK_MS = 30;

/** A sleep up to this is not told from a busy moment. */
const LEAST_SLEEP_MS = 2_000;

/** What keeps a process from running for a time. */
const STANDSTILLS: ReadonlySet<string> = new Set(['stall', 'thrash', 'thrash-long', 'freeze', 'suspend']);

/** Does the peer that `side` observes send of its own accord, or does it only answer? */
function onlyAnswers(connection: ConnectionPlan, side: Side): boolean {
  // Until they have agreed, whoever is slower than the other expects is judged by its answers.
  if (connection.negotiation !== undefined) return true;
  // Nobody told the other that one missed interval is death here: its beats may be a whole one and the jitter apart.
  const { deadAfter, farDeadAfter } = connection;
  const [judged, known] = side === 'near' ? [deadAfter, farDeadAfter] : [farDeadAfter, deadAfter];
  if (judged === 1 && known > 1) return true;
  return side === 'near' && connection.peer !== 'full';
}

function byFault(plan: Plan, fault: FaultPlan, index: number, side: Side): number {
  const { kind } = fault;
  const connection = plan.connections[index] as ConnectionPlan;
  const struck = plan.connections[fault.connection] as ConnectionPlan;
  // The last of several stalls begins before the end and goes on after it.
  const forMs = fault.forMs + (kind.startsWith('thrash') ? 1.5 * struck.intervalMs : 0);
  const answersOnly = onlyAnswers(connection, side);
  if (STANDSTILLS.has(kind) || kind === 'kill' || kind === 'power-off') {
    // The near process serves all connections, each far process its own.
    if (fault.side === side || (fault.side === 'far' && fault.connection !== index)) return 0;
    return kind === 'kill' || kind === 'power-off' ? Number.POSITIVE_INFINITY : forMs;
  }
  if (fault.connection !== index) return 0;
  const towards = side === 'near' ? 'lose-back' : 'lose-there';
  if (kind === 'black-hole' || kind === towards) return forMs;
  if (kind === 'lose-there' || kind === 'lose-back') return answersOnly ? forMs : 0;
  if (kind === 'reset') return Number.POSITIVE_INFINITY;
  if (kind === 'damage-back') {
    // For near it is a frame or an answer; for far a question of its own, which counts until the other has spoken.
    const { mostIntervalMs } = extremesOf(connection, side);
    return side === 'near' || answersOnly || fault.atMs < mostIntervalMs ? 1.1 * mostIntervalMs : 0;
  }
  if (kind === 'pause') return fault.side !== side && answersOnly ? forMs : 0;
  return 0;
}

/** After a standstill of our own a link is asked once, within the grace: that answer may be the damaged one. */
function damageInGrace(plan: Plan, { atMs }: FaultPlan, index: number, side: Side): Disruption[] {
  const { longestDeadMs: forMs } = extremesOf(plan.connections[index] as ConnectionPlan, side);
  return plan.faults
    .filter(({ kind, side: struck }) => struck === side && STANDSTILLS.has(kind))
    .map((fault) => ({ startMs: fault.atMs, fromMs: fault.atMs + fault.forMs }))
    .filter(({ startMs, fromMs }) => startMs - forMs <= atMs && atMs <= fromMs)
    .map(({ fromMs }) => ({ fromMs, forMs }));
}

function disruptionsOf(plan: Plan, index: number, side: Side, forgottenMs: number): Disruption[] {
  const connection = plan.connections[index] as ConnectionPlan;
  const found: Disruption[] = [];
  for (const fault of plan.faults) {
    const forMs = byFault(plan, fault, index, side);
    if (forMs > 0) found.push({ fromMs: fault.atMs, forMs });
    if (forMs > 0 && fault.kind === 'damage-back') found.push(...damageInGrace(plan, fault, index, side));
  }
  for (const traffic of connection.traffic) {
    const frames = (traffic.untilMs - traffic.fromMs) / traffic.everyMs + 1;
    const concerns = traffic.by !== side || onlyAnswers(connection, side);
    const buffers = Math.ceil((frames * traffic.bytes) / connection.bufferBytes);
    // What we write ourselves stands in front of our question.
    const queueMs = traffic.by === side && buffers > 1 ? buffers * connection.rttMs : 0;
    const forMs = Math.max(traffic.openMs, queueMs);
    if (concerns && forMs > 0)
      found.push({ fromMs: traffic.fromMs, forMs: forMs + traffic.untilMs - traffic.fromMs });
  }
  if (forgottenMs < Number.POSITIVE_INFINITY)
    found.push({ fromMs: forgottenMs, forMs: Number.POSITIVE_INFINITY });
  return found.sort((a, b) => a.fromMs - b.fromMs);
}

/** May `side` of this connection declare the other dead at `atMs`? */
export function mayDie(plan: Plan, index: number, side: Side, atMs: number, forgottenMs: number): boolean {
  const connection = plan.connections[index] as ConnectionPlan;
  if (connection.peer === 'swallow') return true;
  const { leastIntervalMs, leastMultiplier, longestDeadMs: deadMs } = extremesOf(connection, side);
  // Host bytes may come before our first question; then a single miss leaves its answer no more than the first RTO.
  const isFirst = atMs < 2 * deadMs + connection.rttMs;
  if (leastMultiplier === 1 && isFirst && connection.rttMs > INITIAL_RTO_MS) return true;
  const room =
    (leastMultiplier - 1) * leastIntervalMs - connection.rttMs - 2 * connection.jitterMs - SLACK_MS;
  let sumMs = 0;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, forMs } of disruptionsOf(plan, index, side, forgottenMs)) {
    if (fromMs >= atMs) break;
    if (fromMs - endMs > 2 * deadMs) sumMs = 0;
    sumMs += forMs;
    endMs = Math.max(endMs, fromMs + forMs + connection.rttMs);
  }
  return atMs - endMs <= 2 * deadMs && sumMs > room;
}

/** Does the machine of `side` sleep, but too shortly to notice? What came in meanwhile is a bunch no clock explains. */
export function mayBunch(plan: Plan, index: number, side: Side): boolean {
  return plan.faults.some(
    ({ kind, side: struck, connection, forMs }) =>
      kind === 'suspend' &&
      struck === side &&
      (side === 'near' || connection === index) &&
      forMs <= LEAST_SLEEP_MS,
  );
}
