/**
 * Which of the peer's sequence numbers were seen already: a sliding window over the newest 64 (spec/HB1.md section 3).
 *
 * Contract: pure bookkeeping, no policy. The first number after construction or `reset`, zero included, is new.
 * Ahead of the newest: new, the window moves. Within the 64 newest: new once, then duplicate. Further behind, or at
 * the undecidable distance of exactly 2^31: stale. Whether a jump is believed is the caller's question, asked by
 * `distance` beforehand.
 *
 * Cost: O(1), no allocation. The bitmap is two 32-bit halves kept as int32, which V8 stores as small integers;
 * BigInt would allocate at every step. JavaScript takes shift counts modulo 32, hence the separate branches for
 * shifts of 32 and more, and for zero (x >>> 32 is x, not 0).
 */
import { integerIn } from '../base/assert.ts';
import { WINDOW_ENTRIES } from './constants.ts';
import { serialDistance } from './serial.ts';

export type Verdict = 'new' | 'duplicate' | 'stale';

const HALF = WINDOW_ENTRIES / 2;

export class DedupWindow {
  /** The newest number as int32; its own bit is bit 0 of `#recent`. */
  #newest = 0;
  #isEmpty = true;
  /** Bit k set: newest - k was seen, k in 0..31; `#older` likewise for 32..63. */
  #recent = 0;
  #older = 0;

  /** Judge `seq` (u32) and remember it. RangeError or TypeError when it is not a u32. */
  accept(seq: number): Verdict {
    if (seq >>> 0 !== seq) integerIn('seq', seq, 0, 0xffffffff);
    if (this.#isEmpty) {
      this.#isEmpty = false;
      this.#newest = seq | 0;
      this.#recent = 1;
      return 'new';
    }
    const ahead = serialDistance(seq, this.#newest);
    if (ahead > 0) {
      this.#shift(ahead);
      this.#recent |= 1;
      this.#newest = seq | 0;
      return 'new';
    }
    if (ahead > -HALF) {
      const mask = 1 << -ahead;
      if ((this.#recent & mask) !== 0) return 'duplicate';
      this.#recent |= mask;
      return 'new';
    }
    if (ahead > -WINDOW_ENTRIES) {
      const mask = 1 << (-ahead - HALF);
      if ((this.#older & mask) !== 0) return 'duplicate';
      this.#older |= mask;
      return 'new';
    }
    return 'stale';
  }

  /** Forget everything: the next number is new, whatever it is. */
  reset(): void {
    this.#isEmpty = true;
    this.#newest = 0;
    this.#recent = 0;
    this.#older = 0;
  }

  /** How far `seq` lies ahead of the newest number seen (`serialDistance`); 0 while nothing was seen. */
  distance(seq: number): number {
    return this.#isEmpty ? 0 : serialDistance(seq, this.#newest);
  }

  #shift(distance: number): void {
    if (distance < HALF) {
      this.#older = (this.#older << distance) | (this.#recent >>> (HALF - distance));
      this.#recent <<= distance;
    } else if (distance < WINDOW_ENTRIES) {
      this.#older = this.#recent << (distance - HALF);
      this.#recent = 0;
    } else {
      this.#older = 0;
      this.#recent = 0;
    }
  }
}
