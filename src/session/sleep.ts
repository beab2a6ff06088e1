/**
 * Tells a machine that slept from a process that stalled. The monotonic clock stands still during suspend, the boot
 * clock goes on; a stall moves both. So a gap that opens between them is sleep, and nothing else is. A step of the
 * wall clock moves neither.
 *
 * Where there is no boot clock the wall clock stands in for it: then a forward step of the wall clock looks like
 * sleep, which costs one fresh window; it is believed at most once per `holdMs`, so that it cannot postpone verdicts
 * for ever.
 */
const SLEPT_MS = 2_000;

export class SleepDetector {
  readonly #holdMs: number;
  #offsetMs = Number.NaN;
  #lastMs = -Infinity;

  /** `holdMs`: shortest time between two findings; 0 with a true boot clock. */
  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  /** Look at both clocks; returns how long the machine slept since the last look, else 0. */
  look(monotonicMs: number, bootMs: number): number {
    const offsetMs = bootMs - monotonicMs;
    const sleptMs = offsetMs - this.#offsetMs;
    this.#offsetMs = offsetMs;
    // The comparison is false on the first look, when the offset was not known.
    if (!(sleptMs > SLEPT_MS) || monotonicMs - this.#lastMs < this.#holdMs) return 0;
    this.#lastMs = monotonicMs;
    return sleptMs;
  }
}
