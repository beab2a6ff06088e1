/**
 * The question behind the heartbeat: does the peer's *application* still work? A PING with PROBE asks, at most one at
 * a time, and the peer answers through its own check. Four outcomes; only silence within the limit, or a failed
 * check, is a failure. It never ends a link: a link whose business is hung is still a link.
 */
export type BusinessOutcome = 'ok' | 'failed' | 'unknown' | 'hung';

export class BusinessProbe {
  /** When the next probe is owed, ms. */
  dueMs: number;
  /** The newest outcome; undefined before the first. */
  outcome: BusinessOutcome | undefined;
  /** Failures in a row. */
  failures = 0;
  /** When it was last OK, ms. */
  okMs = -Infinity;
  readonly #periodMs: number;
  readonly #limitMs: number;
  #waitingSeq = -1;
  #answerByMs = Infinity;

  constructor(firstMs: number, periodMs: number, limitMs: number) {
    this.dueMs = firstMs;
    this.#periodMs = periodMs;
    this.#limitMs = limitMs;
  }

  /** When to look again: a probe is owed, or its answer is overdue. */
  get nextMs(): number {
    return this.#waitingSeq === -1 ? this.dueMs : this.#answerByMs;
  }

  get isWaiting(): boolean {
    return this.#waitingSeq !== -1;
  }

  sent(seq: number, nowMs: number): void {
    this.#waitingSeq = seq;
    this.#answerByMs = nowMs + this.#limitMs;
    this.dueMs = nowMs + this.#periodMs;
  }

  /** An answer to `seq`: its outcome, or undefined when that probe does not wait (any more). */
  answered(seq: number, outcome: 'ok' | 'failed' | 'unknown', nowMs: number): BusinessOutcome | undefined {
    if (seq !== this.#waitingSeq) return undefined;
    if (outcome === 'ok') this.okMs = nowMs;
    return this.#settle(outcome);
  }

  /** Nothing came in time. */
  overdue(nowMs: number): BusinessOutcome | undefined {
    return this.#waitingSeq !== -1 && nowMs >= this.#answerByMs ? this.#settle('hung') : undefined;
  }

  /** Our own pause or sleep: the probe under way says nothing. */
  forget(nowMs: number): void {
    this.#waitingSeq = -1;
    this.dueMs = nowMs + this.#periodMs;
  }

  #settle(outcome: BusinessOutcome): BusinessOutcome {
    this.#waitingSeq = -1;
    this.outcome = outcome;
    if (outcome === 'ok') this.failures = 0;
    else if (outcome !== 'unknown') this.failures++;
    return outcome;
  }
}
