/**
 * A million sessions on one wheel in virtual time: what a beat costs with everything in it (wheel, session, answer,
 * RTT), beside the same for fewer sessions, which share the processor's cache better. Peers answer at once; no
 * sockets. Heap per session is told on stderr. Every session must be up in the end and none dead, else the bench
 * throws: a fast wheel that loses beats is no news.
 */
import { seededRandom } from '../src/base/random.ts';
import {
  Lateness,
  NEEDS_POLL,
  Sent,
  type SentResult,
  Session,
  type SessionPolicy,
  type SessionPort,
  sessionPolicy,
} from '../src/session/index.ts';
import { Spread } from '../src/session/spread.ts';
import { type TimerHandle, TimerWheel } from '../src/time/index.ts';
import { Flag } from '../src/wire/constants.ts';
import type { BenchContext, Row } from './harness.ts';

const INTERVAL_MS = 15_000;
const TICK_MS = 10;
const INTERVALS = 2;

/** What all sessions of one run share. */
class World {
  nowMs = 0;
  sent = 0;
  dead = 0;
  readonly lateness = new Lateness();
  readonly wheel: TimerWheel<Peer>;
  readonly spread: Spread;

  constructor() {
    this.spread = new Spread(seededRandom(1));
    this.wheel = new TimerWheel({ tickMs: TICK_MS, maxTimers: 2 ** 20, onExpire: (peer) => peer.wake() });
  }
}

/** A session and, in its port, a peer that answers each ping at once. */
class Peer implements SessionPort {
  readonly session: Session;
  readonly lateness: Lateness;
  readonly #world: World;
  readonly #handle: TimerHandle;
  #isAsked = false;
  #seq = 0;
  #timestamp = 0;

  constructor(world: World, policy: SessionPolicy) {
    this.#world = world;
    this.lateness = world.lateness;
    this.session = new Session(policy, this, world.spread);
    this.session.open(0, world.spread.nextPhase());
    this.#handle = world.wheel.arm(this.session.deadline(0), this);
  }

  wake(): void {
    const { wheel, nowMs } = this.#world;
    let next = this.session.wake(nowMs, false);
    if (next === NEEDS_POLL) next = this.session.wake(nowMs, true);
    if (this.#isAsked) {
      this.#isAsked = false;
      this.session.receive(Flag.Ack, this.#seq, this.#timestamp, nowMs);
      next = this.session.deadline(nowMs);
    }
    wheel.rearm(this.#handle, next);
  }

  send(flags: number, seq: number, word: number): SentResult {
    this.#world.sent++;
    this.#isAsked = (flags & Flag.AckRequest) !== 0;
    this.#seq = seq;
    this.#timestamp = word;
    return Sent.InKernel;
  }

  allowProbe(): boolean {
    return true;
  }

  queuedBytes(): number {
    return 0;
  }

  takenBytes(): number {
    return 0;
  }

  check(): boolean {
    return false;
  }

  pong(): void {}

  notify({ type }: { type: string }): void {
    if (type === 'dead') this.#world.dead++;
  }
}

/** Nanoseconds per beat with this many sessions, over whole intervals. */
function beats(sessions: number, intervals: number): number {
  const world = new World();
  const policy = sessionPolicy({ intervalMs: INTERVAL_MS }, TICK_MS);
  const heapBefore = process.memoryUsage().heapUsed;
  const peers = Array.from({ length: sessions }, () => new Peer(world, policy));
  const bytes = (process.memoryUsage().heapUsed - heapBefore) / sessions;
  const startedAt = process.hrtime.bigint();
  for (const endMs = intervals * INTERVAL_MS; world.nowMs < endMs; )
    world.wheel.advance((world.nowMs += TICK_MS));
  const tookNs = Number(process.hrtime.bigint() - startedAt);
  const up = peers.filter(({ session }) => session.state === 'up').length;
  if (up !== sessions || world.dead > 0) throw new Error(`${up} of ${sessions} up, ${world.dead} dead`);
  const seconds = (tookNs / 1e9).toFixed(1);
  console.error(
    `${sessions} sessions, ${(intervals * INTERVAL_MS) / 1_000} s of their time in ${seconds} s: ` +
      `${world.sent} frames, ${bytes.toFixed(0)} B of heap each`,
  );
  return tookNs / world.sent;
}

export default async function scale({ quick }: BenchContext): Promise<Row[]> {
  const [most, fewer] = quick ? [1_000, 100] : [1_000_000, 10_000];
  const peer = { name: `the same, ${fewer} sessions`, nsPerOp: beats(fewer, quick ? 1 : 10 * INTERVALS) };
  const nsPerOp = beats(most, INTERVALS);
  return [{ name: `a beat among ${most} sessions`, nsPerOp, peers: [peer] }];
}
