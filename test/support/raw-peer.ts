/**
 * The other end of a link, in the hands of a test: an independent, bare peer that reads frames with `decodeFrame`,
 * keeps what it saw, and answers pings only while it is told to. It knows no timers and judges nothing.
 */
import type { Socket } from 'node:net';
import { Flag, FRAME_BYTES } from '../../src/wire/constants.ts';
import { decodeFrame, encodeFrame, type Frame } from '../../src/wire/frame.ts';
import { eventually } from './sockets.ts';

export class RawPeer {
  readonly socket: Socket;
  /** Frames received, oldest first. */
  readonly frames: Frame[] = [];
  /** Bytes of host frames (length-prefixed, four bytes big-endian) received so far. */
  hostBytes = 0;
  answers: boolean;
  hasEnded = false;
  #rest: Buffer = Buffer.alloc(0);
  #hostRemaining = 0;
  readonly #host: Buffer[] = [];
  #seq = 100;

  constructor(socket: Socket, options: { answers?: boolean } = {}) {
    this.socket = socket;
    this.answers = options.answers ?? true;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('end', () => {
      this.hasEnded = true;
    });
  }

  /** All bytes of host frames, in order. */
  get host(): Buffer {
    return Buffer.concat(this.#host);
  }

  /** Frames with all of these flags. */
  framesWith(flags: number): Frame[] {
    return this.frames.filter((frame) => (frame.flags & flags) === flags);
  }

  get pings(): Frame[] {
    return this.framesWith(Flag.AckRequest);
  }

  get pongs(): Frame[] {
    return this.framesWith(Flag.Ack);
  }

  send(flags: number, timestamp = 0, seq = this.#seq++): void {
    this.socket.write(encodeFrame({ flags, seq, timestamp }));
  }

  /** The next frame of our own, as bytes. */
  frame(flags: number, timestamp = 0): Buffer {
    return encodeFrame({ flags, seq: this.#seq++, timestamp });
  }

  async seen(count: number, flags = 0): Promise<Frame[]> {
    await eventually(() => this.framesWith(flags).length >= count, `${count} frames with flags ${flags}`);
    return this.framesWith(flags);
  }

  async ended(): Promise<void> {
    await eventually(() => this.hasEnded, 'the end of the stream');
  }

  #read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length > 0) {
      const taken = this.#take(this.#rest);
      if (taken === 0) return;
      this.#rest = this.#rest.subarray(taken);
    }
  }

  /** How many bytes of the first unit could be taken. */
  #take(bytes: Buffer): number {
    if (this.#hostRemaining > 0 || bytes[0] === 0) {
      if (this.#hostRemaining === 0) {
        if (bytes.length < 4) return 0;
        this.#hostRemaining = 4 + bytes.readUInt32BE(0);
      }
      const taken = Math.min(this.#hostRemaining, bytes.length);
      this.#hostRemaining -= taken;
      this.hostBytes += taken;
      this.#host.push(bytes.subarray(0, taken));
      return taken;
    }
    if (bytes.length < FRAME_BYTES) return 0;
    const frame = decodeFrame(bytes);
    if (!frame.ok)
      throw new Error(`${frame.code}: no frame where one must be: ${bytes.toString('hex', 0, 32)}`);
    this.frames.push({ flags: frame.flags, seq: frame.seq, timestamp: frame.timestamp });
    if (this.answers && (frame.flags & Flag.AckRequest) !== 0 && this.socket.writable) {
      this.socket.write(encodeFrame({ flags: Flag.Ack, seq: frame.seq, timestamp: frame.timestamp }));
    }
    return FRAME_BYTES;
  }
}
