/**
 * From one number a history: every choice comes from the seed. The ranges stay inside what is published (round trips
 * the protocol promises to survive), the faults go far beyond; what must be survived is decided elsewhere.
 */
import { type Random, seededRandom } from '../../src/base/random.ts';
import type { ConnectionPlan, FaultKind, FaultPlan, PeerKind, Plan, Side, TrafficPlan } from './plan.ts';
import type { RateChangePlan } from './rates.ts';

const INTERVALS_MS = [100, 200, 500, 1_000, 5_000, 15_000];
const MULTIPLIERS = [1, 2, 2, 3, 3, 3, 5];
const PEERS: readonly PeerKind[] = [
  'full',
  'full',
  'full',
  'bare',
  'bare',
  'responder',
  'repeater',
  'swallow',
];
/** What may befall a connection; a kind named twice is twice as likely. */
const FAULTS: readonly FaultKind[] = [
  'lose-there',
  'lose-back',
  'black-hole',
  'black-hole',
  'stall',
  'stall',
  'stall',
  'thrash',
  'thrash-long',
  'freeze',
  'suspend',
  'wall-step',
  'kill',
  'power-off',
  'reset',
  'damage-back',
  'pause',
  'pause',
  'degrade',
  'leave',
];

class Dice {
  readonly random: Random;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** A whole number in [min, max]. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.random.next() * (max - min + 1));
  }

  among<T>(things: readonly T[]): T {
    return things[this.whole(0, things.length - 1)] as T;
  }

  chance(share: number): boolean {
    return this.random.next() < share;
  }
}

export function generatePlan(seed: number): Plan {
  const dice = new Dice(seed);
  const baseMs = dice.among(INTERVALS_MS);
  const count = dice.chance(0.7) ? 1 : dice.whole(2, 3);
  const connections = Array.from({ length: count }, () => {
    const plan = connection(dice, baseMs);
    return dice.chance(0.06) ? farAnswerer(dice, plan) : plan;
  });
  const longestMs = Math.max(...connections.map(({ intervalMs, deadAfter }) => intervalMs * deadAfter));
  const lengthMs = longestMs * dice.whole(6, 14) + 2_000;
  const faults = Array.from({ length: dice.whole(0, 4) }, () => fault(dice, connections, lengthMs));
  for (const thrash of faults.filter(({ kind }) => kind.startsWith('thrash'))) {
    // A loop that stalls for ever matters most when somebody dies meanwhile.
    if (dice.chance(0.6)) faults.push({ ...thrash, kind: 'black-hole', forMs: Number.POSITIVE_INFINITY });
  }
  if (dice.chance(0.15)) faults.push(...nearMiss(dice, connections[0] as ConnectionPlan, lengthMs));
  faults.sort((a, b) => a.atMs - b.atMs);
  const withTraffic = connections.map((plan) => ({ ...plan, traffic: traffic(dice, plan, lengthMs) }));
  const agreeing = withTraffic.map((plan) =>
    plan.peer === 'full' && dice.chance(0.5) ? negotiating(dice, plan, lengthMs) : plan,
  );
  return { seed, lengthMs, connections: agreeing, faults };
}

/** Both ends have wishes, and change them, at times of their own and sometimes at the same. */
function negotiating(dice: Dice, plan: ConnectionPlan, lengthMs: number): ConnectionPlan {
  const { intervalMs } = plan;
  const anInterval = (): number => Math.max(100, intervalMs * dice.among([0.5, 1, 1, 2, 4, 10]));
  const far = dice.chance(0.85) ? 'too' : 'mute';
  const farIntervalMs = far === 'too' ? anInterval() : intervalMs;
  const instants = Array.from({ length: dice.whole(0, 3) }, () => dice.whole(0, Math.floor(lengthMs * 0.8)));
  const changes = instants.flatMap((atMs) => {
    const change = (by: Side, laterMs: number): RateChangePlan => ({
      by,
      atMs: atMs + laterMs,
      desiredMinTxMs: anInterval(),
      requiredMinRxMs: dice.chance(0.5) ? 100 : anInterval(),
      detectMultiplier: dice.among([2, 3, 3, 5]),
    });
    if (far === 'mute' || dice.chance(0.4)) return [change('near', 0)];
    if (dice.chance(0.4)) return [change('far', 0)];
    return [change('near', 0), change('far', dice.whole(0, 2 * plan.rttMs + 20))];
  });
  const shortestMs = Math.min(
    intervalMs,
    farIntervalMs,
    ...changes.map(({ desiredMinTxMs }) => desiredMinTxMs),
  );
  return {
    ...plan,
    deadAfter: Math.max(2, plan.deadAfter),
    farDeadAfter: Math.max(2, plan.farDeadAfter),
    rttMs: Math.min(plan.rttMs, Math.floor(0.4 * shortestMs)),
    jitterMs: Math.min(plan.jitterMs, Math.floor(0.05 * shortestMs)),
    negotiation: { far, farIntervalMs, changes },
  };
}

/** No retransmission time-out is longer than 60 s: a round trip beyond that is protected by D alone. */
const MOST_RTT_MS = 55_000;

