/**
 * The judging side of a session: how long the peer has been silent, what that means, and what may still speak for
 * it. Knows nothing of frames.
 *
 * A peer is suspect at lastRx + suspect limit and dead at lastRx + D, but only when a question has been in the
 * kernel for one RTO, we are reading, and our write queue does not move: a peer that takes our bytes is alive,
 * however slowly. What this process did not hear because it was not running does not count: limits are stretched by
 * its lateness, and a judgement that falls due after a stall waits for a grace, twice at most without life.
 */
import type { Cause } from './causes.ts';
import type { Limits } from './limits.ts';
import type { SessionPolicy } from './policy.ts';
import type { SessionPort } from './port.ts';
import type { Questions } from './questions.ts';
import type { Transmitter } from './transmitter.ts';
import { WriteWatch } from './write-watch.ts';

/** A loop that stalls for ever must not postpone a true verdict for ever. */
const MAX_GRACES = 2;
export const MIN_GRACE_MS = 1_000;
/** Where one missed interval is death: parts of the interval. The answer needs time, as after the latest beat. */
const SINGLE_MISS_ASK = 0.9;
const SINGLE_MISS_PACE = 0.75;

export class Silence {
  /** Last life, or the moment from which silence counts. */
  lastRxMs = 0;
  /** Something valid was heard from this peer. */
  heard = false;
  /** We stopped reading: nothing may be concluded. */
  isPaused = false;
  /** A naive judge would have declared it dead by now. */
  isCondemned = false;
  /** Known to mean nothing before this, ms: life and our own sending only move it later. -Infinity: unknown. */
  meansNothingBeforeMs = -Infinity;

  readonly #limits: Limits;
  readonly #tickMs: number;
  readonly #port: SessionPort;
  readonly #questions: Questions;
  readonly #transmitter: Transmitter;
  #watch: WriteWatch | undefined;
  /** When a blocked queue was last seen to move: the peer takes our bytes, however slowly. */
  #movedMs = -Infinity;
  #graces = 0;
  /** No judgement before this: the end of the newest grace. */
  graceUntilMs = -Infinity;
  /** The late wake that the newest grace was for. */
  #gracedForMs = -Infinity;

  constructor(
    policy: SessionPolicy,
    limits: Limits,
    port: SessionPort,
    questions: Questions,
    transmitter: Transmitter,
  ) {
    this.#limits = limits;
    this.#tickMs = policy.tickMs;
    this.#port = port;
    this.#questions = questions;
    this.#transmitter = transmitter;
  }

