/**
 * The writing side of one socket: heartbeats and host frames leave here, in an order that never puts one inside the
 * other.
 *
 * A heartbeat goes out only at a host-frame boundary and only when the socket drains; otherwise it is held, and the
 * session is called back once. "Drains" is learnt from a marker: an empty write whose callback tells that all before
 * it is in the kernel. At most one heartbeat flight stands behind host data at any time, so what a blocked peer can
 * make us queue is bounded.
 */
import type { Socket } from 'node:net';
import { Sent, type SentResult } from '../session/port.ts';
import { Flag, FRAME_BYTES } from '../wire/constants.ts';
import { encodeFrameInto } from '../wire/frame.ts';
import { BATCH_FRAMES, type FrameBuffer } from './frame-buffer.ts';
import { type FrameLength, OutboundFraming } from './outbound-framing.ts';
import { keepsBytes, type WriteCallback } from './ownership.ts';
import type { SharedMemory } from './shared-memory.ts';

const EMPTY = Buffer.alloc(0);
/** Host writes up to this size are gathered while a chunk is read: above it a copy costs more than it saves. */
const MAX_GATHERED_WRITE_BYTES = 4_096;

type PlainWrite = (this: Socket, bytes: Uint8Array, callback: WriteCallback | undefined) => boolean;

/** What the outbound side tells its link. */
export interface OutboundListener {
  /** All that was written so far is in the kernel. */
  onFlushed(): void;
  /** A held frame may be tried again now. */
  onFree(): void;
}

export class Outbound {
  readonly #socket: Socket;
  readonly #listener: OutboundListener;
  readonly #memory: SharedMemory;
  /** Set when the host writes in pieces. */
  readonly #framing: OutboundFraming | undefined;
  /** The socket's own `write`, from before it was guarded. */
  readonly #write: Socket['write'];
  /** Node keeps the bytes of every write on these sockets (TLS), so scratch memory cannot serve. */
  readonly #keepsBytes: boolean;
  #onMarker: WriteCallback | undefined;
  #markerPending = false;
  #isHolding = false;
  /** While a held frame is let go, data queued meanwhile by the host does not count as blocking. */
  #isReleasing = false;
  /** Answers gathered from the chunk being read; -1 outside one. */
  #batched = -1;
  /** Bytes in the shared `gather`: small host frames written while a chunk is read, with the answers between them. */
  #gathered = 0;

  constructor(
    socket: Socket,
    listener: OutboundListener,
    memory: SharedMemory,
    frameLength: FrameLength | undefined,
  ) {
    this.#socket = socket;
    this.#listener = listener;
    this.#memory = memory;
    this.#framing = frameLength && new OutboundFraming(frameLength);
    this.#write = socket.write;
    this.#keepsBytes = keepsBytes(socket);
  }

  /** The socket's own `write`, to be put back at the end. */
  get originalWrite(): Socket['write'] {
    return this.#write;
  }

  /** Bytes accepted but not yet in the kernel; 0 = none. */
  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  get #isInsideHostFrame(): boolean {
    return this.#framing?.isOpen === true;
  }

  /** Send one heartbeat, or hold it. Answers within a batch are gathered and leave in one write. */
  send(flags: number, seq: number, word: number): SentResult {
    if (this.#isInsideHostFrame || this.#socket.writableEnded) {
      this.#isHolding = true; // the end of the host frame lets it go; nothing lets go of an ended socket
      return Sent.Held;
    }
    if (!this.#isReleasing && (this.#markerPending || this.#socket.writableLength > 0)) {
      this.#isHolding = true;
      this.#setMarker();
      return Sent.Held;
    }
    if (this.#batched >= 0 && (flags & Flag.Ack) !== 0) {
      if (this.#gathered > 0) {
        this.#makeRoom(FRAME_BYTES);
        encodeFrameInto(this.#memory.gather, this.#gathered, flags, seq, word);
        this.#gathered += FRAME_BYTES;
        return Sent.InKernel;
      }
      if (this.#batched === BATCH_FRAMES) this.#writeBatch();
      this.#memory.answers.put(this.#batched++, flags, seq, word);
      return Sent.InKernel;
    }
    this.#writeGathered();
    const { lone } = this.#memory;
    lone.put(0, flags, seq, word);
    return this.#writeFrames(lone, 1);
  }

  /** Host bytes. Throws when they break a frame boundary rule; then nothing was written. */
  writeHost(bytes: Uint8Array, callback: WriteCallback | undefined): boolean {
    this.#framing?.accept(bytes);
    const isGathered =
      this.#batched >= 0 && callback === undefined && bytes.length <= MAX_GATHERED_WRITE_BYTES;
    if (isGathered) {
      // A chunk may hold thousands of small requests: their answers leave together, as one write.
      if (this.#batched > 0) this.#writeBatch();
      this.#makeRoom(bytes.length);
      this.#memory.gather.set(bytes, this.#gathered);
      this.#gathered += bytes.length;
      return !this.#socket.writableNeedDrain;
    }
    this.#writeGathered();
    const hasRoom = this.#writeThrough(bytes, callback);
    if (this.#isHolding && !this.#markerPending && !this.#isInsideHostFrame) this.#setMarker();
    return hasRoom;
  }

  /** Answers are gathered from here on, until `endBatch`, unless another link of the hub gathers at this moment. */
  beginBatch(): void {
    if (this.#memory.borrow(this)) this.#batched = 0;
  }

  endBatch(): void {
    if (this.#batched < 0) return;
    this.#writeGathered();
    this.#batched = -1;
    this.#memory.giveBack(this);
  }

  #makeRoom(bytes: number): void {
    if (this.#gathered + bytes > this.#memory.gather.length) this.#writeGathered();
  }

  /** All that was gathered, in its order. */
  #writeGathered(): void {
    if (this.#batched > 0) this.#writeBatch();
    if (this.#gathered === 0) return;
    const bytes = Buffer.from(this.#memory.gather.subarray(0, this.#gathered)); // the socket may keep it
    this.#gathered = 0;
    this.#writeThrough(bytes, undefined);
    if (this.#isHolding && !this.#markerPending && !this.#isInsideHostFrame) this.#setMarker();
  }

  #writeBatch(): void {
    const frames = this.#batched;
    this.#batched = 0;
    this.#writeFrames(this.#memory.answers, frames);
  }

  #writeFrames(buffer: FrameBuffer, frames: number): SentResult {
    const view = buffer.view(frames);
    const shared = !this.#keepsBytes && this.#socket.writableLength === 0;
    this.#writeThrough(shared ? view : Buffer.from(view), undefined);
    if (this.#socket.writableLength === 0) return Sent.InKernel;
    if (shared) buffer.giveUp();
    this.#setMarker();
    return Sent.Queued;
  }

  #setMarker(): void {
    if (this.#markerPending) return;
    this.#markerPending = true;
    this.#onMarker ??= (error) => this.#markerReached(error);
    this.#writeThrough(EMPTY, this.#onMarker);
  }

  #writeThrough(bytes: Uint8Array, callback: WriteCallback | undefined): boolean {
    return (this.#write as PlainWrite).call(this.#socket, bytes, callback);
  }

  #markerReached(error?: Error | null): void {
    this.#markerPending = false;
    if (error) return; // the socket's own error event tells
    this.#listener.onFlushed();
    if (!this.#isHolding || this.#isInsideHostFrame) return;
    this.#isHolding = false;
    this.#isReleasing = true;
    try {
      this.#listener.onFree();
    } finally {
      this.#isReleasing = false;
    }
  }
}
