/**
 * Which of my last 64 sequence numbers are pings still waiting for an answer: a 64-bit map in two int32 words,
 * bit d for the number sent d frames ago. An answer clears its bit, so a second answer to the same ping does not
 * match. At most 32 wait at once; a ping more than 64 frames old is forgotten. O(1), no allocation.
 */
import { MAX_UNANSWERED_PINGS, PING_MAP_ENTRIES } from '../wire/constants.ts';

export class PingMap {
  /** Bits 0..31 and 32..63: 1 = a ping without an answer. */
  #near = 0;
  #far = 0;
  /** Number that bit 0 stands for, int32. */
  #newest = 0;
  /** Pings without an answer among the last 64 frames. */
  outstanding = 0;

  /** True when a further duty ping must be a BEAT instead. */
  get full(): boolean {
    return this.outstanding >= MAX_UNANSWERED_PINGS;
  }

  /** Own frame `seq` (one more than the last) was sent. */
  sent(seq: number, isPing: boolean): void {
    if (this.#far < 0) this.outstanding--; // bit 63 leaves the map
    this.#far = (this.#far << 1) | (this.#near >>> 31);
    this.#near <<= 1;
    this.#newest = seq | 0;
    if (!isPing) return;
    this.#near |= 1;
    this.outstanding++;
    if (this.outstanding > MAX_UNANSWERED_PINGS) this.#forgetOldest();
  }

  /** Is `seq` a ping of mine that still waits? */
  waits(seq: number): boolean {
    const age = (this.#newest - seq) | 0;
    if (age < 0 || age >= PING_MAP_ENTRIES) return false;
    return ((age < 32 ? this.#near : this.#far) & (1 << (age & 31))) !== 0;
  }

  /** The answer to `seq` arrived: true when it matches a waiting ping, which then waits no more. */
  answered(seq: number): boolean {
    if (!this.waits(seq)) return false;
    const age = (this.#newest - seq) | 0;
    if (age < 32) this.#near &= ~(1 << age);
    else this.#far &= ~(1 << (age & 31));
    this.outstanding--;
    return true;
  }

  #forgetOldest(): void {
    if (this.#far !== 0) this.#far &= ~(1 << (31 - Math.clz32(this.#far)));
    else this.#near &= ~(1 << (31 - Math.clz32(this.#near)));
    this.outstanding--;
  }
}
