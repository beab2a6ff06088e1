/**
 * A socket of the lab: as much of `net.Socket` as a link and a test peer use, with Node's timing, over two `LabPipe`s.
 *
 * What is kept of the original because behaviour hangs on it: a write the kernel takes at once leaves
 * `writableLength` at 0 and calls back in the next tick; one it does not stays whole in `writableLength` until its
 * last byte is taken, while the handle's `writeQueueSize` shrinks; further writes wait and then leave together. Reads
 * happen in the poll phase only, 2 MiB at most in a row. `end` flushes first; `destroy` sends RST when bytes were
 * unread, else FIN. After both directions ended the socket destroys itself (`allowHalfOpen` is false).
 * Left out: encodings, corking, options, time-outs, and connecting: the connection stands from the beginning.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { LabPipe, LabPipeEnd } from './lab-pipe.ts';
import type { LabProcess } from './lab-process.ts';

type Callback = (error?: Error | null) => void;

interface Pending {
  bytes: Uint8Array;
  readonly totalBytes: number;
  readonly callbacks: Callback[];
}

/** Node reads at most this much at once, and 32 times as much before it lets others run. */
const READ_BYTES = 65_536;
const BYTES_PER_POLL = 32 * READ_BYTES;
const HIGH_WATER_BYTES = 16_384;
const NOTHING = new Uint8Array(0);

export class LabSocket extends EventEmitter implements LabPipeEnd {
  readonly process: LabProcess;
  readonly connecting = false;
  readonly readableEncoding = null;
  destroyed = false;
  writableEnded = false;
  readableEnded = false;
  writableLength = 0;
  /** What the kernel reports, in the shape of Node's stream handle. */
  readonly _handle = { bytesWritten: 0, writeQueueSize: 0 };
  /** Since when bytes wait for the kernel without a break, world ms; Infinity while none do. */
  queuedSinceMs = Number.POSITIVE_INFINITY;
  /** When the kernel last took bytes that had waited, world ms. */
  progressMs = Number.NEGATIVE_INFINITY;
  /** Largest piece the program is given: a number, or asked for each read. Unset: what Node would read. */
  readBytes: number | (() => number) | undefined;

  readonly #in: LabPipe;
  readonly #out: LabPipe;
  readonly #reset: () => void;
  #writing: Pending | undefined;
  #queued: Pending[] = [];
  #unshifted: Uint8Array[] = [];
  #isFlowing = false;
  #isPollPending = false;
  #hasSentEnd = false;
  #needsDrain = false;
  #isClosedByKernel = false;

  /** `reset` sends RST to the other side. */
  constructor(process: LabProcess, incoming: LabPipe, outgoing: LabPipe, reset: () => void) {
    super();
    this.process = process;
    this.#in = incoming;
    this.#out = outgoing;
    this.#reset = reset;
    process.sockets.add(this);
  }

  /** The same object for code that takes Node's sockets. */
  asNetSocket(): Socket {
    return this as unknown as Socket;
  }

  // ---- net.Socket ------------------------------------------------------------------

  setNoDelay(): this {
    return this;
  }

  pause(): this {
    this.#isFlowing = false;
    return this;
  }

  resume(): this {
    this.#isFlowing = true;
    this.hasBytes();
    return this;
  }

  isPaused(): boolean {
    return !this.#isFlowing;
  }

  unshift(bytes: Uint8Array): void {
    this.#unshifted.unshift(bytes);
    this.hasBytes();
  }

