/**
 * How late this process itself has been running. One per process, shared by all its sessions: a process that could
 * not run cannot have listened, so its own lateness must never kill a peer.
 *
 * The score (0..8) stretches every verdict limit by up to twofold: +1 for a wake at least 100 ms late, +2 for one at
 * least 1 000 ms late, -1 per 5 s. Late wakes are kept with their lag, so that each session can ask whether one was
 * too late for *its* interval; one that a later and worse wake outdoes can answer no question any more and is dropped.
 */
const LATE_MS = 100;
const VERY_LATE_MS = 1_000;
const MAX_SCORE = 8;
const DECAY_MS = 5_000;
/** Late wakes kept at most. To need more, so many in a row would have to be less late each than the one before. */
const KEPT = 16;

interface LateWake {
  readonly atMs: number;
  readonly lagMs: number;
}

export class Lateness {
  /** Oldest first; each less late than the one before it. */
  readonly #wakes: LateWake[] = [];
  #score = 0;
  #scoredMs = 0;
  /** Longest lag since the process began, ms. */
  worstLagMs = 0;

  /** A wake came `lagMs` later than asked for. True when that is late enough to be told to the world. */
  note(nowMs: number, lagMs: number): boolean {
    if (lagMs > this.worstLagMs) this.worstLagMs = lagMs;
    if (lagMs < LATE_MS / 2) return false; // half of the smallest interval there is: nobody's interval is hurt
    const wakes = this.#wakes;
    while (wakes.length > 0 && (wakes.at(-1) as LateWake).lagMs <= lagMs) wakes.pop();
    if (wakes.length === KEPT) wakes.shift();
    wakes.push({ atMs: Math.floor(nowMs), lagMs });
    if (lagMs < LATE_MS) return false;
    this.#score = Math.min(MAX_SCORE, this.score(nowMs) + (lagMs >= VERY_LATE_MS ? 2 : 1));
    this.#scoredMs = nowMs;
    return true;
  }

  /** The score now, a whole number 0..8. */
  score(nowMs: number): number {
    return Math.max(0, this.#score - Math.floor((nowMs - this.#scoredMs) / DECAY_MS));
  }

  /**
   * When silence since `fromMs` exceeds `limitMs`, stretched by the score of that moment. The score only falls until
   * the process is late again, so this is exact now and can only move later.
   */
  limitAtMs(fromMs: number, limitMs: number, nowMs: number): number {
    if (this.#score === 0) return fromMs + limitMs;
    for (let score = this.score(nowMs); score > 0; score--) {
      const stretchedMs = fromMs + Math.ceil(limitMs * (1 + score / MAX_SCORE));
      const fallsMs = this.#scoredMs + (this.#score - score + 1) * DECAY_MS;
      if (stretchedMs < fallsMs) return stretchedMs;
      if (fromMs + Math.ceil(limitMs * (1 + (score - 1) / MAX_SCORE)) <= fallsMs) return Math.ceil(fallsMs);
    }
    return fromMs + limitMs;
  }

  /** When the newest wake later than `lagMs` happened; -Infinity when none is remembered. */
  newestLaterThan(lagMs: number): number {
    return this.#wakes.findLast((wake) => wake.lagMs > lagMs)?.atMs ?? -Infinity;
  }

  /** The worst lag of the last 5 s, whole ms: what LOOP_LAG tells a peer. */
  recentLagMs(nowMs: number): number {
    return this.worstSinceMs(nowMs - DECAY_MS);
  }

  /** The worst lag of a wake since `fromMs`, whole ms; 0: none worth remembering. */
  worstSinceMs(fromMs: number): number {
    return Math.floor(this.#wakes.find(({ atMs }) => atMs >= fromMs)?.lagMs ?? 0);
  }
}
