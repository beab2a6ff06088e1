/**
 * Smoothed round-trip time and the retransmission time-out derived from it, exactly as RFC 6298 section 2 has
 * them (alpha 1/8, beta 1/4, K 4). The time-out bounds how long an answer may take before its absence means
 * something; it is kept within 200..60 000 ms and is 1 000 ms until the first sample.
 */
export const INITIAL_RTO_MS = 1_000;
const MIN_RTO_MS = 200;
const MAX_RTO_MS = 60_000;
/** Clock granularity G of the RFC: wire timestamps count whole milliseconds. */
const GRANULARITY_MS = 1;

export class RttEstimator {
  /** Smoothed RTT, ms; meaningless until `samples` > 0. */
  srttMs = 0;
  /** Smoothed mean deviation, ms. */
  rttvarMs = 0;
  /** The newest sample, ms. */
  latestMs = 0;
  minMs = 0;
  maxMs = 0;
  samples = 0;
  /** Current time-out, whole ms. */
  rtoMs = INITIAL_RTO_MS;

  /** Take one measurement, ms >= 0. */
  sample(rttMs: number): void {
    this.latestMs = rttMs;
    if (this.samples === 0) {
      this.srttMs = this.minMs = this.maxMs = rttMs;
      this.rttvarMs = rttMs / 2;
    } else {
      // RFC 6298 2.3: the deviation is updated with the old average, then the average.
      this.rttvarMs = 0.75 * this.rttvarMs + 0.25 * Math.abs(this.srttMs - rttMs);
      this.srttMs = 0.875 * this.srttMs + 0.125 * rttMs;
      if (rttMs < this.minMs) this.minMs = rttMs;
      if (rttMs > this.maxMs) this.maxMs = rttMs;
    }
    this.samples++;
    const rto = Math.ceil(this.srttMs + Math.max(GRANULARITY_MS, 4 * this.rttvarMs));
    this.rtoMs = Math.min(Math.max(rto, MIN_RTO_MS), MAX_RTO_MS);
  }
}
