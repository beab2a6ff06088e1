/**
 * Advice, never a verdict: how surprising the present silence is, as phi = -log10 of the chance that a live peer
 * with the gaps seen so far would be silent this long (Hayashibara et al., "The phi accrual failure detector", 2004).
 * phi 1: one in ten; phi 8: one in a hundred million.
 *
 * Gaps longer than the outage limit are left out, because one outage would make all later ones look normal. The
 * variance is a smoothed mean square, so it cannot turn negative; the deviation has a floor of a tenth of the mean, so
 * a peer as regular as a clock is not suspected for a millisecond.
 */
const WEIGHT = 1 / 16;
const MIN_DEVIATION_OF_MEAN = 0.1;
const MIN_DEVIATION_MS = 5;
/** Beyond this the chance is no longer distinguishable from zero. */
const MAX_PHI = 40;

export class Suspicion {
  readonly #outageMs: number;
  #lastMs = -Infinity;
  #meanMs = 0;
  #varianceMs2 = 0;
  /** Gaps taken in so far. */
  samples = 0;

  constructor(outageMs: number) {
    this.#outageMs = outageMs;
  }

  /** Something was heard. */
  heard(nowMs: number): void {
    const gapMs = nowMs - this.#lastMs;
    if (!(gapMs >= 0)) return; // a clock that went back, or none
    this.#lastMs = nowMs;
    if (gapMs > this.#outageMs) return;
    if (this.samples++ === 0) {
      this.#meanMs = gapMs;
      return;
    }
    const deviation = gapMs - this.#meanMs;
    this.#meanMs += WEIGHT * deviation;
    this.#varianceMs2 = (1 - WEIGHT) * (this.#varianceMs2 + WEIGHT * deviation * deviation);
  }

  /** phi now, 0..40; 0 until two gaps are known. */
  phi(nowMs: number): number {
    if (this.samples < 2 || !(nowMs > this.#lastMs)) return 0;
    const floorMs = Math.max(MIN_DEVIATION_MS, MIN_DEVIATION_OF_MEAN * this.#meanMs);
    const y = (nowMs - this.#lastMs - this.#meanMs) / Math.max(Math.sqrt(this.#varianceMs2), floorMs);
    // Logistic approximation of the normal distribution's tail, written so that neither end overflows.
    const x = y * (1.5976 + 0.070566 * y * y);
    const phi = x > 0 ? (x + Math.log1p(Math.exp(-x))) / Math.LN10 : Math.log1p(Math.exp(x)) / Math.LN10;
    return Math.min(MAX_PHI, phi);
  }
}
