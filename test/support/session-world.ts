/**
 * A small world on a virtual clock for sessions: two ends joined by in-memory directions with delay and loss, woken
 * by the real timer wheel. An end is a session or a script. The outbound side of an end can be blocked in the ways a
 * socket can: frames refused (held), or accepted and not yet in the kernel (queued). Everything is recorded with its
 * time. Order within one instant is Node's: timers, then what has arrived, then judgements that waited for it.
 *
 * All sessions of a world live in one process, which can stall (its timers are late, what arrives waits, scripts go
 * on) and sleep (its clock stands still). What a hub would note of both is noted here.
 */
import { type Random, seededRandom } from '../../src/base/random.ts';
import {
  Lateness,
  NEEDS_POLL,
  Sent,
  type SentResult,
  Session,
  type SessionEvent,
  type SessionOptions,
  type SessionPort,
  SleepDetector,
  sessionPolicy,
} from '../../src/session/index.ts';
import { type TimerHandle, TimerWheel } from '../../src/time/wheel.ts';
import { FRAME_BYTES } from '../../src/wire/constants.ts';
import { frameName, isLegalFrame } from '../../src/wire/flags.ts';

export interface Frame {
  readonly flags: number;
  readonly seq: number;
  readonly word: number;
}
export interface SentFrame extends Frame {
  readonly atMs: number;
  readonly name: string;
}
export type TimedEvent = SessionEvent & { readonly atMs: number };
/** What travels: a frame, or bytes of the host protocol. */
type Cargo = Frame | 'host';

/** One direction. `delayMs` and `isLost` are asked when something enters it; order is kept whatever they say. */
export interface Direction {
  delayMs: number | (() => number);
  isLost: boolean | ((cargo: Cargo) => boolean);
}

/** Where a direction ends. */
interface Receiver {
  arrive(cargo: Cargo): void;
}

const EPOCH_MS = 1_000_000;
const MAX_TURNS_AT_ONCE = 1000;

export class World {
  nowMs: number;
  readonly random: Random;
  readonly wheel: TimerWheel<SessionEnd>;
  readonly tickMs: number;
  /** How late the one process of this world runs. */
  readonly lateness = new Lateness();
  /** What a hub tells as `self-late`, and of sleep as `resumed`. */
  readonly lates: { readonly atMs: number; readonly lagMs: number; readonly score: number }[] = [];
  readonly sleeps: { readonly atMs: number; readonly sleptMs: number }[] = [];
  readonly ends: SessionEnd[] = [];
  readonly #sleep = new SleepDetector(0);
  #sleptMs = 0;
  #blockedUntilMs = -Infinity;
  /** When the process wanted to be woken; lateness counts from here. */
  #wantedMs = Infinity;
  /** What arrived while the process was stalled. */
  readonly #inbox: (() => void)[] = [];
  /** Pending arrivals and scripted actions, by time, then by order of planning. */
  #plan: { atMs: number; order: number; run: () => void }[] = [];
  #order = 0;
  #judging: { readonly end: SessionEnd; readonly readUpToMs: number }[] = [];

