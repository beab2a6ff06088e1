/**
 * The hub: one per process is the normal case. It owns the one timer, the random source, the scratch memory and the
 * events of all its links, so that ten thousand connections cost ten thousand wheel entries and not ten thousand
 * timers and listeners.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { functionOf, integerIn, knownKeys } from '../base/assert.ts';
import { type Clock, monotonicClock } from '../base/clock.ts';
import { WirebeatError } from '../base/errors.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Cause } from '../session/causes.ts';
import { Lateness } from '../session/lateness.ts';
import { SESSION_DEFAULTS, type SessionPolicy, sessionPolicy } from '../session/policy.ts';
import { ProbeBudget } from '../session/probe-budget.ts';
import { SleepDetector } from '../session/sleep.ts';
import { GOLDEN_FRACTION, Spread } from '../session/spread.ts';
import type { LinkState } from '../session/states.ts';
import { Probe, type ProbeOptions, type ProbeResult, type WheelEntry } from '../time/probes.ts';
import { nodeTimerHost, Scheduler, type TimerHost } from '../time/scheduler.ts';
import { type Check, CheckRunner } from './check-runner.ts';
import { Examiner } from './diagnosis/examiner.ts';
import { KERNEL_ACCESS } from './diagnosis/kernel-evidence.ts';
import type { ClosedDetail, HubEvents, LinkEvent, LinkObserver } from './events.ts';
import type { HubCore } from './hub-core.ts';
import { SocketLink } from './link.ts';
import { LINGER_MS } from './link-core.ts';
import { addTo, emptyTotals } from './link-stats.ts';
import { checkAttachOptions, checkSocket } from './options.ts';
import { SharedMemory } from './shared-memory.ts';
import type { AttachOptions, HubStats, Link } from './types.ts';

export interface HubOptions {
  /** Resolution of all deadlines, whole ms, 1..1 000; at most a tenth of the smallest interval used. Default 10. */
  tickMs?: number;
  /** Time, randomness and timers to use instead of the process's own: for tests and simulations. */
  clock?: Clock;
  random?: Random;
  timers?: TimerHost;
  /** Ask ourselves: while it fails every link says DEGRADED, and after `failures` in a row `onFatal` is called. */
  selfCheck?: SelfCheckOptions;
}

export interface SelfCheckOptions {
  /** Is this process's business well? As `AttachOptions.check`. */
  check: Check;
  /** Default 60 000 and 5 000 ms. */
  periodMs?: number;
  limitMs?: number;
  /** Failures in a row that are fatal; default 3. */
  failures?: number;
  /** What fatal means is yours to say: usually to exit, so that a supervisor starts the process anew. */
  onFatal?(result: ProbeResult): void;
}

const SELF_CHECK_DEFAULTS = Object.freeze({ periodMs: 60_000, limitMs: 5_000, failures: 3 });
/** A wall clock that jumps cannot keep giving fresh windows. */
const WALL_HOLD_MS = 45_000;
/** After sleep, the first questions are spread over this at most. */
const RESUME_SPREAD_MS = 2_000;

/** Policies are shared by links with equal options; more kinds than this are not kept. */
const MAX_SHARED_POLICIES = 64;

export class HeartbeatHub extends EventEmitter<HubEvents> implements HubCore, AsyncDisposable {
  /** @internal */ readonly random: Spread;
  /** @internal */ readonly scheduler: Scheduler<WheelEntry>;
  /** @internal */ readonly lateness = new Lateness();
  /** @internal */ readonly checks: CheckRunner;
  /** @internal */ readonly examiner: Examiner;
  /** @internal */ isDegraded = false;
  /** @internal */ readonly memory = new SharedMemory();
  /** @internal */ chunkMs = 0;
  /** @internal Parts of this library: told before any listener, and whatever listeners throw. */
  readonly observers = new Set<LinkObserver>();

  readonly #tickMs: number;
  readonly #clock: Clock;
  readonly #sleep: SleepDetector;
  readonly #timers: TimerHost;
  readonly #links = new Set<SocketLink>();
  readonly #policies = new Map<string, SessionPolicy>();
  readonly #probeBudget = new ProbeBudget();
  readonly #closedByCause: Partial<Record<Cause, number>> = {};
  readonly #totals = emptyTotals();
  readonly #probes = new Set<Probe>();
  #judging: SocketLink[] = [];
  /** What had arrived by this time has been read when `#judging` are judged. */
  #readUpToMs = 0;
  #nextId = 1;
  #dead = 0;
  #isClosed = false;

