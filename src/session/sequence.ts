/**
 * The peer's sequence numbers on a byte stream: the dedup window plus the rule for a counter that restarts or
 * jumps. A number more than 1 024 ahead, or 64 and more behind, is only a *candidate*: not accepted, remembered.
 * If the very next number is candidate + 1 the counter really moved: the window starts anew with both. One forged
 * frame therefore can neither move the window away nor lock a restarted peer out.
 */
import { MAX_FORWARD_JUMP, WINDOW_ENTRIES } from '../wire/constants.ts';
import { DedupWindow } from '../wire/window.ts';

export type SequenceVerdict = 'new' | 'duplicate' | 'stale' | 'candidate';

export class PeerSequence {
  readonly #window = new DedupWindow();
  #candidate = 0;
  #hasCandidate = false;

  accept(seq: number): SequenceVerdict {
    if (this.#hasCandidate) {
      this.#hasCandidate = false;
      if (((this.#candidate + 1) | 0) === (seq | 0)) {
        this.#window.reset();
        this.#window.accept(this.#candidate >>> 0);
        return this.#window.accept(seq);
      }
    }
    const distance = this.#window.distance(seq);
    if (distance > MAX_FORWARD_JUMP || distance <= -WINDOW_ENTRIES) {
      this.#candidate = seq | 0;
      this.#hasCandidate = true;
      return 'candidate';
    }
    return this.#window.accept(seq);
  }
}
