/**
 * Our questions and their answers: which pings wait, what an answer says about the round trip, since when the peer
 * has really been asked, and when the next question is owed. A missing answer alone is never a verdict.
 */
import type { Limits } from './limits.ts';
import { PingMap } from './pings.ts';
import { RttEstimator } from './rtt.ts';

const NEVER = -Infinity;
const PRECISE_ENTRIES = 64;
/** `answered`: no ping of ours waits for this number. */
export const UNMATCHED = -1;

export class Questions {
  readonly rtt = new RttEstimator();
  readonly #pings = new PingMap();
  readonly #limits: Limits;
  /** Fractional send times by number mod 64, when exact RTT is wanted. */
  readonly #sentAtMs: Float64Array | undefined;
  #lastAckMs = 0;
  #lastPingMs = NEVER;
  /** The round trip is unknown since a (re)start: ask soon, but an interval after the last question at the earliest. */
  #owesSoon = false;
  /** When the first question left that was followed by no answer to any. */
  #unansweredSinceMs = NEVER;
  /** When the set of waiting pings last became non-empty: no honest answer is older. */
  #waitingSinceMs = 0;
  /** Since when a ping sent after the last life has been in the kernel. */
  #askedMs = NEVER;
  /** When we asked for the first time. */
  firstPingMs = NEVER;
  /** A ping stands in this process's queue, not yet taken by the kernel. */
  #isQueued = false;

  constructor(limits: Limits, isPrecise: boolean) {
    this.#limits = limits;
    if (isPrecise) this.#sentAtMs = new Float64Array(PRECISE_ENTRIES);
  }

  /** Pings without an answer among the last 64 frames. */
  get outstanding(): number {
    return this.#pings.outstanding;
  }

  /** So many wait that a duty ping must be a BEAT instead. */
  get full(): boolean {
    return this.#pings.full;
  }

  /** Since when a question asked after the last life has been in the kernel, ms; -Infinity: none has. */
  get askedMs(): number {
    return this.#askedMs;
  }

  /** Has the kernel had a question since the last life? */
  get isAsked(): boolean {
    return this.#askedMs !== NEVER;
  }

  /** A question is on its way: in the kernel, or at least in this process's queue. */
  get isAsking(): boolean {
    return this.#isQueued || this.isAsked;
  }

  /**
   * The answer clock starts, or starts again: answers to earlier questions say nothing about the round trip. While it
   * is unknown the next question is owed soon, on a busy link too: it must be known before the link falls silent.
   */
  restart(nowMs: number): void {
    this.#waitingSinceMs = nowMs;
    this.#unansweredSinceMs = NEVER;
    // The first question keeps its phase, however often we pause before it.
    this.#lastAckMs = this.#lastPingMs === NEVER ? Math.max(this.#lastAckMs, nowMs) : nowMs;
    this.#owesSoon = this.rtt.samples === 0;
  }

  /** Own frame `seq` went out; `inKernel` or still in our queue. */
  sent(seq: number, isPing: boolean, inKernel: boolean, nowMs: number): void {
    if (isPing) {
      this.#owesSoon = false;
      this.#lastPingMs = Math.floor(nowMs);
      if (this.#unansweredSinceMs === NEVER) this.#unansweredSinceMs = this.#lastPingMs;
      if (this.firstPingMs === NEVER) this.firstPingMs = this.#lastPingMs;
      if (this.#pings.outstanding === 0) this.#waitingSinceMs = this.#lastPingMs;
      if (this.#sentAtMs !== undefined) this.#sentAtMs[seq % PRECISE_ENTRIES] = nowMs;
      if (!inKernel) this.#isQueued = true;
      else if (this.#askedMs === NEVER) this.#askedMs = this.#lastPingMs;
    }
    this.#pings.sent(seq, isPing);
  }

  /** The kernel has everything we handed over. */
  flushed(nowMs: number): void {
    if (this.#isQueued && this.#askedMs === NEVER) this.#askedMs = Math.floor(nowMs);
    this.#isQueued = false;
  }

  /** Life was heard: whatever was asked before no longer weighs. */
  refuted(): void {
    this.#askedMs = NEVER;
  }

  /**
   * An answer came. Returns the RTT in ms, NaN when it matched but says nothing usable about the round trip, or
   * UNMATCHED. `wireNow` is our wire clock now, `echoed` the timestamp sent back.
   */
  answered(seq: number, echoed: number, wireNow: number, isProbe: boolean, nowMs: number): number {
    if (!this.#pings.answered(seq)) return UNMATCHED;
    this.#unansweredSinceMs = NEVER;
    this.#lastAckMs = Math.floor(nowMs);
    if (isProbe) return Number.NaN; // the application's check ran in between
    const rttMs = (wireNow - echoed) >>> 0;
    // A time stamp from before we asked anything is forged or stale.
    if (rttMs > this.#lastAckMs - this.#waitingSinceMs) return Number.NaN;
    const sentAtMs = this.#sentAtMs;
    const exactMs = sentAtMs === undefined ? rttMs : nowMs - (sentAtMs[seq % PRECISE_ENTRIES] as number);
    this.rtt.sample(exactMs);
    return exactMs;
  }

  /** Is this frame, received as a ping of the peer's, one of ours that still waits? Somebody sends all back. */
  isOwn(seq: number, timestamp: number, wireNow: number, nowMs: number): boolean {
    return this.#pings.waits(seq) && (wireNow - timestamp) >>> 0 <= nowMs - this.#waitingSinceMs;
  }

  /** When to ask again although the link is busy: nothing was answered, nor asked, for D. */
  get askAtMs(): number {
    const { askMs, txIntervalMs } = this.#limits;
    if (this.#owesSoon) return Math.max(this.#lastAckMs, this.#lastPingMs + txIntervalMs);
    return Math.max(this.#lastAckMs, this.#lastPingMs) + askMs;
  }

  /** A question sooner than this would exceed the rate at which the peer wants to be spoken to. */
  get pacedMs(): number {
    return this.#lastPingMs + this.#limits.txIntervalMs;
  }

  /** Earliest time at which missing answers mean something: one RTO after the question. Needs `isAsked`. */
  get answerDueMs(): number {
    return this.#askedMs + this.rtt.rtoMs;
  }

  /** When answers have been missing for all of D, and longer than one takes; Infinity while none is missing. */
  get missingAtMs(): number {
    if (this.#unansweredSinceMs === NEVER) return Infinity;
    return this.#unansweredSinceMs + Math.max(this.#limits.deadMs, this.rtt.rtoMs);
  }

  /** How long nothing has been answered, counted from the first question since; -1 when nothing is missing. */
  unansweredMs(nowMs: number): number {
    return this.#unansweredSinceMs === NEVER ? -1 : nowMs - this.#unansweredSinceMs;
  }
}