  constructor(options: HubOptions = {}) {
    super();
    knownKeys('options', options, ['tickMs', 'clock', 'random', 'timers', 'selfCheck']);
    this.#tickMs = integerIn('tickMs', options.tickMs ?? SESSION_DEFAULTS.tickMs, 1, 1_000);
    this.random = new Spread(options.random ?? systemRandom());
    this.#clock = options.clock ?? monotonicClock;
    this.#sleep = new SleepDetector(this.#clock.bootIsWall ? WALL_HOLD_MS : 0);
    this.#timers = options.timers ?? nodeTimerHost;
    this.scheduler = new Scheduler<WheelEntry>({
      tickMs: this.#tickMs,
      clock: this.#clock,
      onExpire: (entry) => entry.wake(false),
      onWake: (nowMs, lagMs) => this.#woke(nowMs, lagMs),
      host: this.#timers,
    });
    this.checks = new CheckRunner(this.scheduler);
    const access = this.#clock === monotonicClock ? KERNEL_ACCESS : undefined;
    access?.native(); // loading it takes some 30 ms: now, not when the first link is suspect
    this.examiner = new Examiner(access, this.#timers, () => this.now());
    if (options.selfCheck !== undefined) this.#startSelfCheck(options.selfCheck);
  }

  /**
   * Watch this socket: it may be connected, connecting, paused or in its TLS handshake. From now on the link owns
   * its reads and writes. Throws TypeError or RangeError for options, HB_ERR_SOCKET_STATE for a socket that cannot
   * carry a link, HB_ERR_CLOSED when the hub is closed.
   */
  attach(socket: Socket | TLSSocket, options: AttachOptions = {}): Link {
    if (this.#isClosed) throw new WirebeatError('HB_ERR_CLOSED', 'the hub is closed');
    checkAttachOptions(options);
    const policy = this.#policyFor(options);
    checkSocket(socket);
    const link = new SocketLink(this, this.#nextId++, socket, policy, options);
    this.#links.add(link);
    this.random.links = this.#links.size;
    return link;
  }

  /** All links that are not closed, oldest first. */
  links(): IterableIterator<Link> {
    return this.#links.values();
  }

  /** Plain numbers: links by state now, ends by cause, sums of all counters since the hub began. O(links). */
  stats(): HubStats {
    const totals = { ...this.#totals };
    const states: Record<LinkState, number> = {
      opening: 0,
      up: 0,
      suspect: 0,
      unobserved: 0,
      leaving: 0,
      closed: 0,
    };
    for (const link of this.#links) {
      states[link.state]++;
      addTo(totals, link);
    }
    return {
      links: this.#links.size,
      lateScore: this.lateness.score(this.now()),
      worstLagMs: this.lateness.worstLagMs,
      states,
      closed: { ...this.#closedByCause },
      dead: this.#dead,
      ...totals,
    };
  }

  /**
   * End everything: GOAWAY on each link, at most `drainMs` (default 0: at once) until they are closed, then the
   * timer. Resolves when nothing is left. The hub takes no more sockets.
   */
  async close(options: { drainMs?: number } = {}): Promise<void> {
    knownKeys('options', options, ['drainMs']);
    const drainMs = integerIn('drainMs', options.drainMs ?? 0, 0, 300_000);
    this.#isClosed = true;
    for (const probe of this.#probes) probe.stop();
    const errors: unknown[] = [];
    // A listener's throw must not keep the other links open.
    const closing = [...this.#links].map((link) =>
      link.leave({ drainMs }).catch((error) => errors.push(error)),
    );
    // Some were leaving before, with more time than this, or still flush what a slow peer takes.
    const cut = this.#timers.setTimeout(() => this.#destroyAll(), drainMs + LINGER_MS);
    await Promise.all(closing);
    this.#timers.clearTimeout(cut);
    this.scheduler.close();
    throwAll(errors);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Run a job periodically on this hub's wheel: own period, limit and phase, never overlapping with itself. */
  probe(options: ProbeOptions): Probe {
    if (this.#isClosed) throw new WirebeatError('HB_ERR_CLOSED', 'the hub is closed');
    for (const probe of this.#probes) if (probe.isStopped) this.#probes.delete(probe);
    const probe = new Probe(this.scheduler, options);
    this.#probes.add(probe);
    return probe;
  }

  #startSelfCheck(options: SelfCheckOptions): void {
    knownKeys('selfCheck', options, ['check', 'periodMs', 'limitMs', 'failures', 'onFatal']);
    const { periodMs, limitMs, failures } = { ...SELF_CHECK_DEFAULTS, ...options };
    integerIn('selfCheck.failures', failures, 1, 1_000);
    functionOf('selfCheck.check', options.check);
    if (options.onFatal !== undefined) functionOf('selfCheck.onFatal', options.onFatal);
    this.probe({
      name: 'selfCheck',
      periodMs,
      limitMs: Math.min(limitMs, periodMs),
      run: options.check,
      onResult: (result) => {
        this.isDegraded = !result.ok;
        for (const link of this.#links) link.tellLevel();
        if (result.failures === failures) options.onFatal?.(result);
      },
    });
  }

  /** Before the timers of this wake: what our own lateness and the machine's sleep mean for everybody. */
  #woke(nowMs: number, lagMs: number): void {
    this.lookForSleep(nowMs);
    if (!this.lateness.note(nowMs, lagMs)) return;
    const detail = {
      cause: 'we-were-late',
      lagMs: Math.round(lagMs),
      score: this.lateness.score(nowMs),
    } as const;
    // After the sockets were read, before anybody is judged: judgements of this wake queue behind it.
    this.scheduler.afterPoll(() => this.emit('self-late', undefined, detail));
  }

  #resumed(nowMs: number, sleptMs: number): void {
    let fraction = 0;
    for (const link of this.#links) {
      fraction = (fraction + GOLDEN_FRACTION) % 1;
      link.resumed(nowMs, Math.floor(fraction * Math.min(link.session.policy.intervalMs, RESUME_SPREAD_MS)));
    }
    this.emit('resumed', undefined, { sleptMs: Math.round(sleptMs) });
  }

  // ---- for links ---------------------------------------------------------

  /** @internal */
  now(): number {
    return this.scheduler.now();
  }

  /** @internal */
  nextPhase(): number {
    return this.random.nextPhase();
  }

  /** @internal */
  lookForSleep(nowMs: number): void {
    const sleptMs = this.#clock.boot === undefined ? 0 : this.#sleep.look(nowMs, this.#clock.boot());
    if (sleptMs > 0) this.#resumed(nowMs, sleptMs);
  }

  /** @internal */
  allowProbe(index: number): boolean {
    return this.#probeBudget.allow(index, this.now());
  }

  /** @internal */
  judgeAfterPoll(link: SocketLink): void {
    if (this.#judging.length === 0) {
      this.#readUpToMs = this.now();
      this.scheduler.afterPoll(() => this.#judge());
    }
    this.#judging.push(link);
  }

  /** @internal */
  countDeath(): void {
    this.#dead++;
  }

  /** @internal */
  tell<E extends LinkEvent>(event: E, link: SocketLink, detail: HubEvents[E][1]): void {
    for (const observer of this.observers) observer(event, link, detail);
    (this.emit as (event: E, link: Link, detail: HubEvents[E][1]) => boolean).call(this, event, link, detail);
  }

  /** @internal */
  release(link: SocketLink, detail: ClosedDetail): void {
    this.#links.delete(link);
    this.examiner.forget(link.socket);
    this.random.links = this.#links.size;
    addTo(this.#totals, link);
    this.#closedByCause[detail.cause] = (this.#closedByCause[detail.cause] ?? 0) + 1;
    this.tell('closed', link, detail);
  }

  #judge(): void {
    const judging = this.#judging;
    this.#judging = [];
    const errors: unknown[] = [];
    for (const link of judging) {
      try {
        link.wake(true, this.#readUpToMs);
      } catch (error) {
        errors.push(error); // a listener's throw must not spare or doom the other links
      }
    }
    throwAll(errors);
  }

  #destroyAll(): void {
    const errors: unknown[] = [];
    for (const link of this.#links) {
      try {
        link.destroy();
      } catch (error) {
        errors.push(error);
      }
    }
    throwAll(errors);
  }

  #policyFor(options: AttachOptions): SessionPolicy {
    // Compared after the check: as text, NaN and Infinity would look like an option that was not given.
    const policy = sessionPolicy(options, this.#tickMs);
    const key = JSON.stringify(policy);
    const shared = this.#policies.get(key);
    if (shared === undefined && this.#policies.size < MAX_SHARED_POLICIES) this.#policies.set(key, policy);
    return shared ?? policy;
  }
}

/** What listeners threw, thrown on once everything else is done. */
function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} event listeners threw`);
}

let sharedHub: HeartbeatHub | undefined;

/** The process's own hub, made on first use. */
export function defaultHub(): HeartbeatHub {
  sharedHub ??= new HeartbeatHub();
  return sharedHub;
}
