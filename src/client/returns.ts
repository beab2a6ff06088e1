/**
 * Remembers what servers told us when they sent us away, so that a program which connects again in a loop obeys by
 * itself: `connectHeartbeat({ ..., returns })` waits as long as it was told to, and comes back no faster than it was
 * allowed. One for all connections of a process.
 *
 * It knows destinations as they are written (`HOST:PORT`, `unix:PATH`) and forgets nothing while the process lives,
 * but for the oldest of more than 1 000. Every connection draws its own wait, so that links told together do not come
 * back together. What it does not do: reconnect by itself, or wait after a connection that failed without GOAWAY.
 */
import { functionOf, integerIn, knownKeys } from '../base/assert.ts';
import { type Clock, monotonicClock } from '../base/clock.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { LinkEvent, LinkObserver } from '../net/events.ts';
import type { HeartbeatHub } from '../net/hub.ts';
import type { Link } from '../net/types.ts';
import { type HostTimer, nodeTimerHost, type TimerHost } from '../time/scheduler.ts';
import { MAX_RETURN_WAIT_MS, planReturn, type Told } from './return-plan.ts';

/** A server sent a link of ours away. */
export interface ReturnTold extends Told {
  readonly destination: string;
  /** Our interval there from now on, ms. */
  readonly intervalMs: number;
}

/** A connection waits before it is opened. */
export interface ReturnWait {
  readonly destination: string;
  readonly waitMs: number;
  readonly intervalMs: number;
}

export interface ReturnsOptions {
  /** How long to stay away when the server leaves that to us, times U(1, 1.5). Whole ms, 0..300 000, default 1 000. */
  backoffMs?: number;
  /** A server does not want us back. Called once per GOAWAY; without it a process warning is emitted. */
  onAlert?(told: ReturnTold): void;
  /** A connection begins to wait. */
  onWait?(wait: ReturnWait): void;
  /** Time, randomness and timers to use instead of the process's own: for tests and simulations. */
  clock?: Clock;
  random?: Random;
  timers?: TimerHost;
}

const DEFAULT_BACKOFF_MS = 1_000;
const MAX_DESTINATIONS = 1_000;

interface Memory {
  told: Told;
  toldMs: number;
  intervalMs: number;
}

/** A link of ours, and where it goes. */
interface Watched {
  readonly hub: HeartbeatHub;
  readonly destination: string;
  readonly intervalMs: number;
}

export class Returns {
  readonly #backoffMs: number;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timers: TimerHost;
  readonly #onAlert: (told: ReturnTold) => void;
  readonly #onWait: (wait: ReturnWait) => void;
  readonly #memories = new Map<string, Memory>();
  readonly #links = new WeakMap<Link, Watched>();
  readonly #linksOf = new WeakMap<HeartbeatHub, number>();

  constructor(options: ReturnsOptions = {}) {
    knownKeys('options', options, ['backoffMs', 'onAlert', 'onWait', 'clock', 'random', 'timers']);
    const { backoffMs, onAlert, onWait } = options;
    this.#backoffMs = integerIn('backoffMs', backoffMs ?? DEFAULT_BACKOFF_MS, 0, MAX_RETURN_WAIT_MS);
    this.#clock = options.clock ?? monotonicClock;
    this.#random = options.random ?? systemRandom();
    this.#timers = options.timers ?? nodeTimerHost;
    this.#onAlert = onAlert === undefined ? warn : functionOf('onAlert', onAlert);
    this.#onWait = onWait === undefined ? () => {} : functionOf('onWait', onWait);
  }

