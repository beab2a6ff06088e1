/**
 * Questions to a suspect at RTT speed: five probes at entry + s x (2^k - 1), k = 0..4, with s = max(RTO, 200 ms).
 * A live peer refutes within one round trip; a dead one costs five frames.
 */
const PROBES = 5;
const MIN_STEP_MS = 200;

export class SuspectProbes {
  /** When the next one is due, ms; Infinity after the last. */
  nextMs: number;
  readonly #enteredMs: number;
  readonly #stepMs: number;
  #index = 0;

  constructor(nowMs: number, rtoMs: number) {
    this.#enteredMs = this.nextMs = nowMs;
    this.#stepMs = Math.max(rtoMs, MIN_STEP_MS);
  }

  /** The due probe is used (sent or given up); returns its number. */
  take(): number {
    const taken = this.#index++;
    this.nextMs = this.#index < PROBES ? this.#enteredMs + this.#stepMs * (2 ** this.#index - 1) : Infinity;
    return taken;
  }
}
