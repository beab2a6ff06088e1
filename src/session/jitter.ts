/**
 * Interarrival jitter after RFC 3550 section 6.4.1: J += (|D| - J) / 16, where D is the change of transit time
 * between consecutive BEATs or PINGs of the peer. Their timestamps carry an unknown offset, which cancels in the
 * difference. A peer that only answers sends none; then the change of RTT between answers stands in for D.
 */
export class JitterEstimator {
  /** Smoothed jitter, ms. */
  jitterMs = 0;
  #transit = 0;
  #hasTransit = false;
  #lastRttMs = -1;

  /** A BEAT or PING arrived: our clock's and its own timestamp, both u32 ms. */
  arrival(arrivalMs: number, timestamp: number): void {
    const transit = (arrivalMs - timestamp) | 0;
    // The int32 difference stays right when either clock wraps past 2^32.
    if (this.#hasTransit) this.#update(Math.abs((transit - this.#transit) | 0));
    this.#transit = transit;
    this.#hasTransit = true;
  }

  /** An answer measured this RTT; counts only while the peer has sent nothing stamped by its own clock. */
  answer(rttMs: number): void {
    if (this.#hasTransit) return;
    if (this.#lastRttMs >= 0) this.#update(Math.abs(rttMs - this.#lastRttMs));
    this.#lastRttMs = rttMs;
  }

  #update(deviationMs: number): void {
    this.jitterMs += (deviationMs - this.jitterMs) / 16;
  }
}
