/**
 * Which of the wheel's 1 024 slots hold timers: 32 words of 32 bits and one summary word, so that the first
 * occupied slot is found by two bit scans, however empty the stretch before it.
 *
 * JavaScript shifts take their count modulo 32, so `1 << slot` is already the bit within the slot's word.
 */

/** Slots the bitmap covers. */
export const SLOT_COUNT = 1024;

/** A set of integers in 0..1023 that answers "which is the smallest?" in constant time. */
export class SlotBitmap {
  readonly #words = new Int32Array(SLOT_COUNT / 32);
  #summary = 0;

  add(slot: number): void {
    this.#words[slot >>> 5]! |= 1 << slot;
    this.#summary |= 1 << (slot >>> 5);
  }

  remove(slot: number): void {
    const word = slot >>> 5;
    if ((this.#words[word]! &= ~(1 << slot)) === 0) this.#summary &= ~(1 << word);
  }

  /** The smallest member, or -1 when empty. */
  first(): number {
    if (this.#summary === 0) return -1;
    const word = lowestBit(this.#summary);
    return word * 32 + lowestBit(this.#words[word]!);
  }
}

/** Position of the lowest set bit of a non-zero word. */
function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
