/**
 * How many suspect probes this process may send per second, so that a network failure that silences ten thousand
 * links at once does not make us flood the path that is trying to come back. First questions go first: repeated
 * probes may use only the upper half of the budget.
 */
const PROBES_PER_SECOND = 2_000;
const RESERVED_FOR_FIRST = PROBES_PER_SECOND / 2;

export class ProbeBudget {
  #tokens = PROBES_PER_SECOND;
  #filledMs = 0;

  /** May probe number `index` of some link be sent at `nowMs`? */
  allow(index: number, nowMs: number): boolean {
    const earned = ((nowMs - this.#filledMs) * PROBES_PER_SECOND) / 1_000;
    this.#tokens = Math.min(PROBES_PER_SECOND, this.#tokens + Math.max(0, earned));
    this.#filledMs = nowMs;
    const floor = index === 0 ? 1 : RESERVED_FOR_FIRST + 1;
    if (this.#tokens < floor) return false;
    this.#tokens--;
    return true;
  }
}