  suspectAtMs(now: number): number {
    return Math.max(this.#limitAtMs(this.#sinceMs, this.#limits.suspectMs, now), this.graceUntilMs);
  }

  /** Earliest time of a verdict, given what speaks for the peer now. */
  deadAtMs(now: number): number {
    const { deadMs } = this.#limits;
    const lifeMs = Math.max(this.#sinceMs, this.#movedMs);
    const at = Math.max(this.#limitAtMs(lifeMs, deadMs, now), this.graceUntilMs);
    if (this.#questions.isAsked) return Math.max(at, this.#questions.answerDueMs);
    // No question gets through: the queue is stuck, or our own host keeps a frame open. Either has a full window.
    if (this.#watch !== undefined) return Math.max(at, this.#limitAtMs(this.#watch.progressMs, deadMs, now));
    if (this.#transmitter.isHeld)
      return Math.max(at, this.#limitAtMs(this.#transmitter.lastTxMs, deadMs, now));
    return at;
  }

  /** Who was never heard owes nothing before our first question; it may have left late, by more than the tick. */
  get #sinceMs(): number {
    const { firstPingMs } = this.#questions;
    return this.heard || firstPingMs <= this.lastRxMs + this.#tickMs ? this.lastRxMs : firstPingMs;
  }

  #limitAtMs(fromMs: number, limitMs: number, now: number): number {
    return this.#port.lateness.limitAtMs(fromMs, limitMs, now);
  }

  /**
   * A judgement is due. If this process was not running for more than half an interval since the last life, put it
   * off: true when it was. What waited in the sockets has been read by now; the grace is for what is still under way.
   */
  grace(now: number): boolean {
    if (this.#graces >= MAX_GRACES) return false;
    const { rxIntervalMs } = this.#limits;
    const lateMs = this.#port.lateness.newestLaterThan(rxIntervalMs / 2);
    if (lateMs <= this.#gracedForMs) return false;
    const graceMs = Math.min(rxIntervalMs, Math.max(MIN_GRACE_MS, 4 * this.#questions.rtt.rtoMs));
    if (now >= lateMs + graceMs) return false; // what was under way then is here by now
    this.#gracedForMs = lateMs;
    this.#graces++;
    this.graceUntilMs = lateMs + graceMs;
    return true;
  }

  /** Silence so far would have been death to a judge that knows no more than the clock. */
  condemn(now: number): void {
    if (now - this.lastRxMs >= this.#limits.deadMs) this.isCondemned = true;
  }

  /**
   * When a silent peer must be asked although the host's own writes have taken over our duty: without a question no
   * later than this a verdict would come later than published, and one who only answers would be suspect for nothing.
   * It waits until the peer wants to be spoken to again, but not until suspicion, nor for two intervals.
   */
  get askAtMs(): number {
    if (this.#questions.isAsking) return Infinity;
    const { rxIntervalMs, suspectMs, multiplier } = this.#limits;
    if (multiplier === 1) return this.#singleMissAskAtMs;
    const latestMs =
      this.lastRxMs + Math.max(rxIntervalMs, Math.min(suspectMs, 2 * rxIntervalMs) - this.#tickMs);
    return Math.min(Math.max(this.lastRxMs + rxIntervalMs, this.#questions.pacedMs), latestMs);
  }

  /** Where one missed interval is death, by the range of beats: the peer must take questions at that rate. */
  get #singleMissAskAtMs(): number {
    const { rxIntervalMs, txIntervalMs } = this.#limits;
    const wantedMs = this.lastRxMs + SINGLE_MISS_ASK * rxIntervalMs;
    const pacedMs = this.#questions.pacedMs - (1 - SINGLE_MISS_PACE) * txIntervalMs;
    return Math.min(Math.max(wantedMs, pacedMs), this.lastRxMs + rxIntervalMs);
  }

  /** A verdict is due but the peer was never asked, and can be. */
  get mustAsk(): boolean {
    return !this.#questions.isAsked && this.#watch === undefined && !this.#transmitter.isHeld;
  }

  /** When to look at a blocked queue again; Infinity while nothing waits. */
  get lookAtMs(): number {
    return this.#watch === undefined ? Infinity : this.#watch.lookedMs + this.#lookEveryMs;
  }

  /** When the queue that waits for the kernel last moved, ms; -Infinity: none waits. */
  get writeProgressMs(): number {
    return this.#watch?.progressMs ?? -Infinity;
  }

  get cause(): Cause {
    if (this.#watch !== undefined) return 'peer-not-reading';
    if (this.#transmitter.isHeld && !this.#questions.isAsked) return 'local';
    return this.heard ? 'link-dead' : 'never-answered';
  }

  life(rxMs: number): void {
    // It counted from a first question still to come.
    if (rxMs < this.lastRxMs) this.meansNothingBeforeMs = -Infinity;
    this.lastRxMs = rxMs;
    this.#questions.refuted();
    if (this.#graces !== 0) this.#pardon();
  }

  #pardon(): void {
    this.#graces = 0;
    this.graceUntilMs = -Infinity;
  }

  /** Often enough that a stall is known within D + D/8. */
  get #lookEveryMs(): number {
    return Math.max(this.#tickMs, this.#limits.deadMs >>> 3);
  }

  /** Start watching a queue that does not empty. Cheap: called on every host write. */
  queueGrew(now: number): void {
    if (this.#watch === undefined && this.#port.queuedBytes() > 0) this.#startWatch(now);
  }

  #startWatch(now: number): void {
    this.#watch = new WriteWatch(now, this.#port.takenBytes());
    this.meansNothingBeforeMs = -Infinity;
  }

  /**
   * Look whether the queue moved; returns how long it has stood still when that is news worth telling, else 0. A
   * queue that waits counts only when the sockets were served since this process woke (`polled`): until then it may
   * be us who did not write.
   */
  look(now: number, polled: boolean): number {
    const watch = this.#watch;
    if (this.#port.queuedBytes() === 0) {
      if (watch?.isConfirmed === true) this.#movedMs = now;
      this.#watch = undefined;
      return 0;
    }
    if (watch === undefined) {
      this.#startWatch(now);
      return 0;
    }
    if (!polled) return 0;
    if (watch.look(now, this.#port.takenBytes())) this.#movedMs = now;
    const stalledMs = now - watch.progressMs;
    if (stalledMs < this.#limits.deadMs || watch.stallReported) return 0;
    watch.stallReported = true;
    return stalledMs;
  }
}