  /** Our interval there, ms: `intervalMs`, unless that was too fast. */
  intervalMs(destination: string, intervalMs: number): number {
    return Math.max(intervalMs, this.#memories.get(destination)?.intervalMs ?? 0);
  }

  /**
   * Resolves when we may come back there: at once, where nobody sent us away. What other links are told meanwhile
   * counts too: a longer time is waited for as well, and told to `onWait`. Rejects with the signal's reason.
   */
  async wait(destination: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    let heeded: Told | undefined;
    for (;;) {
      const memory = this.#memories.get(destination);
      if (memory === undefined || memory.told === heeded) return;
      const { told, toldMs, intervalMs } = memory;
      heeded = told;
      const untilMs = toldMs + planReturn(told, intervalMs, this.#backoffMs, this.#random).waitMs;
      const waitMs = untilMs - this.#clock.now();
      if (waitMs <= 0) return;
      this.#onWait({ destination, waitMs: Math.ceil(waitMs), intervalMs });
      signal?.throwIfAborted(); // onWait may have given up
      await this.#sleep(untilMs, signal);
      signal?.throwIfAborted(); // between the timer and us others ran
    }
  }

  /** @internal This link goes there, with this interval: what it is told counts for those that follow. */
  watch(hub: HeartbeatHub, link: Link, destination: string, intervalMs: number): void {
    if (!this.#links.has(link)) this.#linksOf.set(hub, (this.#linksOf.get(hub) ?? 0) + 1);
    this.#links.set(link, { hub, destination, intervalMs });
    hub.observers.add(this.#observe);
  }

  /** A hub that outlives us must not hold on to us, nor ask us about links of others. */
  #unwatch(link: Link, hub: HeartbeatHub): void {
    this.#links.delete(link);
    const left = (this.#linksOf.get(hub) as number) - 1;
    this.#linksOf.set(hub, left);
    if (left === 0) hub.observers.delete(this.#observe);
  }

  readonly #observe: LinkObserver = (event: LinkEvent, link: Link, detail: object) => {
    if (event !== 'leaving' && event !== 'closed') return;
    const watched = this.#links.get(link);
    if (watched === undefined) return;
    if (event === 'closed') this.#unwatch(link, watched.hub);
    else if ((detail as { by: string }).by === 'peer') {
      this.#told(watched.destination, watched.intervalMs, detail as Told);
    }
  };

  #told(destination: string, intervalMs: number, told: Told): void {
    const nowMs = this.#clock.now();
    const plan = planReturn(told, intervalMs, this.#backoffMs, this.#random);
    const old = this.#memories.get(destination);
    const memory = { told, toldMs: nowMs, intervalMs: this.intervalMs(destination, plan.intervalMs) };
    // Of two links that were told, the one told to stay away longer speaks for both.
    if (old !== undefined && this.#leastUntilMs(old) > this.#leastUntilMs(memory)) {
      memory.told = old.told;
      memory.toldMs = old.toldMs;
    }
    this.#remember(destination, memory);
    if (plan.alert) this.#alert({ ...told, destination, intervalMs: memory.intervalMs });
  }

  /** A throw is the process's to hear of, later: here it would keep the event from the hub's listeners. */
  #alert(told: ReturnTold): void {
    try {
      this.#onAlert(told);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }

  #leastUntilMs({ told, toldMs }: Memory): number {
    return toldMs + (told.retryAfterMs === 0 ? this.#backoffMs : told.retryAfterMs);
  }

  #remember(destination: string, memory: Memory): void {
    this.#memories.delete(destination); // the newest stand last
    this.#memories.set(destination, memory);
    if (this.#memories.size <= MAX_DESTINATIONS) return;
    const [oldest] = this.#memories.keys();
    this.#memories.delete(oldest as string);
  }

  #sleep(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer: HostTimer;
      const sleep = (): void => {
        timer = this.#timers.setTimeout(wake, Math.ceil(untilMs - this.#clock.now()));
      };
      const abort = (): void => {
        this.#timers.clearTimeout(timer);
        reject(signal?.reason);
      };
      const wake = (): void => {
        if (this.#clock.now() < untilMs) {
          sleep(); // timers may be early by a fraction
          return;
        }
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      signal?.addEventListener('abort', abort, { once: true });
      sleep();
    });
  }
}

function warn({ destination }: ReturnTold): void {
  process.emitWarning(
    `${destination} told us not to return; it is asked again all the same, every 5 minutes`,
  );
}
