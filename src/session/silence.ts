/**
 * The judging side of a session: how long the peer has been silent, what that means, and what may still speak for
 * it. Knows nothing of frames.
 *
 * A peer is suspect at lastRx + suspect limit and dead at lastRx + D, but only when a question has been in the
 * kernel for one RTO, we are reading, and our write queue does not move: a peer that takes our bytes is alive,
 * however slowly.
 */
import type { Cause } from './causes.ts';
import type { SessionPolicy } from './policy.ts';
import type { SessionPort } from './port.ts';
import type { Questions } from './questions.ts';
import type { Transmitter } from './transmitter.ts';
import { WriteWatch } from './write-watch.ts';

export class Silence {
  /** Last life, or the moment from which silence counts. */
  lastRxMs = 0;
  /** Something valid was heard from this peer. */
  heard = false;
  /** We stopped reading: nothing may be concluded. */
  isPaused = false;
  readonly deadMs: number;

  readonly #intervalMs: number;
  readonly #suspectMs: number;
  readonly #lookEveryMs: number;
  readonly #port: SessionPort;
  readonly #questions: Questions;
  readonly #transmitter: Transmitter;
  #watch: WriteWatch | undefined;
  /** When a blocked queue was last seen to move: the peer takes our bytes, however slowly. */
  #movedMs = -Infinity;

  constructor(policy: SessionPolicy, port: SessionPort, questions: Questions, transmitter: Transmitter) {
    this.#intervalMs = policy.intervalMs;
    this.deadMs = policy.deadAfter * policy.intervalMs;
    this.#suspectMs = Math.ceil(policy.suspectAfter * policy.intervalMs);
    // Often enough that a stall is known within D + D/8.
    this.#lookEveryMs = Math.max(policy.tickMs, this.deadMs >>> 3);
    this.#port = port;
    this.#questions = questions;
    this.#transmitter = transmitter;
  }

  get suspectAtMs(): number {
    return this.lastRxMs + this.#suspectMs;
  }

  /** Earliest time of a verdict, given what speaks for the peer now. */
  get deadAtMs(): number {
    const at = Math.max(this.lastRxMs, this.#movedMs) + this.deadMs;
    if (this.#questions.isAsked) return Math.max(at, this.#questions.answerDueMs);
    // No question gets through: the queue is stuck, or our own host keeps a frame open. Either has a full window.
    if (this.#watch !== undefined) return Math.max(at, this.#watch.progressMs + this.deadMs);
    if (this.#transmitter.isHeld) return Math.max(at, this.#transmitter.lastTxMs + this.deadMs);
    return at;
  }

  /**
   * When a silent peer must be asked although the host's own writes have taken over our duty: without a question no
   * later than this a verdict would come later than published, and one who only answers would be suspect for nothing.
   */
  get askAtMs(): number {
    return this.#questions.isAsking ? Infinity : this.lastRxMs + this.#intervalMs;
  }

  /** A verdict is due but the peer was never asked, and can be. */
  get mustAsk(): boolean {
    return !this.#questions.isAsked && this.#watch === undefined && !this.#transmitter.isHeld;
  }

  /** When to look at a blocked queue again; Infinity while nothing waits. */
  get lookAtMs(): number {
    return this.#watch === undefined ? Infinity : this.#watch.lookedMs + this.#lookEveryMs;
  }

  get cause(): Cause {
    if (this.#watch !== undefined) return 'peer-not-reading';
    if (this.#transmitter.isHeld && !this.#questions.isAsked) return 'local';
    return this.heard ? 'link-dead' : 'never-answered';
  }

  life(rxMs: number): void {
    this.lastRxMs = rxMs;
    this.#questions.refuted();
  }

  /** Start watching a queue that does not empty. Cheap: called on every host write. */
  queueGrew(now: number): void {
    if (this.#watch !== undefined || this.#port.queuedBytes() === 0) return;
    this.#watch = new WriteWatch(now, this.#port.takenBytes());
  }

  /** Look whether the queue moved. Returns how long it has stood still when that is news worth telling, else 0. */
  look(now: number): number {
    const watch = this.#watch;
    if (this.#port.queuedBytes() === 0) {
      if (watch?.isConfirmed === true) this.#movedMs = now;
      this.#watch = undefined;
      return 0;
    }
    if (watch === undefined) {
      this.#watch = new WriteWatch(now, this.#port.takenBytes());
      return 0;
    }
    if (watch.look(now, this.#port.takenBytes())) this.#movedMs = now;
    const stalledMs = now - watch.progressMs;
    if (stalledMs < this.deadMs || watch.stallReported) return 0;
    watch.stallReported = true;
    return stalledMs;
  }
}
