/**
 * The rival of codec.bench.ts: the codec, window and splitter as one would write them without thinking about
 * cost: Buffer methods, one CRC table, an object per frame, a Set, Buffer.concat. Correct, and nothing more.
 */
const TABLE = Array.from({ length: 256 }, (_, value) => {
  let crc = value << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  return crc;
});

export interface PlainFrame {
  magic: number;
  version: number;
  flags: number;
  seq: number;
  timestamp: number;
}

export function plainCrc(bytes: Buffer, start: number, end: number): number {
  let crc = 0xffff;
  for (let at = start; at < end; at++) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ bytes[at]!]!;
  return crc;
}

export function plainEncode(
  target: Buffer,
  offset: number,
  flags: number,
  seq: number,
  timestamp: number,
): void {
  target.writeUInt16LE(0x4248, offset);
  target.writeUInt8(1, offset + 2);
  target.writeUInt8(flags, offset + 3);
  target.writeUInt32LE(seq, offset + 4);
  target.writeUInt32LE(timestamp, offset + 8);
  target.writeUInt16LE(plainCrc(target, offset, offset + 12), offset + 12);
  target.writeUInt16LE(0, offset + 14);
}

/** The frame, or null for anything damaged. */
export function plainDecode(bytes: Buffer, offset: number): PlainFrame | null {
  const frame = {
    magic: bytes.readUInt16LE(offset),
    version: bytes.readUInt8(offset + 2),
    flags: bytes.readUInt8(offset + 3),
    seq: bytes.readUInt32LE(offset + 4),
    timestamp: bytes.readUInt32LE(offset + 8),
  };
  const isGood =
    frame.magic === 0x4248 &&
    frame.version === 1 &&
    bytes.readUInt16LE(offset + 12) === plainCrc(bytes, offset, offset + 12) &&
    bytes.readUInt16LE(offset + 14) === 0;
  return isGood ? frame : null;
}

/** The last 64 numbers in a Set, the oldest leaving first. */
export class PlainWindow {
  readonly #seen = new Set<number>();

  accept(seq: number): 'new' | 'duplicate' {
    if (this.#seen.has(seq)) return 'duplicate';
    this.#seen.add(seq);
    if (this.#seen.size > 64) this.#seen.delete(this.#seen.values().next().value!);
    return 'new';
  }
}

/** Heartbeats between host frames with a 4-byte big-endian length: join what is left with what comes, and cut. */
export class PlainSplitter {
  readonly #onFrame: (frame: PlainFrame) => void;
  readonly #onHost: (bytes: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onFrame: (frame: PlainFrame) => void, onHost: (bytes: Buffer) => void) {
    this.#onFrame = onFrame;
    this.#onHost = onHost;
  }

  push(chunk: Buffer): void {
    let bytes = Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 4) {
      const isHeartbeat = bytes.readUInt16LE(0) === 0x4248;
      const length = isHeartbeat ? 16 : 4 + bytes.readUInt32BE(0);
      if (bytes.length < length) break;
      const unit = bytes.subarray(0, length);
      bytes = bytes.subarray(length);
      if (!isHeartbeat) this.#onHost(unit);
      else {
        const frame = plainDecode(unit, 0);
        if (frame === null) throw new Error('damaged heartbeat');
        this.#onFrame(frame);
      }
    }
    this.#rest = bytes;
  }
}
