/**
 * One load run from the first connection to the last: dial, warm up, measure, wait for the answers owed, end. What is
 * found goes to the tally; this class only decides when.
 */
import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { type ConnectOptions, connectHeartbeat } from '../../client/connect.ts';
import { Returns } from '../../client/returns.ts';
import { HeartbeatHub } from '../../net/hub.ts';
import type { HubStats, Link } from '../../net/types.ts';
import type { Address } from '../address.ts';
import { Dialer } from './dialer.ts';
import { Tally } from './tally.ts';

/** What the storm of connecting left behind takes some seconds to settle: queues, compiled code, collected garbage. */
const LEAST_WARM_UP_MS = 5_000;

export interface RunOptions {
  readonly destinations: readonly Address[];
  readonly tls: ConnectOptions['tls'];
  readonly links: number;
  readonly intervalMs: number;
  readonly deadAfter: number;
  readonly durationMs: number;
  readonly perSecond: number;
  readonly inFlight: number;
  /** For a first answer, and at the end for the answers owed. */
  readonly waitMs: number;
  /** reset: GOAWAY, then RST, which keeps no port busy afterwards. leave: GOAWAY, then FIN. */
  readonly end: 'reset' | 'leave';
  /** Links that are told to go come back as they were told. */
  readonly comesBack: boolean;
}

/** Links looked at, or ended, before the event loop gets its turn: beats stay in time meanwhile. */
const LINKS_PER_TURN = 256;

export class LoadRun {
  readonly hub = new HeartbeatHub();
  readonly tally: Tally;
  readonly dialer: Dialer;
  /** How long the connections took, and how long was measured, ms. */
  connectMs = 0;
  measuredMs = 0;
  /** Pings sent until the measurement ended, and those of them never answered. */
  sent = 0;
  unanswered = 0;
  /** Resident memory this process gained per link. */
  bytesPerLink = Number.NaN;
  /** Of the time after the warm-up. */
  beats = 0;
  beatsLate = 0;
  /** As it was when the measurement ended. */
  stats: HubStats;
  readonly #options: RunOptions;
  /** Each with its number. */
  readonly #live = new Map<Link, number>();
  readonly #told = new Set<Link>();
  readonly #returns: Returns | undefined;
  readonly #ending = new AbortController();
  readonly #startRssBytes = residentBytes();
  #lostPings = { sent: 0, answered: 0 };
  /** Links that were told to go and are on their way back. */
  #away = 0;
  #isEnding = false;
  #onAllLost: () => void = () => {};

