/**
 * Scratch memory for outgoing frames, shared by all links of a hub. A socket that takes a write at once is done with
 * the bytes when `write` returns, so the same buffer serves the next frame; only when Node keeps the bytes (kernel
 * buffer full) must it be given up. Views are made once per length, because `subarray` costs more than the encoding.
 */
import { FRAME_BYTES } from '../wire/constants.ts';
import { encodeFrameInto } from '../wire/frame.ts';

/** Answers gathered from one chunk of input at most before they are written. */
export const BATCH_FRAMES = 64;

export class FrameBuffer {
  #bytes = Buffer.allocUnsafeSlow(BATCH_FRAMES * FRAME_BYTES);
  #views: Buffer[] = [];

  /** Encode a frame at place `index`. */
  put(index: number, flags: number, seq: number, word: number): void {
    encodeFrameInto(this.#bytes, index * FRAME_BYTES, flags, seq, word);
  }

  /** The first `frames` places. Valid until the next `put`, unless given up. */
  view(frames: number): Buffer {
    this.#views[frames] ??= this.#bytes.subarray(0, frames * FRAME_BYTES);
    return this.#views[frames];
  }

  /** Somebody kept the bytes: go on with fresh ones. */
  giveUp(): void {
    this.#bytes = Buffer.allocUnsafeSlow(BATCH_FRAMES * FRAME_BYTES);
    this.#views = [];
  }
}
