/** Round-trip times as the system's ping sums them up: least, mean, greatest, standard deviation. Constant memory. */
export class RoundTrips {
  count = 0;
  minMs = Number.NaN;
  maxMs = Number.NaN;
  meanMs = Number.NaN;
  /** Sum of squared distances from the mean (Welford), which does not cancel as a sum of squares would. */
  #spread = 0;

  /** One measurement, ms. NaN (the answer says nothing about the trip) is passed over. */
  add(rttMs: number): void {
    if (Number.isNaN(rttMs)) return;
    this.count++;
    if (this.count === 1) {
      this.minMs = this.maxMs = this.meanMs = rttMs;
      return;
    }
    this.minMs = Math.min(this.minMs, rttMs);
    this.maxMs = Math.max(this.maxMs, rttMs);
    const distance = rttMs - this.meanMs;
    this.meanMs += distance / this.count;
    this.#spread += distance * (rttMs - this.meanMs);
  }

  /** Standard deviation over all measurements; NaN before the first. */
  get mdevMs(): number {
    return this.count === 0 ? Number.NaN : Math.sqrt(this.#spread / this.count);
  }
}
