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

export const isPing = (frame: ReadFrame): boolean => (frame.flags & PING_BIT) !== 0;
export const isAnswer = (frame: ReadFrame): boolean => (frame.flags & ANSWER_BIT) !== 0;

/** Byte `index` of the payload of a host frame of this length. */
export function payloadByte(length: number, index: number): number {
  return (length * 7 + index) & 0xff;
}

/** A whole frame of the reference host protocol with the payload the reader expects. */
export function hostFrame(length: number): Buffer {
  const frame = Buffer.alloc(4 + length);
  frame.writeUInt32BE(length);
  for (let index = 0; index < length; index++) frame[4 + index] = payloadByte(length, index);
  return frame;
}

function crcOf(bytes: Buffer, from: number): number {
  let crc = 0xffff;
  for (let at = from; at < from + 12; at++) {
    crc ^= (bytes[at] as number) << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}

export class WireReader {
  frames = 0;
  hostFrames = 0;
  /** Set when a shared stream is neither a heartbeat nor a good host frame; nothing is read after that. */
  broken: string | undefined;
  readonly #isShared: boolean;
  readonly #onFrame: (frame: ReadFrame) => void;
  readonly #onHost: () => void;
  #rest: Buffer = Buffer.alloc(0);
  #hostLength = 0;
  #hostRead = -1;

  constructor(isShared: boolean, onFrame: (frame: ReadFrame) => void, onHost: () => void = () => {}) {
    this.#isShared = isShared;
    this.#onFrame = onFrame;
    this.#onHost = onHost;
  }

  /** A host frame is begun and not finished. */
  get isInHostFrame(): boolean {
    return this.#hostRead >= 0;
  }

  push(chunk: Uint8Array): void {
    if (this.broken !== undefined) return;
    const bytes = this.#rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (;;) {
      const next = this.#hostRead >= 0 ? this.#payload(bytes, at) : this.#unit(bytes, at);
      if (next === at) break;
      at = next;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }

  /** One heartbeat, one stray byte, or a host header; where the next begins, or `at` when bytes are missing. */
  #unit(bytes: Buffer, at: number): number {
    const left = bytes.length - at;
    if (left === 0 || this.broken !== undefined) return at;
    const mayBeat = bytes[at] === 0x48 && (left === 1 || bytes[at + 1] === 0x42);
    if (mayBeat) {
      if (left < 16) return at;
      const isGood = bytes[at + 2] === 1 && crcOf(bytes, at) === bytes.readUInt16LE(at + 12) && bytes.readUInt16LE(at + 14) === 0;
      if (isGood) {
        this.frames++;
        this.#onFrame({ flags: bytes[at + 3] as number, seq: bytes.readUInt32LE(at + 4), word: bytes.readUInt32LE(at + 8) });
        return at + 16;
      }
      if (this.#isShared) this.broken = 'a heartbeat is damaged';
    }
    if (!this.#isShared) return at + 1;
    if (mayBeat || left < 4) return at;
    this.#hostLength = bytes.readUInt32BE(at);
    this.#hostRead = 0;
    this.#onHost();
    if (this.#hostLength === 0) this.#endHostFrame();
    return at + 4;
  }

  #payload(bytes: Buffer, at: number): number {
    if (at === bytes.length || this.broken !== undefined) return at;
    this.#onHost();
    let read = this.#hostRead;
    while (at < bytes.length && read < this.#hostLength) {
      if (bytes[at++] !== payloadByte(this.#hostLength, read++)) {
        this.broken = `byte ${read - 1} of a host frame of ${this.#hostLength} is not what was written`;
        return at;
      }
    }
    this.#hostRead = read;
    if (read === this.#hostLength) this.#endHostFrame();
    return at;
  }

  #endHostFrame(): void {
    this.hostFrames++;
    this.#hostRead = -1;
  }
}