function connection(dice: Dice, baseMs: number): ConnectionPlan {
  const intervalMs = baseMs * dice.among([1, 1, 2]);
  const deadAfter = dice.among(MULTIPLIERS);
  const peer = dice.among(PEERS);
  const farDeadAfter = dice.among(MULTIPLIERS);
  const least = peer === 'full' ? Math.min(deadAfter, farDeadAfter) : deadAfter;
  // One that speaks now and then, but keeps no interval, is asked late: its answer must fit into what is left of D.
  const mostIntervals = peer === 'repeater' ? 0.8 * (least - 1) : 0.9 * least;
  const mostRttMs = Math.min(Math.min(2.5, mostIntervals) * intervalMs, MOST_RTT_MS);
  const rttMs = Math.round(
    mostRttMs * dice.among([0, 0.01, 0.1, 0.3, 0.6, 1]) * (1 - 0.5 * dice.random.next()),
  );
  // A round trip that only its own measurement protects must be measurable: no jitter there.
  const isLong = rttMs > (least - 1) * intervalMs * 0.8;
  const isShared = dice.chance(0.5);
  return {
    intervalMs,
    deadAfter,
    farDeadAfter,
    peer,
    isShared,
    ask: dice.chance(0.2) ? 'always' : 'when-silent',
    nearPhase: dice.among([0, 0.999, dice.random.next(), dice.random.next()]),
    farPhase: dice.among([0, 0.999, dice.random.next(), dice.random.next()]),
    rttMs,
    jitterMs: isLong || dice.chance(0.5) ? 0 : Math.round(0.05 * intervalMs * dice.random.next()),
    bytesPerSecond: Number.POSITIVE_INFINITY,
    bufferBytes: dice.among([2 ** 12, 2 ** 14, 2 ** 18]),
    isSplit: dice.chance(0.3),
    natIdleMs: dice.chance(0.05) ? Math.round(intervalMs * dice.among([0.6, 2])) : Number.POSITIVE_INFINITY,
    traffic: [],
  };
}

/** A round trip longer than the interval, to a peer that only answers, on a link that is busy and falls idle. */
function farAnswerer(dice: Dice, plan: ConnectionPlan): ConnectionPlan {
  const rttMs = Math.round(plan.intervalMs * (1.1 + 0.6 * dice.random.next()));
  return { ...plan, peer: 'bare', deadAfter: 2, isShared: true, rttMs, jitterMs: 0, bufferBytes: 2 ** 18 };
}

function traffic(dice: Dice, plan: ConnectionPlan, lengthMs: number): TrafficPlan[] {
  if (!plan.isShared || plan.peer === 'swallow') return [];
  return Array.from({ length: dice.whole(0, 3) }, () => {
    const everyMs = Math.max(10, Math.round(plan.intervalMs * dice.among([0.1, 0.3, 1.2, 4])));
    const fromMs = dice.whole(0, Math.floor(lengthMs * 0.7));
    const openMs = dice.chance(0.3) ? Math.floor(plan.intervalMs * dice.among([0.05, 0.5, 2])) : 0;
    return {
      by: dice.among(['near', 'far'] as const),
      fromMs,
      untilMs: fromMs + everyMs * dice.whole(1, 12),
      everyMs,
      bytes: dice.among([0, 10, 500, 30_000]),
      openMs,
    };
  });
}

/** A silence that ends about when the verdict falls due, and a short stall of ours over both. */
function nearMiss(dice: Dice, plan: ConnectionPlan, lengthMs: number): FaultPlan[] {
  const { intervalMs, deadAfter } = plan;
  const atMs = dice.whole(0, Math.floor(lengthMs / 2));
  const forMs = Math.round((deadAfter - 0.5) * intervalMs);
  const stallMs = Math.round(0.45 * intervalMs);
  const common = { connection: 0, side: 'near' } as const;
  return [
    { ...common, kind: 'black-hole', atMs, forMs },
    { ...common, kind: 'stall', atMs: atMs + forMs - dice.whole(0, stallMs), forMs: stallMs },
  ];
}

function fault(dice: Dice, connections: readonly ConnectionPlan[], lengthMs: number): FaultPlan {
  const index = dice.whole(0, connections.length - 1);
  const { intervalMs, deadAfter } = connections[index] as ConnectionPlan;
  const kind = dice.among(FAULTS);
  const deadMs = intervalMs * deadAfter;
  const forMs = dice.among([
    0.2 * intervalMs,
    0.6 * intervalMs,
    0.5 * deadMs,
    1.5 * deadMs,
    4 * deadMs,
    Infinity,
  ]);
  const mayLast = !['stall', 'suspend', 'pause'].includes(kind);
  return {
    kind,
    atMs: dice.whole(0, Math.floor(lengthMs * 0.75)),
    forMs: mayLast || forMs < Infinity ? Math.round(forMs * (0.5 + 0.5 * dice.random.next())) : 3 * deadMs,
    connection: index,
    side: ['kill', 'power-off', 'freeze'].includes(kind) || dice.chance(0.4) ? 'far' : 'near',
  };
}
