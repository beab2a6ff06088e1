/**
 * Reads wire bytes knowing only the specification: its own CRC, its own cutting, nothing of the library. Tells each
 * valid heartbeat, each stretch of host bytes, and whether the host's payload is what was written (a heartbeat inside
 * a host frame breaks the pattern).
 */

export interface ReadFrame {
  readonly flags: number;
  readonly seq: number;
  readonly word: number;
}

const PING_BIT = 1;
const ANSWER_BIT = 4;
const PARAMETER_BIT = 0x40;
const FRAME_LENGTH = 16;
const LONGEST_HOST_FRAME = 2 ** 24;
const NOTHING = new Uint8Array(0);

export const isPing = (frame: ReadFrame): boolean => (frame.flags & PING_BIT) !== 0;
export const isParameter = (frame: ReadFrame): boolean => (frame.flags & PARAMETER_BIT) !== 0;
export const isAnswer = (frame: ReadFrame): boolean => (frame.flags & ANSWER_BIT) !== 0;

/** Byte `index` of the payload of a host frame of this length. */
function payloadByte(length: number, index: number): number {
  return (length * 7 + index) & 0xff;
}

/** A whole frame of the reference host protocol with the payload the reader expects. */
export function hostFrame(length: number): Buffer {
  const frame = Buffer.alloc(4 + length);
  frame.writeUInt32BE(length);
  for (let index = 0; index < length; index++) frame[4 + index] = payloadByte(length, index);
  return frame;
}

function crcOf(bytes: Uint8Array, from: number): number {
  let crc = 0xffff;
  for (let at = from; at < from + 12; at++) {
    crc ^= bytes[at]! << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1;
  }
  return crc;
}

const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! + bytes[at + 1]! * 256;
const u32 = (bytes: Uint8Array, at: number): number => u16(bytes, at) + u16(bytes, at + 2) * 65_536;

/** A heartbeat that every receiver must take, as far as it can be told without its flags. */
function isGoodFrame(bytes: Uint8Array, at: number): boolean {
  return bytes[at + 2] === 1 && u16(bytes, at + 14) === 0 && crcOf(bytes, at) === u16(bytes, at + 12);
}

export class WireReader {
  frames = 0;
  /** Set when a shared stream is neither a heartbeat nor a good host frame; nothing is read after that. */
  broken: string | undefined;
  readonly #isShared: boolean;
  readonly #onFrame: (frame: ReadFrame) => void;
  readonly #onHost: (() => void) | undefined;
  #rest: Uint8Array = NOTHING;
  #hostLength = 0;
  /** Payload bytes read of the open host frame; -1 between frames. */
  #hostRead = -1;

  /** Without `onHost` the stream is what somebody writes, undamaged: then payloads are compared too. */
  constructor(isShared: boolean, onFrame: (frame: ReadFrame) => void, onHost?: () => void) {
    this.#isShared = isShared;
    this.#onFrame = onFrame;
    this.#onHost = onHost;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at < bytes.length && this.broken === undefined) {
      const next = this.#hostRead >= 0 ? this.#payload(bytes, at) : this.#unit(bytes, at);
      if (next === at) break;
      at = next;
    }
    this.#rest = at === bytes.length ? NOTHING : Buffer.from(bytes.subarray(at));
  }

  /** One heartbeat, one stray byte, or a host header; where the next begins, or `at` when bytes are missing. */
  #unit(bytes: Uint8Array, at: number): number {
    const left = bytes.length - at;
    if (bytes[at] === 0x48 && (left === 1 || bytes[at + 1] === 0x42)) {
      if (left < FRAME_LENGTH) return at;
      if (isGoodFrame(bytes, at)) {
        this.frames++;
        this.#onFrame({ flags: bytes[at + 3]!, seq: u32(bytes, at + 4), word: u32(bytes, at + 8) });
        return at + FRAME_LENGTH;
      }
      if (this.#isShared) this.broken = 'a heartbeat is damaged';
    }
    return this.#isShared ? this.#hostHeader(bytes, at) : at + 1;
  }

  #hostHeader(bytes: Uint8Array, at: number): number {
    if (this.broken !== undefined || bytes.length - at < 4) return at;
    this.#hostLength =
      ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
    if (this.#hostLength >= LONGEST_HOST_FRAME) {
      this.broken = 'a host frame is too long';
      return at;
    }
    this.#onHost?.();
    this.#hostRead = this.#hostLength === 0 ? -1 : 0;
    return at + 4;
  }

  #payload(bytes: Uint8Array, at: number): number {
    this.#onHost?.();
    const from = this.#hostRead;
    const read = Math.min(this.#hostLength, from + bytes.length - at);
    for (let index = from; this.#onHost === undefined && index < read; index++) {
      if (bytes[at + index - from] === payloadByte(this.#hostLength, index)) continue;
      this.broken = `byte ${index} of a host frame of ${this.#hostLength} is not what was written`;
      return at;
    }
    this.#hostRead = read === this.#hostLength ? -1 : read;
    return at + read - from;
  }
}
