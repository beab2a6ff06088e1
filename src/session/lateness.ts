/**
 * How late this process itself has been running. One per process, shared by all its sessions: a process that could
 * not run cannot have listened, so its own lateness must never kill a peer.
 *
 * The score (0..8) stretches every verdict limit by up to twofold: +1 for a wake at least 100 ms late, +2 for one at
 * least 1 000 ms late, -1 per 5 s. The newest late wakes are kept with their lag, so that each session can ask
 * whether one was too late for *its* interval.
 */
const LATE_MS = 100;
const VERY_LATE_MS = 1_000;
const MAX_SCORE = 8;
const DECAY_MS = 5_000;
/** Late wakes kept. A later one is the more important; eight cover two graces of any mix of intervals. */
const KEPT = 8;

export class Lateness {
  readonly #atMs = new Float64Array(KEPT).fill(-1);
  readonly #lagMs = new Float64Array(KEPT);
  #next = 0;
  #score = 0;
  #scoredMs = 0;
  /** Longest lag since the process began, ms. */
  worstLagMs = 0;

  /** A wake came `lagMs` later than asked for. True when that is late enough to be told to the world. */
  note(nowMs: number, lagMs: number): boolean {
    if (lagMs > this.worstLagMs) this.worstLagMs = lagMs;
    if (lagMs < LATE_MS / 2) return false; // half of the smallest interval there is: nobody's interval is hurt
    this.#atMs[this.#next] = Math.floor(nowMs);
    this.#lagMs[this.#next] = lagMs;
    this.#next = (this.#next + 1) % KEPT;
    if (lagMs < LATE_MS) return false;
    this.#score = Math.min(MAX_SCORE, this.score(nowMs) + (lagMs >= VERY_LATE_MS ? 2 : 1));
    this.#scoredMs = nowMs;
    return true;
  }

  /** The score now, a whole number 0..8. */
  score(nowMs: number): number {
    return Math.max(0, this.#score - Math.floor((nowMs - this.#scoredMs) / DECAY_MS));
  }

  /** What verdict limits are multiplied with now, 1..2. */
  stretch(nowMs: number): number {
    return this.#score === 0 ? 1 : 1 + this.score(nowMs) / MAX_SCORE;
  }

  /** When the newest wake later than `lagMs` happened; -1 when none is remembered. */
  newestLaterThan(lagMs: number): number {
    let newest = -1;
    for (let index = 0; index < KEPT; index++) {
      const atMs = this.#atMs[index] as number;
      if (atMs > newest && (this.#lagMs[index] as number) > lagMs) newest = atMs;
    }
    return newest;
  }

  /** The worst lag of the last 5 s, whole ms: what LOOP_LAG tells a peer. */
  recentLagMs(nowMs: number): number {
    let worst = 0;
    for (let index = 0; index < KEPT; index++) {
      const isRecent =
        (this.#atMs[index] as number) >= nowMs - DECAY_MS && (this.#atMs[index] as number) >= 0;
      if (isRecent) worst = Math.max(worst, this.#lagMs[index] as number);
    }
    return Math.floor(worst);
  }
}
