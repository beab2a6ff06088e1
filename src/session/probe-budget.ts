/**
 * How many suspect probes this process may send: 2 000 within any second, so that a network failure that silences ten
 * thousand links at once does not make us flood the path that is trying to come back. First questions go first:
 * repeated probes may use only half of the budget.
 *
 * Counted in slots over slightly more than a second, because a token bucket lets twice its rate pass in the first
 * second. Cost: 42 bytes per process, constant time per probe.
 */
const PROBES_PER_SECOND = 2_000;
const RESERVED_FOR_FIRST = PROBES_PER_SECOND / 2;
const SLOT_MS = 50;
/** The present slot is only partly over: one more than a second has. */
const SLOTS = 1_000 / SLOT_MS + 1;

export class ProbeBudget {
  readonly #counts = new Uint16Array(SLOTS);
  /** The newest slot, counted from time 0. */
  #slot = 0;
  /** Sum of all slots. */
  #used = 0;

  /** May probe number `index` of some link be sent at `nowMs`? */
  allow(index: number, nowMs: number): boolean {
    this.#forget(Math.floor(nowMs / SLOT_MS));
    const limit = index === 0 ? PROBES_PER_SECOND : PROBES_PER_SECOND - RESERVED_FOR_FIRST;
    if (this.#used >= limit) return false;
    this.#used++;
    this.#counts[this.#slot % SLOTS]!++;
    return true;
  }

  /** Move on to `slot`; a clock that stands or goes back frees nothing. */
  #forget(slot: number): void {
    this.#slot = Math.max(this.#slot, slot - SLOTS); // what lies further back is all forgotten in one round
    while (this.#slot < slot) {
      const oldest = ++this.#slot % SLOTS;
      this.#used -= this.#counts[oldest]!;
      this.#counts[oldest] = 0;
    }
  }
}
