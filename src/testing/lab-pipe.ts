/**
 * One direction of a lab connection, from the sender's kernel buffer to the receiver's: what TCP does to bytes, and
 * what a network does to TCP.
 *
 * The sender's kernel holds at most `sendBufferBytes` that have not arrived; what arrives waits in the receiver's
 * kernel, which holds at most `receiveBufferBytes` and closes the window when full. Order is kept and nothing is lost
 * for good: while the direction is lost, bytes stay with the sender's kernel, as retransmission has it, and arrive
 * when it heals. An arrival is acknowledged at once, whatever happens to the way back.
 */
import type { LabWorld } from './lab-world.ts';

/** What a direction can be told. */
export interface LabPipeOptions {
  /** One-way delay, ms: a number, or asked for each segment. Default 0. Order is kept whatever it says. */
  delayMs?: number | (() => number);
  /** Bandwidth. Default Infinity. */
  bytesPerSecond?: number;
  /** Kernel buffers. Default 256 KiB each, in the range of what Linux gives a fresh connection. */
  sendBufferBytes?: number;
  receiveBufferBytes?: number;
}

export const LAB_PIPE_DEFAULTS = Object.freeze({
  delayMs: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  sendBufferBytes: 2 ** 18,
  receiveBufferBytes: 2 ** 18,
});

/** Sees bytes as they enter the sender's kernel and as they reach the receiver's. The array must not be kept. */
export interface LabTap {
  entered?(bytes: Uint8Array, nowMs: number): void;
  arrived?(bytes: Uint8Array, nowMs: number): void;
}

/** What the sockets at both ends are told by the kernel. */
export interface LabPipeEnd {
  /** Sender: the kernel has room again. */
  hasRoom(): void;
  /** Receiver: bytes, or the end of the stream, can be read. */
  hasBytes(): void;
  /** Bytes came to a socket that is closed: true makes the other side's kernel answer with RST. */
  readonly isClosed: boolean;
}

/** Small enough that a slow direction shows progress, large enough to be cheap. */
const SEGMENT_BYTES = 16_384;
const FIN = new Uint8Array(0);

export class LabPipe {
  readonly world: LabWorld;
  delayMs: number | (() => number);
  bytesPerSecond: number;
  /** Called with the bytes of each segment as it arrives; may change them in place. */
  damage: ((bytes: Uint8Array) => void) | undefined;
  readonly taps: LabTap[] = [];
  /** Called when a segment meets a closed socket. */
  onRefused: (() => void) | undefined;
  /** Called for each segment as it leaves. */
  onPacket: (() => void) | undefined;
  readonly #sendBufferBytes: number;
  readonly #receiveBufferBytes: number;
  #sender: LabPipeEnd | undefined;
  #receiver: LabPipeEnd | undefined;
  /** In the sender's kernel, not on the way yet. */
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #inFlightBytes = 0;
  /** Arrived while the direction was lost: will arrive, in order, when it heals. */
  #held: Uint8Array[] = [];
  #arrived: Uint8Array[] = [];
  #arrivedBytes = 0;
  #isEnded = false;
  #isCut = false;
  #lostUntilMs = 0;
  #wireFreeMs = 0;
  #lastArrivalMs = 0;

  constructor(world: LabWorld, options: LabPipeOptions = {}) {
    const all = { ...LAB_PIPE_DEFAULTS, ...options };
    this.world = world;
    this.delayMs = all.delayMs;
    this.bytesPerSecond = all.bytesPerSecond;
    this.#sendBufferBytes = all.sendBufferBytes;
    this.#receiveBufferBytes = all.receiveBufferBytes;
  }

  connect(sender: LabPipeEnd, receiver: LabPipeEnd): void {
    this.#sender = sender;
    this.#receiver = receiver;
  }

  /** Bytes the receiver could read now. */
  get readableBytes(): number {
    return this.#arrivedBytes;
  }

  /** Everything was read and the sender has ended. */
  get isAtEnd(): boolean {
    return this.#isEnded && this.#arrivedBytes === 0;
  }

  get isLost(): boolean {
    return this.world.nowMs < this.#lostUntilMs;
  }

  // ---- faults ----------------------------------------------------------------

