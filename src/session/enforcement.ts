/**
 * Holds a peer to the rate it agreed to, and teaches before it cuts: a token bucket wide enough for every legal jitter
 * and bunched delivery, eight strikes that are forgiven with time, a reminder of our rates at the first, GOAWAY with
 * the allowed rate at the eighth. In force only after the peer answered our POLL with FINAL: before that it cannot
 * know. Pure: time is an argument.
 */
const MAX_STRIKES = 8;
/** One strike is forgiven in this time. */
const FORGIVE_MS = 30_000;
/** A reminder at most this often. */
const REMIND_MS = 10_000;
/** Legal senders jitter down to 0.75 of the interval; refilling at 0.7 leaves room for rounding to ticks. */
const REFILL_OF_INTERVAL = 0.7;
const JITTER_FLOOR = 0.75;
/** Suspect probes and a change of rates come beside the beats. */
const EXTRA_TOKENS = 8;
/** A group of parameters costs what its POLL costs: the three words before it are free, once per POLL. */
const FREE_WORDS = 3;
/** The first group is free altogether. */
const FREE_POLLS = 1;

/** What was read: a rate word of a group, its POLL, or anything else. */
export type Charged = 'word' | 'poll' | 'other';

/** What a strike leads to. `strike`: counted, nothing to do. */
export type Sentence = 'strike' | 'remind' | 'cut';

export class Enforcement {
  strikes = 0;
  #tokens = 0;
  #filledMs = 0;
  #forgivenMs = 0;
  #remindedMs = -Infinity;
  #freeWords = FREE_WORDS;
  #freePolls = FREE_POLLS;
  #requiredMs = 0;
  #depth = 0;

  /** Enforce this from now on; a change begins with a full bucket. */
  require(requiredMs: number, multiplier: number, nowMs: number): void {
    if (this.#requiredMs === requiredMs) return;
    this.#requiredMs = requiredMs;
    this.#depth = Math.ceil(multiplier / JITTER_FLOOR) + EXTRA_TOKENS;
    this.#tokens = this.#depth;
    this.#filledMs = this.#forgivenMs = nowMs;
  }

  /** A frame that costs a token was read; false when there is none left. */
  pays(what: Charged, nowMs: number): boolean {
    if (what === 'word' && this.#freeWords-- > 0) return true;
    if (what === 'poll') {
      this.#freeWords = FREE_WORDS;
      if (this.#freePolls-- > 0) return true;
    }
    this.#tokens += (nowMs - this.#filledMs) / (REFILL_OF_INTERVAL * this.#requiredMs);
    this.#tokens = Math.min(this.#depth, this.#tokens);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** It could not pay, and nothing excuses it. */
  strike(nowMs: number): Sentence {
    const forgiven = Math.min(this.strikes, Math.floor((nowMs - this.#forgivenMs) / FORGIVE_MS));
    this.strikes += 1 - forgiven;
    // Time towards the next forgiveness runs on; without strikes there was nothing to forgive.
    this.#forgivenMs = this.strikes === 1 ? nowMs : this.#forgivenMs + forgiven * FORGIVE_MS;
    this.#tokens = Math.max(this.#tokens, 0);
    if (this.strikes >= MAX_STRIKES) return 'cut';
    if (this.strikes !== 1 || nowMs - this.#remindedMs < REMIND_MS) return 'strike';
    this.#remindedMs = nowMs;
    return 'remind';
  }
}
