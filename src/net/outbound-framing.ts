/**
 * Follows the host's own output to know where its frames end, for hosts that write headers and bodies apart. Keeps
 * at most one undecided header (64 bytes). A host that breaks its own framing is our caller's mistake: it throws.
 */
import { WirebeatError } from '../base/errors.ts';
import { MAGIC_0, MAGIC_1, MAX_HOST_HEADER_BYTES } from '../wire/constants.ts';

export type FrameLength = (bytes: Uint8Array, start: number, end: number) => number;

export class OutboundFraming {
  readonly #frameLength: FrameLength;
  /** Bytes of the open frame still to come. */
  #remaining = 0;
  #header = Buffer.allocUnsafeSlow(MAX_HOST_HEADER_BYTES);
  #headerBytes = 0;

  constructor(frameLength: FrameLength) {
    this.#frameLength = frameLength;
  }

  /** Is a host frame begun and not finished? */
  get isOpen(): boolean {
    return this.#remaining > 0 || this.#headerBytes > 0;
  }

  /** Follow these bytes. WirebeatError HB_ERR_HOST_MAGIC or HB_ERR_HOST_FRAMING; nothing has changed then. */
  accept(bytes: Uint8Array): void {
    const kept =
      this.#headerBytes === 0 ? undefined : Buffer.from(this.#header.subarray(0, this.#headerBytes));
    try {
      const { remaining, headerBytes } = this.#follow(bytes);
      this.#remaining = remaining;
      this.#headerBytes = headerBytes;
    } catch (error) {
      if (kept !== undefined) this.#header.set(kept);
      throw error;
    }
  }

  #follow(bytes: Uint8Array): { remaining: number; headerBytes: number } {
    let remaining = this.#remaining;
    let headerBytes = this.#headerBytes;
    let at = 0;
    while (at < bytes.length) {
      if (remaining > 0) {
        const step = Math.min(remaining, bytes.length - at);
        remaining -= step;
        at += step;
        continue;
      }
      // The header is always offered from its first byte, in one piece, however it was cut.
      const step = Math.min(MAX_HOST_HEADER_BYTES - headerBytes, bytes.length - at);
      this.#header.set(bytes.subarray(at, at + step), headerBytes);
      const length = this.#lengthOf(headerBytes + step, headerBytes);
      if (length === 0) {
        headerBytes += step;
        at += step;
        continue;
      }
      const consumed = Math.min(length - headerBytes, step);
      remaining = length - headerBytes - consumed;
      at += consumed;
      headerBytes = 0;
    }
    return { remaining, headerBytes };
  }

  #lengthOf(available: number, known: number): number {
    const startsLikeBeat = this.#header[0] === MAGIC_0;
    if (startsLikeBeat && available === 1) return 0; // the second byte decides whether this is legal
    const length =
      startsLikeBeat && this.#header[1] === MAGIC_1 ? -2 : this.#frameLength(this.#header, 0, available);
    if (length === 0 && available < MAX_HOST_HEADER_BYTES) return 0;
    const isLegal = Number.isSafeInteger(length) && length > known && !(startsLikeBeat && length === 1);
    if (isLegal) return length;
    if (length === -2 || startsLikeBeat) {
      throw new WirebeatError(
        'HB_ERR_HOST_MAGIC',
        'a host frame must not begin with bytes 48 42, nor be the one byte 48',
      );
    }
    const said = length === 0 ? `cannot decide within ${MAX_HOST_HEADER_BYTES} bytes` : `says ${length}`;
    throw new WirebeatError(
      'HB_ERR_HOST_FRAMING',
      `outboundFrameLength ${said}: the host left its own framing`,
    );
  }
}
