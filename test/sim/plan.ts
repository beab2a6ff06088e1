/**
 * What a history is made of: one process that watches (`near`), connections from it to processes of their own, host
 * traffic, and faults with their times. Plain data, so that a failing one can be printed, cut down and run again.
 */

import type { NegotiationPlan } from './rates.ts';

/** full: a link of ours; responder: a link that only answers; bare: answers and nothing else; the rest: no peer. */
export type PeerKind = 'full' | 'responder' | 'bare' | 'repeater' | 'swallow';
export type Side = 'near' | 'far';

export interface TrafficPlan {
  readonly by: Side;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly everyMs: number;
  /** Payload of each host frame. */
  readonly bytes: number;
  /** The frame is written in two pieces, this far apart; 0: whole. */
  readonly openMs: number;
}

export interface ConnectionPlan {
  readonly intervalMs: number;
  readonly deadAfter: number;
  /** Multiplier at the far end, where that is a full link. */
  readonly farDeadAfter: number;
  readonly peer: PeerKind;
  readonly isShared: boolean;
  readonly ask: 'when-silent' | 'always';
  readonly nearPhase: number;
  readonly farPhase: number;
  readonly rttMs: number;
  readonly jitterMs: number;
  readonly bytesPerSecond: number;
  readonly bufferBytes: number;
  /** Both ends are given their input in random small pieces. */
  readonly isSplit: boolean;
  readonly natIdleMs: number;
  readonly traffic: readonly TrafficPlan[];
  /** The near end negotiates; only with a full peer. */
  readonly negotiation?: NegotiationPlan;
}

export type FaultKind =
  | 'lose-there'
  | 'lose-back'
  | 'black-hole'
  | 'stall'
  /** The loop is blocked for 0.6 of every interval; or for longer than one, again and again. */
  | 'thrash'
  | 'thrash-long'
  | 'freeze'
  | 'suspend'
  | 'wall-step'
  | 'kill'
  | 'power-off'
  | 'reset'
  | 'damage-back'
  | 'pause'
  | 'degrade'
  | 'leave';

export interface FaultPlan {
  readonly kind: FaultKind;
  readonly atMs: number;
  /** How long it lasts; Infinity: for ever. */
  readonly forMs: number;
  readonly connection: number;
  /** Whose process, or whose link. */
  readonly side: Side;
}

export interface Plan {
  readonly seed: number;
  readonly lengthMs: number;
  readonly connections: readonly ConnectionPlan[];
  readonly faults: readonly FaultPlan[];
}

/** A plan in lines for people. */
export function describePlan(plan: Plan): string {
  const lines = [`seed ${plan.seed}, ${plan.lengthMs} ms`];
  plan.connections.forEach((connection, index) => {
    const { traffic, negotiation, ...rest } = connection;
    lines.push(`  c${index} ${pairs(rest)}`);
    if (negotiation !== undefined) {
      const { changes, ...ends } = negotiation;
      lines.push(`    negotiates, ${pairs(ends)}`);
      for (const one of changes) lines.push(`    rates ${pairs(one)}`);
    }
    for (const one of traffic) lines.push(`    traffic ${pairs(one)}`);
  });
  for (const { kind, ...rest } of plan.faults) lines.push(`  fault ${kind} ${pairs(rest)}`);
  return lines.join('\n');
}

function pairs(values: object): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}