  constructor(seed = 1, { startMs = EPOCH_MS, tickMs = 10 } = {}) {
    this.nowMs = startMs;
    this.tickMs = tickMs;
    this.random = seededRandom(seed);
    this.wheel = new TimerWheel({ tickMs, startMs, onExpire: (end) => this.#wake(end) });
    this.#sleep.look(startMs, startMs);
  }

  get isStalled(): boolean {
    return this.nowMs < this.#blockedUntilMs;
  }

  /** The process does nothing for this long, beginning now. */
  stall(forMs: number): void {
    if (!this.isStalled) this.#wantedMs = Math.max(this.wheel.nextDueMs(), this.nowMs);
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, this.nowMs + forMs);
  }

  /** The machine sleeps now: the clock of this world, which is the process's, stands still meanwhile. */
  suspend(forMs: number): void {
    this.#sleptMs += forMs;
  }

  /** Something for the process: done now, or once it runs again. */
  deliver(run: () => void): void {
    if (this.isStalled) this.#inbox.push(run);
    else run();
  }

  /** Do something at this time, after the timers of that instant. */
  at(atMs: number, run: () => void): void {
    const entry = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, run };
    let index = this.#plan.length;
    while (index > 0 && this.#plan[index - 1]!.atMs > entry.atMs) index--;
    this.#plan.splice(index, 0, entry);
  }

  /** Do something every `everyMs` while `until` has not come. */
  every(everyMs: number, untilMs: number, run: () => void): void {
    if (this.nowMs + everyMs > untilMs) return;
    this.at(this.nowMs + everyMs, () => {
      run();
      this.every(everyMs, untilMs, run);
    });
  }

  run(forMs: number): void {
    this.runUntil(this.nowMs + forMs);
  }

  runUntil(untilMs: number): void {
    for (let turns = 0; ; turns++) {
      const waits = this.#inbox.length > 0 || this.#judging.length > 0;
      const awakeMs = waits ? this.#blockedUntilMs : this.wheel.nextDueMs();
      const nextMs = Math.min(Math.max(awakeMs, this.#blockedUntilMs), this.#plan[0]?.atMs ?? Infinity);
      if (nextMs > untilMs) break;
      if (nextMs > this.nowMs) turns = 0;
      else if (turns > MAX_TURNS_AT_ONCE) throw new Error('somebody wakes without end in one instant');
      this.nowMs = Math.max(this.nowMs, nextMs);
      const { isStalled } = this;
      if (!isStalled) {
        this.#judge(); // left over when a stall began in the poll
        this.#timers();
      }
      this.#poll();
      if (!this.isStalled) this.#judge();
      if (!isStalled) this.#wantedMs = Math.max(this.wheel.nextDueMs(), this.nowMs);
    }
    this.nowMs = untilMs;
  }

  /** As a hub does: first what the process's own absence means, then the timers that are due. */
  #timers(): void {
    const { nowMs } = this;
    if (nowMs < this.wheel.nextDueMs()) return;
    const sleptMs = this.#sleep.look(nowMs, nowMs + this.#sleptMs);
    if (sleptMs > 0) this.#resumed(sleptMs);
    const lagMs = Math.max(0, nowMs - this.#wantedMs);
    if (this.lateness.note(nowMs, lagMs))
      this.lates.push({ atMs: nowMs, lagMs, score: this.lateness.score(nowMs) });
    this.wheel.advance(nowMs);
  }

  #resumed(sleptMs: number): void {
    this.sleeps.push({ atMs: this.nowMs, sleptMs });
    for (const [index, end] of this.ends.entries()) {
      const spreadMs = Math.min(end.session.policy.intervalMs, 2000);
      end.act((session, nowMs) =>
        session.resumed(nowMs, Math.floor(((index + 0.5) / this.ends.length) * spreadMs)),
      );
    }
  }

  /** Everything that has arrived by now. */
  #poll(): void {
    if (!this.isStalled) for (const read of this.#inbox.splice(0)) read();
    while (this.#plan.length > 0 && this.#plan[0]!.atMs <= this.nowMs) this.#plan.shift()!.run();
  }

  #judge(): void {
    for (const { end, readUpToMs } of this.#judging.splice(0)) end.wake(true, readUpToMs);
  }

  #wake(end: SessionEnd): void {
    if (!end.wake(false)) this.#judging.push({ end, readUpToMs: this.nowMs });
  }
}

/** Sends into a direction; shared by sessions and scripts. */
class Sender {
  readonly world: World;
  readonly out: Direction = { delayMs: 0, isLost: false };
  readonly sent: SentFrame[] = [];
  peer: Receiver | undefined;
  #lastArrivalMs = 0;

  constructor(world: World) {
    this.world = world;
  }

  protected carry(cargo: Cargo): void {
    const { out, world, peer } = this;
    if (typeof out.isLost === 'function' ? out.isLost(cargo) : out.isLost) return;
    const delayMs = typeof out.delayMs === 'function' ? out.delayMs() : out.delayMs;
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, world.nowMs + delayMs);
    world.at(this.#lastArrivalMs, () => peer?.arrive(cargo));
  }

  protected record(flags: number, seq: number, word: number): Frame {
    const name = frameName(flags);
    if (!isLegalFrame(flags, word >>> 24)) throw new Error(`illegal frame sent: flags ${flags.toString(16)}`);
    const frame = { atMs: this.world.nowMs, name, flags, seq, word };
    this.sent.push(frame);
    return frame;
  }
}

/** A peer that does what the test says, and answers pings when told to. */
export class ScriptedPeer extends Sender implements Receiver {
  readonly received: SentFrame[] = [];
  hostReceived = 0;
  answers = true;
  #seq = 100;

  arrive(cargo: Cargo): void {
    if (cargo === 'host') {
      this.hostReceived++;
      return;
    }
    this.received.push({ ...cargo, atMs: this.world.nowMs, name: frameName(cargo.flags) });
    if (this.answers && (cargo.flags & 1) !== 0) this.send(4, cargo.seq, cargo.word);
  }

  send(flags: number, seq: number, word: number): void {
    this.carry(this.record(flags, seq, word));
  }

  /** A frame of its own with the next number; the word is a timestamp unless given. */
  say(flags: number, word: number = this.world.nowMs >>> 0): void {
    this.send(flags, this.#seq++, word);
  }

  host(): void {
    this.carry('host');
  }
}

/** A session with a socket's surroundings. */
export class SessionEnd extends Sender implements SessionPort, Receiver {
  readonly session: Session;
  readonly events: TimedEvent[] = [];
  readonly pongs: { atMs: number; seq: number; rttMs: number }[] = [];
  /** Held: refuse; Queued: take, and keep until `flush`; InKernel: an idle socket. */
  outbound: SentResult = Sent.InKernel;
  allowsProbes = true;
  /** The application's check, when there is one. */
  onCheck: ((seq: number, timestamp: number) => void) | undefined;
  #queue: Cargo[] = [];
  #hostQueuedBytes = 0;
  #takenBytes = 0;
  #refused = false;
  #unread: Cargo[] | undefined;
  #timer: TimerHandle = 0;

  constructor(world: World, options: SessionOptions = {}, random: Random = world.random) {
    super(world);
    this.session = new Session(sessionPolicy(options, world.tickMs), this, random);
    world.ends.push(this);
  }

  open(phase = 0): void {
    this.session.open(this.world.nowMs, phase);
    this.#timer = this.world.wheel.arm(this.session.deadline(this.world.nowMs), this);
  }

  /** False when it must be woken again after a poll. */
  wake(polled: boolean, readUpToMs = this.world.nowMs): boolean {
    const next = this.session.wake(this.world.nowMs, polled, readUpToMs);
    if (next === NEEDS_POLL) {
      if (polled) throw new Error('asked to poll after a poll');
      this.world.wheel.cancel(this.#timer);
      this.#timer = 0;
      return false;
    }
    if (this.#timer === 0 || !this.world.wheel.rearm(this.#timer, next)) {
      this.#timer = this.world.wheel.arm(next, this);
    }
    return true;
  }

  /** Whatever may have moved the deadline is followed by this. */
  act(change: (session: Session, nowMs: number) => void): void {
    change(this.session, this.world.nowMs);
    if (this.#timer !== 0) this.world.wheel.rearm(this.#timer, this.session.deadline(this.world.nowMs));
  }

  // ---- the connection ------------------------------------------------------

  arrive(cargo: Cargo): void {
    this.world.deliver(() => this.#read(cargo));
  }

  #read(cargo: Cargo): void {
    if (this.#unread !== undefined) this.#unread.push(cargo);
    else if (cargo === 'host') this.session.receiveHost(this.world.nowMs);
    else this.session.receive(cargo.flags, cargo.seq, cargo.word, this.world.nowMs);
    this.act(() => {});
  }

  pause(): void {
    this.#unread = [];
    this.session.pause(this.world.nowMs);
  }

  resume(): void {
    const unread = this.#unread ?? [];
    this.#unread = undefined;
    this.act((session, nowMs) => session.resume(nowMs));
    this.world.at(this.world.nowMs, () => {
      for (const cargo of unread) this.arrive(cargo);
    });
  }

  /** The host writes: bytes the kernel takes at once, or that stay in the queue. */
  hostWrites(queuedBytes = 0): void {
    this.#hostQueuedBytes += queuedBytes;
    if (queuedBytes === 0) this.carry('host');
    this.act((session, nowMs) => session.hostWrote(nowMs));
  }

  /** The kernel takes this much of the host's queue. */
  drain(bytes: number): void {
    const taken = Math.min(bytes, this.#hostQueuedBytes);
    this.#hostQueuedBytes -= taken;
    this.#takenBytes += taken;
  }

  /** Everything queued goes to the kernel, and the outbound side is free again. */
  free(): void {
    this.drain(Infinity);
    this.outbound = Sent.InKernel;
    for (const cargo of this.#queue.splice(0)) {
      this.#takenBytes += FRAME_BYTES;
      this.carry(cargo);
    }
    const refused = this.#refused;
    this.#refused = false;
    this.act((session, nowMs) => {
      session.flushed(nowMs);
      if (refused) session.writable(nowMs);
    });
  }

  // ---- the session's port --------------------------------------------------

  send(flags: number, seq: number, word: number): SentResult {
    if (this.outbound === Sent.Held) {
      this.#refused = true;
      return Sent.Held;
    }
    const frame = this.record(flags, seq, word);
    if (this.outbound === Sent.Queued) this.#queue.push(frame);
    else {
      this.#takenBytes += FRAME_BYTES;
      this.carry(frame);
    }
    return this.outbound;
  }

  get lateness(): Lateness {
    return this.world.lateness;
  }

  check(seq: number, timestamp: number): boolean {
    this.onCheck?.(seq, timestamp);
    return this.onCheck !== undefined;
  }

  allowProbe(): boolean {
    return this.allowsProbes;
  }

  queuedBytes(): number {
    return this.#queue.length * FRAME_BYTES + this.#hostQueuedBytes;
  }

  takenBytes(): number {
    return this.#takenBytes;
  }

  pong(seq: number, rttMs: number): void {
    this.pongs.push({ atMs: this.world.nowMs, seq, rttMs });
  }

  notify(event: SessionEvent): void {
    this.events.push({ ...event, atMs: this.world.nowMs });
  }

  // ---- what the tests ask --------------------------------------------------

  eventsOf<T extends SessionEvent['type']>(type: T): (TimedEvent & { type: T })[] {
    return this.events.filter((event): event is TimedEvent & { type: T } => event.type === type);
  }

  get eventTypes(): string[] {
    return this.events.map(({ type }) => type);
  }

  framesNamed(name: string): SentFrame[] {
    return this.sent.filter((frame) => frame.name === name);
  }
}

/** Join two ends; both directions take half the round trip. */
export function join(a: Sender & Receiver, b: Sender & Receiver, rttMs = 0): void {
  a.peer = b;
  b.peer = a;
  a.out.delayMs = b.out.delayMs = rttMs / 2;
}

/** A session and a scripted peer, joined and open. */
export function watch(
  options: SessionOptions = {},
  { rttMs = 0, phase = 0, seed = 1, startMs = EPOCH_MS, tickMs = 10 } = {},
): { world: World; end: SessionEnd; peer: ScriptedPeer } {
  const world = new World(seed, { startMs, tickMs });
  const end = new SessionEnd(world, options);
  const peer = new ScriptedPeer(world);
  join(end, peer, rttMs);
  end.open(phase);
  return { world, end, peer };
}

/** Two sessions, joined and open. */
export function pair(
  options: SessionOptions = {},
  { rttMs = 0, phases = [0, 0.5], seed = 1, startMs = EPOCH_MS, peerOptions = options } = {},
): { world: World; a: SessionEnd; b: SessionEnd } {
  const world = new World(seed, { startMs });
  const a = new SessionEnd(world, options);
  const b = new SessionEnd(world, peerOptions);
  join(a, b, rttMs);
  a.open(phases[0]);
  b.open(phases[1]);
  return { world, a, b };
}
