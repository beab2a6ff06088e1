/**
 * Invariant: for every sequence of numbers and resets the window gives the verdict and the distance of a model that
 * remembers everything in numbers that never wrap.
 *
 * Input: one byte per step. 0x80 resets; 0x81 offers the u32 in the next four bytes (little-endian, missing ones
 * zero); 0x82 offers the number half the range away from the newest; any other byte, as a signed number, is the
 * distance of the number offered from the newest.
 */
import { DedupWindow } from '../../src/wire/window.ts';
import { same } from '../law.ts';

export const RESET = 0x80;
export const ABSOLUTE = 0x81;
export const HALF_RANGE = 0x82;

const RANGE = 2 ** 32;
const wrap = (value: number): number => ((value % RANGE) + RANGE) % RANGE;

class Model {
  #seen = new Set<number>();
  /** Unwrapped: grows with every round of the counter. */
  newest = 0;
  #isEmpty = true;

  distance(seq: number): number {
    if (this.#isEmpty) return 0;
    const forward = wrap(seq - this.newest);
    return forward >= RANGE / 2 ? forward - RANGE : forward;
  }

  accept(seq: number): string {
    const position = this.#isEmpty ? seq : this.newest + this.distance(seq);
    if (!this.#isEmpty && position <= this.newest - 64) return 'stale';
    if (this.#isEmpty || position > this.newest) this.newest = position;
    this.#isEmpty = false;
    if (this.#seen.has(position)) return 'duplicate';
    this.#seen.add(position);
    return 'new';
  }
}

export function fuzz(data: Buffer): void {
  const window = new DedupWindow();
  let model = new Model();
  for (let at = 0; at < data.length; at++) {
    const code = data[at]!;
    if (code === RESET) {
      window.reset();
      model = new Model();
      continue;
    }
    let seq = wrap(model.newest + ((code << 24) >> 24));
    if (code === HALF_RANGE) seq = wrap(model.newest + RANGE / 2);
    if (code === ABSOLUTE) {
      const bytes = Buffer.alloc(4);
      data.copy(bytes, 0, at + 1, at + 5);
      seq = bytes.readUInt32LE();
      at += 4;
    }
    same(window.distance(seq), model.distance(seq), `byte ${at}: the distance of ${seq}`);
    same(window.accept(seq), model.accept(seq), `byte ${at}: the verdict on ${seq}`);
  }
}