  /** Nothing arrives until `untilMs` (world time; Infinity: until `heal`). The longest of several counts. */
  lose(untilMs: number): void {
    this.#lostUntilMs = Math.max(this.#lostUntilMs, untilMs);
    if (untilMs < Number.POSITIVE_INFINITY) this.world.at(untilMs, () => this.#retry());
  }

  heal(): void {
    this.#lostUntilMs = 0;
    this.#retry();
  }

  // ---- the sender's kernel -----------------------------------------------------

  /** Take a copy of as many of these bytes as there is room for; returns how many. */
  write(bytes: Uint8Array): number {
    const room = this.#sendBufferBytes - this.#unsentBytes - this.#inFlightBytes;
    const taken = Math.max(0, Math.min(room, bytes.length));
    if (taken === 0 || this.#isCut) return taken;
    // `slice` of a Buffer would share its memory.
    const copy = Buffer.from(taken === bytes.length ? bytes : bytes.subarray(0, taken));
    for (const tap of this.taps) tap.entered?.(copy, this.world.nowMs);
    this.#unsent.push(copy);
    this.#unsentBytes += taken;
    this.#transmit();
    return taken;
  }

  /** No more bytes will come: the receiver reads the end after everything before it. */
  end(): void {
    if (this.#isCut) return;
    this.#unsent.push(FIN);
    this.#transmit();
  }

  /** Forget everything: the connection was reset or its end destroyed. */
  cut(): void {
    this.#isCut = true;
    this.#unsent = [];
    this.#held = [];
    this.#arrived = [];
    this.#unsentBytes = this.#inFlightBytes = this.#arrivedBytes = 0;
  }

  // ---- the receiver's kernel -----------------------------------------------------

  /** Take at most `maxBytes` of what has arrived, one piece; undefined when there is none. */
  read(maxBytes: number): Uint8Array | undefined {
    if (this.#arrivedBytes === 0) return undefined;
    let piece = this.#arrived.length === 1 ? (this.#arrived[0] as Uint8Array) : Buffer.concat(this.#arrived);
    this.#arrived = [];
    if (piece.length > maxBytes) {
      this.#arrived.push(piece.subarray(maxBytes));
      piece = piece.subarray(0, maxBytes);
    }
    this.#arrivedBytes -= piece.length;
    this.#transmit();
    return piece;
  }

  // ---- the network -----------------------------------------------------------------

  #transmit(): void {
    for (;;) {
      const head = this.#unsent[0];
      if (head === undefined) return;
      const window = this.#receiveBufferBytes - this.#arrivedBytes - this.#inFlightBytes;
      const bytes = Math.min(head.length, window, SEGMENT_BYTES);
      if (bytes <= 0 && head !== FIN) return;
      if (bytes < head.length) this.#unsent[0] = head.subarray(bytes);
      else this.#unsent.shift();
      this.#unsentBytes -= bytes;
      this.#inFlightBytes += bytes;
      this.#depart(bytes < head.length ? head.subarray(0, bytes) : head);
    }
  }

  #depart(segment: Uint8Array): void {
    const { world } = this;
    this.onPacket?.();
    const departsMs = Math.max(world.nowMs, this.#wireFreeMs);
    this.#wireFreeMs = departsMs + (segment.length * 1_000) / this.bytesPerSecond;
    const delayMs = typeof this.delayMs === 'function' ? this.delayMs() : this.delayMs;
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, this.#wireFreeMs + delayMs);
    world.at(this.#lastArrivalMs, () => this.#reach(segment));
  }

  #reach(segment: Uint8Array): void {
    if (this.#isCut) return;
    if (this.isLost || this.#held.length > 0) this.#held.push(segment);
    else this.#arrive(segment);
  }

  #retry(): void {
    if (this.isLost) return;
    for (const segment of this.#held.splice(0)) if (!this.#isCut) this.#arrive(segment);
  }

  #arrive(segment: Uint8Array): void {
    if (this.#receiver?.isClosed === true) {
      this.onRefused?.();
      return;
    }
    this.#inFlightBytes -= segment.length;
    if (segment === FIN) this.#isEnded = true;
    else {
      this.damage?.(segment);
      for (const tap of this.taps) tap.arrived?.(segment, this.world.nowMs);
      this.#arrived.push(segment);
      this.#arrivedBytes += segment.length;
      this.#sender?.hasRoom();
    }
    this.#receiver?.hasBytes();
  }
}
