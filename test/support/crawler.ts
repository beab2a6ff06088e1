/**
 * A slow reader on a real socket: takes so many bytes per second off it and no more, counts host bytes (frames with a
 * four-byte length), and answers pings when it gets to them. It may also beat, whatever it reads.
 */
import type { Socket } from 'node:net';
import { Flag, FRAME_BYTES } from '../../src/wire/constants.ts';
import { decodeFrame, encodeFrame } from '../../src/wire/frame.ts';
import { later } from './sockets.ts';

const STEP_MS = 5;

export class Crawler {
  /** Host bytes read so far, headers included. */
  hostBytes = 0;
  bytesPerSecond: number;
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #hostRemaining = 0;
  #budgetBytes = 0;
  #steppedMs = performance.now();
  #seq = 1;

  constructor(socket: Socket, bytesPerSecond: number, beatEveryMs = 0) {
    this.#socket = socket;
    this.bytesPerSecond = bytesPerSecond;
    socket.on('readable', () => this.#read());
    const step = setInterval(() => this.#step(), STEP_MS);
    later(() => clearInterval(step));
    if (beatEveryMs === 0) return;
    const beat = setInterval(() => this.#send(0, this.#seq++, 0), beatEveryMs);
    later(() => clearInterval(beat));
  }

  #step(): void {
    const nowMs = performance.now();
    const earned = ((nowMs - this.#steppedMs) * this.bytesPerSecond) / 1_000;
    this.#steppedMs = nowMs;
    this.#budgetBytes = Math.min(this.#budgetBytes + earned, this.bytesPerSecond / 10);
    this.#read();
  }

  #read(): void {
    for (;;) {
      const bytes = Math.min(Math.floor(this.#budgetBytes), this.#socket.readableLength);
      if (bytes === 0) return;
      const chunk = this.#socket.read(bytes) as Buffer | null;
      if (chunk === null) return;
      this.#budgetBytes -= chunk.length;
      this.#take(chunk);
    }
  }

  #take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const taken = this.#unit(this.#rest);
      if (taken === 0) return;
      this.#rest = this.#rest.subarray(taken);
    }
  }

  /** Bytes of the first unit that could be taken. */
  #unit(bytes: Buffer): number {
    if (bytes.length === 0) return 0;
    if (this.#hostRemaining === 0 && bytes[0] === 0) {
      if (bytes.length < 4) return 0;
      this.#hostRemaining = 4 + bytes.readUInt32BE(0);
    }
    if (this.#hostRemaining > 0) {
      const taken = Math.min(this.#hostRemaining, bytes.length);
      this.#hostRemaining -= taken;
      this.hostBytes += taken;
      return taken;
    }
    if (bytes.length < FRAME_BYTES) return 0;
    const frame = decodeFrame(bytes);
    if (!frame.ok) throw new Error(`${frame.code}: a heartbeat inside a host frame, or none at a boundary`);
    if ((frame.flags & Flag.AckRequest) !== 0) this.#send(Flag.Ack, frame.seq, frame.timestamp);
    return FRAME_BYTES;
  }

  #send(flags: number, seq: number, timestamp: number): void {
    if (this.#socket.writable) this.#socket.write(encodeFrame({ flags, seq, timestamp }));
  }
}
