/**
 * Runs one plan in the lab and reports what broke, with a log for people. Same plan, same log.
 */
import type { ClosedDetail, HeartbeatHub, Link } from '../../src/net/index.ts';
import { connectLab, type LabConnection } from '../../src/testing/lab-network.ts';
import { AnsweringPeer, swallow } from '../../src/testing/lab-peers.ts';
import { LabProcess } from '../../src/testing/lab-process.ts';
import type { LabSocket } from '../../src/testing/lab-socket.ts';
import { LabWorld } from '../../src/testing/lab-world.ts';
import { mayBunch, mayDie } from './excuses.ts';
import { type End, later, strike } from './faults.ts';
import { type Invariant, Observer } from './observer.ts';
import type { ConnectionPlan, FaultPlan, Plan, Side, TrafficPlan } from './plan.ts';
import { intervalOf, type RateChangePlan } from './rates.ts';
import { hostFrame } from './wire-reader.ts';

export interface Violation {
  readonly invariant: Invariant;
  readonly text: string;
}

export interface HistoryResult {
  readonly violations: Violation[];
  readonly log: string[];
  readonly deaths: number;
  /** Links that a watch by the clock alone would have killed when their process woke. */
  readonly averted: number;
}

/** Time to say goodbye at the end: a polite end waits a second for the other side. */
const FAREWELL_MS = 5_000;
/** Nothing is changed so near to the end that it could not be agreed on. */
const AGREED_WITHIN_MS = 12_000;
const TOLD = [
  'up',
  'suspect',
  'recovered',
  'dead',
  'leaving',
  'degraded',
  'write-stall',
  'one-way',
  'negotiated',
  'negotiation-refused',
] as const;

interface Wired {
  readonly plan: ConnectionPlan;
  readonly connection: LabConnection;
  readonly farProcess: LabProcess;
  readonly near: End;
  readonly far: End | undefined;
  readonly peer: AnsweringPeer | undefined;
}

