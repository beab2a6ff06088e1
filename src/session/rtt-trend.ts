/**
 * Advice, never a verdict: is the round trip creeping up, as it does before many links die? The baseline is the least
 * RTT of the last 64 to 128 answers; the alarm is raised when three answers in a row take at least three times that
 * and 20 ms more, and withdrawn when one takes less than twice that, or less than 10 ms more.
 */
const WINDOW = 64;
const RAISE_FACTOR = 3;
const RAISE_MS = 20;
const CLEAR_FACTOR = 2;
/** On loopback the baseline is 0 ms, and nothing is less than twice that. */
const CLEAR_MS = 10;
const IN_A_ROW = 3;

export class RttTrend {
  isRaised = false;
  #oldMinMs = Infinity;
  #newMinMs = Infinity;
  #inWindow = 0;
  #high = 0;

  /** The usual RTT, ms; Infinity before the first answer. */
  get baselineMs(): number {
    return Math.min(this.#oldMinMs, this.#newMinMs);
  }

  /** Take an RTT; true when the alarm changed. */
  sample(rttMs: number): boolean {
    const baselineMs = this.baselineMs;
    if (++this.#inWindow > WINDOW) {
      this.#oldMinMs = this.#newMinMs;
      this.#newMinMs = Infinity;
      this.#inWindow = 1;
    }
    this.#newMinMs = Math.min(this.#newMinMs, rttMs);
    const isHigh = rttMs >= RAISE_FACTOR * baselineMs && rttMs >= baselineMs + RAISE_MS;
    this.#high = isHigh ? this.#high + 1 : 0;
    if (!this.isRaised && this.#high >= IN_A_ROW) {
      this.isRaised = true;
      return true;
    }
    if (this.isRaised && rttMs < Math.max(CLEAR_FACTOR * baselineMs, baselineMs + CLEAR_MS)) {
      this.isRaised = false;
      return true;
    }
    return false;
  }
}