  write(bytes: Uint8Array, encoding?: unknown, callback?: unknown): boolean {
    const done = (typeof encoding === 'function' ? encoding : callback) as Callback | undefined;
    if (this.destroyed || this.writableEnded) {
      const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
      this.process.clock.nextTick(() => done?.(error));
      if (!this.destroyed) this.destroy(error);
      return false;
    }
    this.writableLength += bytes.length;
    const request = { bytes, totalBytes: bytes.length, callbacks: done === undefined ? [] : [done] };
    if (this.#writing === undefined) this.#start(request);
    else this.#queued.push(request);
    const hasRoom = this.writableLength < HIGH_WATER_BYTES;
    if (!hasRoom) this.#needsDrain = true;
    return hasRoom;
  }

  end(): this {
    if (this.writableEnded) return this;
    this.writableEnded = true;
    this.#endIfFlushed();
    return this;
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    const isUnread = this.#in.readableBytes > 0;
    this.destroyed = true;
    if (isUnread) this.#reset();
    else if (!this.#hasSentEnd) this.#out.end();
    this.#close(error);
    return this;
  }

  resetAndDestroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.#reset();
    this.#close(undefined);
    return this;
  }

  // ---- what the kernel tells ----------------------------------------------------------

  get isClosed(): boolean {
    return this.destroyed || this.#isClosedByKernel;
  }

  hasRoom(): void {
    if (this.#writing !== undefined) this.#wantPoll();
  }

  hasBytes(): void {
    if (this.#isFlowing && this.#isReadable) this.#wantPoll();
  }

  /** RST came in; the program learns of it in its next poll phase. */
  wasReset(): void {
    this.#in.cut();
    this.#out.cut();
    this.process.clock.onPoll(() => {
      this.#fail(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    });
  }

  /** The process died and its kernel closes the connection. */
  closeByKernel(): void {
    if (this.isClosed) return;
    this.#isClosedByKernel = true;
    if (this.#in.readableBytes > 0) this.#reset();
    else if (!this.#hasSentEnd) this.#out.end();
  }

  /** The machine takes no part in the network until `untilMs`, world time. */
  unplug(untilMs: number): void {
    this.#in.lose(untilMs);
    this.#out.lose(untilMs);
  }

  // ---- the poll phase -------------------------------------------------------------------

  get #isReadable(): boolean {
    const hasEnd = this.#in.isAtEnd && !this.readableEnded;
    return this.#unshifted.length > 0 || this.#in.readableBytes > 0 || hasEnd;
  }

  #wantPoll(): void {
    if (this.#isPollPending || this.isClosed) return;
    this.#isPollPending = true;
    this.process.clock.onPoll(() => this.#poll());
  }

  #poll(): void {
    this.#isPollPending = false;
    for (let bytes = 0; bytes < BYTES_PER_POLL && this.#isFlowing && !this.destroyed; ) {
      const most = typeof this.readBytes === 'function' ? this.readBytes() : (this.readBytes ?? READ_BYTES);
      const piece = this.#unshifted.shift() ?? this.#in.read(most);
      if (piece === undefined) break;
      bytes += piece.length;
      this.emit('data', piece);
    }
    if (this.destroyed) return;
    if (this.#writing !== undefined) this.#continue(this.#writing);
    if (this.#isFlowing && this.#in.isAtEnd && !this.readableEnded) this.#readEnd();
    this.hasBytes();
  }

  #readEnd(): void {
    this.readableEnded = true;
    this.process.clock.nextTick(() => {
      if (this.destroyed) return;
      this.emit('end');
      this.end();
      this.#destroyIfOver();
    });
  }

  // ---- writing ----------------------------------------------------------------------------

  #start(request: Pending): void {
    this._handle.bytesWritten += request.totalBytes;
    this.#take(request);
    if (request.bytes.length === 0) {
      this.writableLength -= request.totalBytes;
      if (request.callbacks.length > 0) {
        this.process.clock.nextTick(() => {
          for (const done of request.callbacks) done(null);
        });
      }
      return;
    }
    this.#writing = request;
    this.queuedSinceMs = Math.min(this.queuedSinceMs, this.process.world.nowMs);
  }

  #take(request: Pending): number {
    const taken = this.#out.write(request.bytes);
    request.bytes = taken === request.bytes.length ? NOTHING : request.bytes.subarray(taken);
    this._handle.writeQueueSize = request.bytes.length;
    return taken;
  }

  #continue(request: Pending): void {
    if (this.#take(request) > 0) this.progressMs = this.process.world.nowMs;
    if (request.bytes.length > 0) return;
    this.writableLength -= request.totalBytes;
    this.#writing = undefined;
    if (this.#queued.length > 0) this.#startAll();
    if (this.#writing === undefined) this.queuedSinceMs = Number.POSITIVE_INFINITY;
    for (const done of request.callbacks) done(null);
    if (this.#needsDrain && this.writableLength === 0) {
      this.#needsDrain = false;
      this.emit('drain');
    }
    this.#endIfFlushed();
  }

  /** What was written while a write was under way leaves in one. */
  #startAll(): void {
    const requests = this.#queued;
    this.#queued = [];
    const bytes = Buffer.concat(requests.map((request) => request.bytes));
    const callbacks = requests.flatMap((request) => request.callbacks);
    this.#start({ bytes, totalBytes: bytes.length, callbacks });
  }

  #endIfFlushed(): void {
    if (!this.writableEnded || this.#writing !== undefined || this.#hasSentEnd || this.destroyed) return;
    this.#hasSentEnd = true;
    this.#out.end();
    this.#destroyIfOver();
  }

  // ---- the end --------------------------------------------------------------------------------

  #destroyIfOver(): void {
    if (this.readableEnded && this.#hasSentEnd) this.process.clock.nextTick(() => this.destroy());
  }

  #fail(error: Error): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#close(error);
  }

  #close(error: Error | undefined): void {
    const { process } = this;
    process.sockets.delete(this);
    this.queuedSinceMs = Number.POSITIVE_INFINITY;
    const broken = [
      ...(this.#writing?.callbacks ?? []),
      ...this.#queued.flatMap(({ callbacks }) => callbacks),
    ];
    this.#writing = undefined;
    this.#queued = [];
    process.clock.nextTick(() => {
      const reason = error ?? Object.assign(new Error('destroyed'), { code: 'ERR_STREAM_DESTROYED' });
      for (const done of broken) done(reason);
      if (error !== undefined) this.emit('error', error);
      this.emit('close', error !== undefined);
    });
  }
}