class History {
  readonly violations: Violation[] = [];
  readonly log: string[] = [];
  averted = 0;
  readonly #plan: Plan;
  readonly #world: LabWorld;
  readonly #near: LabProcess;
  readonly #ends = new Map<Link, End>();
  readonly #wired: Wired[] = [];
  /** A wish was refused here: the two ends then know different values of one end. */
  readonly #refused = new Set<Link>();

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#world = new LabWorld(plan.seed);
    this.#near = new LabProcess(this.#world, 'near');
    this.#listen(this.#near.hub);
    plan.connections.forEach((connection, index) => {
      this.#wired.push(this.#wire(connection, index));
    });
    for (const wired of this.#wired) {
      for (const traffic of wired.plan.traffic) this.#planTraffic(wired, traffic);
      for (const change of wired.plan.negotiation?.changes ?? []) this.#planChange(wired, change);
    }
    for (const fault of plan.faults) this.#world.at(fault.atMs, () => this.#strike(fault));
  }

  get deaths(): number {
    return [...this.#ends.values()].reduce((sum, { observer }) => sum + observer.deaths, 0);
  }

  async run(): Promise<void> {
    this.#world.runUntil(this.#plan.lengthMs);
    const processes = new Set([...this.#ends.values()].map(({ process }) => process));
    const alive = [...processes].filter((process) => !this.#isStopped(process));
    for (const { observer, process } of this.#ends.values()) {
      const isOver = observer.link?.state === 'closed'; // found, and flushing
      if (!isOver && !this.#isStopped(process)) observer.checkFound();
    }
    if (this.#plan.faults.length === 0) for (const wired of this.#wired) this.#checkAgreement(wired);
    const closings: Promise<void>[] = [];
    for (const process of alive) process.post(() => closings.push(process.hub.close()));
    this.#world.run(FAREWELL_MS + this.#standstillLeftMs(alive));
    for (const process of alive) this.#checkLinks(process);
    if (this.violations.length > 0) return; // a link that stays keeps its hub from closing
    await Promise.all(closings);
    for (const process of alive) {
      if (process.clock.pending > 0) this.complain('6-left-behind', `${process.name} has timers left`);
    }
  }

  /** Where nothing went wrong, and no traffic stands in front of the answers, both ends know the same numbers. */
  #checkAgreement({ plan, near, far }: Wired): void {
    const lastMs = Math.max(0, ...(plan.negotiation?.changes ?? []).map(({ atMs }) => atMs));
    if (plan.negotiation?.far !== 'too' || far === undefined || plan.traffic.length > 0) return;
    if (near.observer.closed !== undefined || far.observer.closed !== undefined) return; // judged elsewhere
    if (lastMs + AGREED_WITHIN_MS > this.#plan.lengthMs) return;
    if (this.#refused.has(near.link)) return;
    const [mine, its] = [near.link.stats(), far.link.stats()];
    const pairs = [
      [mine.txIntervalMs, its.rxIntervalMs],
      [mine.rxIntervalMs, its.txIntervalMs],
    ];
    if (mine.negotiated && its.negotiated && pairs.every(([a, b]) => a === b)) return;
    this.complain('10-disagreement', `${near.observer.name} and its peer have ${JSON.stringify(pairs)}`);
  }

  #checkLinks(process: LabProcess): void {
    for (const link of process.hub.links())
      this.complain('6-left-behind', `${process.name} link ${link.id} stays`);
    for (const { observer, process: owner, socket } of this.#ends.values()) {
      if (owner !== process) continue;
      if (observer.closed === undefined) this.complain('7-one-end', `${observer.name} was never closed`);
      else if (!socket.destroyed) this.complain('6-left-behind', `${observer.name} has an open socket`);
    }
  }

  #standstillLeftMs(processes: readonly LabProcess[]): number {
    const ends = processes.flatMap(({ standstills }) => standstills.map(({ toMs }) => toMs));
    return Math.max(0, ...ends.map((toMs) => toMs - this.#world.nowMs));
  }

  #isStopped(process: LabProcess): boolean {
    return process.standstills.some(({ toMs }) => toMs === Number.POSITIVE_INFINITY);
  }

  #say(text: string): void {
    this.log.push(`t=${this.#world.nowMs.toFixed(1)} ${text}`);
  }

  complain(invariant: Invariant, text: string): void {
    this.#say(`VIOLATION ${invariant} ${text}`);
    this.violations.push({ invariant, text });
  }

  // ---- wiring ---------------------------------------------------------------------

  #listen(hub: HeartbeatHub): void {
    for (const event of TOLD) {
      hub.on(event, (link: Link, detail: object) => {
        const end = this.#ends.get(link);
        this.#say(`${end?.observer.name} ${event} ${JSON.stringify(detail)}`);
        if (event === 'dead') end?.observer.died(detail as never);
        if (event === 'degraded') end?.observer.degraded();
        if (event === 'negotiation-refused') this.#refused.add(link);
      });
    }
    hub.on('self-late', (_none, detail) => this.#say(`self-late ${JSON.stringify(detail)}`));
    hub.on('resumed', (_none, detail) => {
      this.#say(`resumed ${JSON.stringify(detail)}`);
      for (const { observer, process } of this.#ends.values()) if (process.hub === hub) observer.awoke();
    });
    hub.on('closed', (link: Link, detail: ClosedDetail) => {
      const end = this.#ends.get(link);
      this.#say(`${end?.observer.name} closed ${JSON.stringify(detail)}`);
      end?.observer.ended(detail);
    });
  }

  #wire(plan: ConnectionPlan, index: number): Wired {
    const world = this.#world;
    const farProcess = new LabProcess(world, `far${index}`);
    const pipe = {
      delayMs: () => plan.rttMs / 2 + plan.jitterMs * world.random.next(),
      bytesPerSecond: plan.bytesPerSecond,
      sendBufferBytes: plan.bufferBytes,
      receiveBufferBytes: plan.bufferBytes,
    };
    const connection = connectLab(this.#near, farProcess, {
      there: pipe,
      back: pipe,
      natIdleMs: plan.natIdleMs,
    });
    if (plan.isSplit) {
      connection.near.readBytes = connection.far.readBytes = () => 1 + Math.floor(world.random.next() * 40);
    }
    const near = this.#attach(plan, index, connection, 'near');
    const isLink = plan.peer === 'full' || plan.peer === 'responder';
    if (isLink) this.#listen(farProcess.hub);
    const far = isLink ? this.#attach(plan, index, connection, 'far') : undefined;
    const peer = this.#peerOf(plan, connection.far);
    return { plan, connection, farProcess, near, far, peer };
  }

  #peerOf(plan: ConnectionPlan, socket: LabSocket): AnsweringPeer | undefined {
    if (plan.peer === 'swallow') swallow(socket);
    if (plan.peer !== 'bare' && plan.peer !== 'repeater') return undefined;
    const answers = plan.peer === 'repeater' ? 2 : 1;
    const peer = new AnsweringPeer(socket, plan.isShared ? { answers, hostFrameLength } : { answers });
    if (plan.peer === 'repeater') this.#repeat(peer, plan);
    return peer;
  }

  /** Says levels of its own, some of them again when a newer one was said already. */
  #repeat(peer: AnsweringPeer, plan: ConnectionPlan): void {
    const { process } = peer.socket;
    const say = (): void => {
      const seq = peer.sayNext(DEGRADED);
      peer.sayNext(0);
      peer.say(DEGRADED, seq, 0);
    };
    const everyMs = Math.floor(plan.intervalMs * 1.7);
    this.#every(everyMs, everyMs, this.#plan.lengthMs, () => process.post(say));
  }

  #every(atMs: number, everyMs: number, untilMs: number, run: () => void): void {
    if (atMs > untilMs) return;
    this.#world.at(atMs, () => {
      run();
      this.#every(atMs + everyMs, everyMs, untilMs, run);
    });
  }

  #attach(plan: ConnectionPlan, index: number, connection: LabConnection, side: Side): End {
    const isNear = side === 'near';
    const socket = isNear ? connection.near : connection.far;
    const { process } = socket;
    const role = isNear || plan.peer === 'full' ? 'full' : 'responder';
    const deadAfter = isNear ? plan.deadAfter : plan.farDeadAfter;
    const phase = isNear ? plan.nearPhase : plan.farPhase;
    const intervalMs = intervalOf(plan, side);
    const negotiates = plan.negotiation !== undefined && (isNear || plan.negotiation.far === 'too');
    const observer = new Observer({
      name: `${side}/c${index}`,
      process,
      socket,
      incoming: isNear ? connection.back : connection.there,
      outgoing: isNear ? connection.there : connection.back,
      isShared: plan.isShared,
      intervalMs,
      deadAfter,
      phase,
      negotiates,
      judges: role === 'full',
      mayBunch: mayBunch(this.#plan, index, side),
      mayDie: (atMs) => mayDie(this.#plan, index, side, atMs, connection.forgottenMs),
      complain: (invariant, text) => this.complain(invariant, text),
    });
    const host = { frameLength: hostFrameLength, outboundFrameLength: hostFrameLength, onFrame: () => {} };
    const link = process.attach(socket, {
      intervalMs,
      deadAfter,
      negotiate: negotiates,
      role,
      ask: plan.ask,
      firstPhase: phase,
      onPong: (_link, seq) => observer.pong(seq),
      ...(plan.isShared && { host: { ...host, delivery: 'pieces' as const } }),
    });
    observer.link = link;
    const end = { observer, link, process, socket };
    this.#ends.set(link, end);
    return end;
  }

  #planChange({ near, far }: Wired, { by, atMs, ...rates }: RateChangePlan): void {
    const end = by === 'near' ? near : far;
    if (end === undefined) return;
    this.#world.at(atMs, () =>
      end.process.post(() => {
        if (end.observer.closed !== undefined) return;
        this.#say(`${end.observer.name} wishes ${JSON.stringify(rates)}`);
        end.link.setRates(rates);
      }),
    );
  }

  // ---- traffic ----------------------------------------------------------------------

  #planTraffic(wired: Wired, traffic: TrafficPlan): void {
    const frame = hostFrame(traffic.bytes);
    const { fromMs, everyMs, untilMs } = traffic;
    this.#every(fromMs, everyMs, untilMs, () => this.#writeHost(wired, traffic, frame));
  }

  #writeHost(wired: Wired, traffic: TrafficPlan, frame: Buffer): void {
    const end = traffic.by === 'near' ? wired.near : wired.far;
    if (end === undefined) {
      const socket = wired.connection.far;
      socket.process.post(() => socket.destroyed || socket.writableEnded || socket.write(frame));
      return;
    }
    end.process.post(() => {
      if (end.observer.closed !== undefined || end.observer.frameOpenMs < Number.POSITIVE_INFINITY) return;
      if (traffic.openMs === 0) end.link.write(frame);
      else this.#writeInPieces(end, traffic, frame);
    });
  }

  #writeInPieces(end: End, traffic: TrafficPlan, frame: Buffer): void {
    const { observer, link, process } = end;
    const cut = Math.min(frame.length - 1, 4 + (traffic.bytes >> 1));
    observer.frameOpenMs = this.#world.nowMs;
    link.write(frame.subarray(0, cut));
    later(process, traffic.openMs, () => {
      observer.noteBlocked();
      observer.frameOpenMs = Number.POSITIVE_INFINITY;
      if (observer.closed === undefined) link.write(frame.subarray(cut));
    });
  }

  #strike(fault: FaultPlan): void {
    const wired = this.#wired[fault.connection] as Wired;
    this.#say(`fault ${fault.kind} ${fault.side}/c${fault.connection} for ${fault.forMs}`);
    strike(fault, {
      world: this.#world,
      connection: wired.connection,
      process: fault.side === 'near' ? this.#near : wired.farProcess,
      intervalMs: wired.plan.intervalMs,
      lengthMs: this.#plan.lengthMs,
      end: fault.side === 'near' ? wired.near : wired.far,
      countAverted: (process, forMs) => this.#countAverted(process, forMs),
    });
  }

  #countAverted(process: LabProcess, forMs: number): void {
    for (const { observer, process: owner } of this.#ends.values()) {
      if (owner === process && observer.wasSaved(forMs)) this.averted++;
    }
  }
}

const DEGRADED = 0x10;

function hostFrameLength(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 4) return 0;
  const payload =
    ((bytes[start]! << 24) | (bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!) >>> 0;
  return payload < 2 ** 24 ? 4 + payload : -1;
}

/** Run a plan to its end. Never throws: what a program of the lab throws is a violation too. */
export async function runHistory(plan: Plan): Promise<HistoryResult> {
  let history: History | undefined;
  try {
    history = new History(plan);
    await history.run();
  } catch (error) {
    const text = error instanceof Error ? `${error.stack}` : String(error);
    if (history !== undefined) history.complain('0-exception', text);
    else return { violations: [{ invariant: '0-exception', text }], log: [text], deaths: 0, averted: 0 };
  }
  const { violations, log, deaths, averted } = history;
  return { violations, log, deaths, averted };
}
