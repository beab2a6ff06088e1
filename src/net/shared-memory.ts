/**
 * Memory for outgoing bytes that all links of a hub share, because each needs it for a moment only. A lone frame is
 * encoded and written at once. What is gathered while a chunk is read stays longer, and host code that runs meanwhile
 * may make other links send or even read: so it belongs to one link at a time, and whoever comes second writes at once.
 */
import { FrameBuffer } from './frame-buffer.ts';

const GATHER_BYTES = 65_536;

export class SharedMemory {
  /** For one frame that is written at once. */
  readonly lone = new FrameBuffer();
  /** For the borrower: answers, and host writes with the answers between them. */
  readonly answers = new FrameBuffer();
  readonly gather: Buffer = Buffer.allocUnsafeSlow(GATHER_BYTES);
  #borrower: object | undefined;

  /** True when `answers` and `gather` are the caller's until it gives them back. */
  borrow(borrower: object): boolean {
    if (this.#borrower !== undefined) return false;
    this.#borrower = borrower;
    return true;
  }

  giveBack(borrower: object): void {
    if (this.#borrower === borrower) this.#borrower = undefined;
  }
}