  constructor(options: RunOptions) {
    this.#options = options;
    setMaxListeners(0, this.#ending.signal); // one per connection under way
    this.tally = new Tally(options.intervalMs);
    this.stats = this.hub.stats();
    this.hub.on('dead', () => this.tally.judgedDead(performance.now()));
    if (options.comesBack) {
      this.#returns = new Returns({
        onAlert: () => {}, // counted as told
        onWait: ({ waitMs }) => this.tally.waits(waitMs),
      });
    }
    this.hub.on('leaving', (link, { by }) => {
      if (by === 'peer' && options.comesBack && this.#live.has(link)) this.#told.add(link);
    });
    this.hub.on('closed', (link, detail) => {
      const index = this.#live.get(link);
      if (this.#isEnding || index === undefined) return;
      this.#live.delete(link);
      const { pingsSent, pongsMatched } = link.stats();
      this.#lostPings.sent += pingsSent;
      this.#lostPings.answered += pongsMatched;
      if (this.#told.delete(link)) void this.#comeBack(index);
      else this.tally.ended(detail);
      this.#lookWhetherAllAreLost();
    });
    const { links: count, perSecond, inFlight } = options;
    this.dialer = new Dialer({ count, perSecond, inFlight, dial: (index) => this.#dial(index) });
  }

  get live(): number {
    return this.#live.size;
  }

  /** Carry it out; ends early, and in order, when `interrupted` resolves or no link is left. */
  async carryOut(interrupted: Promise<void>): Promise<void> {
    const startMs = performance.now();
    await Promise.race([this.dialer.done, interrupted]);
    this.dialer.stop();
    this.connectMs = performance.now() - startMs;
    const { durationMs, intervalMs } = this.#options;
    const warmUpMs = warmUpOf(intervalMs, durationMs);
    await this.#pass(warmUpMs, interrupted);
    this.tally.warmedUp();
    const before = this.hub.stats();
    const fromMs = performance.now();
    await this.#pass(durationMs - warmUpMs, interrupted);
    this.measuredMs = performance.now() - fromMs;
    this.tally.measured();
    this.stats = this.hub.stats();
    this.beats = beatsOf(this.stats) - beatsOf(before);
    this.beatsLate = this.stats.beatsLate - before.beatsLate;
    const { connected } = this.tally;
    if (connected > 0) this.bytesPerLink = (residentBytes() - this.#startRssBytes) / connected;
    await this.#collectAnswers(interrupted);
    await this.#end();
  }

  async #dial(index: number): Promise<void> {
    const startMs = performance.now();
    try {
      this.#live.set(await this.#connect(index), index);
      this.tally.linked(performance.now() - startMs);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #comeBack(index: number): Promise<void> {
    this.tally.told++;
    this.#away++;
    try {
      this.#live.set(await this.#connect(index), index);
      this.tally.returned++;
    } catch (error) {
      this.#failed(error);
    }
    this.#away--;
    this.#lookWhetherAllAreLost();
  }

  #connect(index: number): Promise<Link> {
    const { destinations, tls, intervalMs, deadAfter, waitMs } = this.#options;
    return connectHeartbeat({
      ...(destinations[index % destinations.length] as Address),
      ...(tls !== undefined && { tls }),
      ...(this.#returns !== undefined && { returns: this.#returns }),
      hub: this.hub,
      signal: this.#ending.signal,
      timeoutMs: waitMs,
      intervalMs,
      deadAfter,
      ask: 'always',
      preciseRtt: true,
      onPong: this.#onPong,
    });
  }

  #failed(error: unknown): void {
    if (!this.#isEnding) this.tally.notLinked((error as { code?: string }).code ?? String(error));
  }

  #lookWhetherAllAreLost(): void {
    if (this.#live.size === 0 && this.#away === 0) this.#onAllLost();
  }

  readonly #onPong = (_link: Link, _seq: number, rttMs: number): void => {
    this.tally.answered(rttMs, performance.now());
  };

  async #pass(ms: number, interrupted: Promise<void>): Promise<void> {
    if (this.#live.size === 0 && this.#away === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      this.#onAllLost = resolve;
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([over, interrupted]);
    clearTimeout(timer);
  }

  /** Pings sent from now on do not count; those before are waited for. Answers come in order on a stream. */
  async #collectAnswers(interrupted: Promise<void>): Promise<void> {
    const lost = this.#lostPings.sent - this.#lostPings.answered;
    this.sent = this.#lostPings.sent;
    const owing = new Map<Link, number>();
    await inTurns([...this.#live.keys()], (link) => {
      const { pingsSent } = link.stats();
      owing.set(link, pingsSent);
      this.sent += pingsSent;
    });
    const untilMs = performance.now() + this.#options.waitMs;
    let isOver = false;
    void interrupted.then(() => {
      isOver = true;
    });
    let missing = 0;
    for (;;) {
      missing = 0;
      await inTurns(owing, ([link, sent]) => {
        const unanswered = sent - link.stats().pongsMatched;
        if (unanswered > 0) missing += unanswered;
        else owing.delete(link);
      });
      // Who is gone answers no more.
      if (missing === 0 || isOver || this.#live.size === 0 || performance.now() >= untilMs) break;
      await this.#pass(50, interrupted);
    }
    this.unanswered = lost + missing;
  }

  async #end(): Promise<void> {
    this.#isEnding = true;
    this.#ending.abort();
    if (this.#options.end === 'reset') await this.#reset();
    await this.hub.close();
  }

  async #reset(): Promise<void> {
    await inTurns([...this.hub.links()], (link) => {
      void link.leave();
      link.socket.resetAndDestroy();
    });
  }
}

/** How much of the duration is not measured: one interval, some seconds at least, half of it at most. */
export function warmUpOf(intervalMs: number, durationMs: number): number {
  return Math.min(Math.max(intervalMs, LEAST_WARM_UP_MS), durationMs / 2);
}

async function inTurns<T>(items: Iterable<T>, handle: (item: T) => void): Promise<void> {
  let inTurn = 0;
  for (const item of items) {
    handle(item);
    if (++inTurn % LINKS_PER_TURN === 0) await turn();
  }
}

/** Frames of our own, answers excluded. */
function beatsOf({ framesSent, pongsSent }: HubStats): number {
  return framesSent - pongsSent;
}

function residentBytes(): number {
  return process.memoryUsage.rss();
}
