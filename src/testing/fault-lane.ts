/**
 * One direction of one proxied connection: takes what a socket reads and gives it to another, late, slowly, in other
 * pieces, damaged, or not at all. How, is read from `FaultLaneSettings` at every step, so it can change at any time.
 *
 * Memory: at most about 1 MiB is held; beyond that the source is not read, and its sender feels it.
 */
import type { Socket } from 'node:net';

export interface FaultLaneSettings {
  /**
   * pass: bytes go on. stall: they are held, and go on later; what does not fit is not read. black-hole: they are
   * read and thrown away, the end of the stream too, for the receiver cannot know of it.
   */
  mode: 'pass' | 'stall' | 'black-hole';
  /** How long each chunk is under way, ms. Order is kept. */
  delayMs: number;
  /** Throughput; Infinity: unlimited. */
  bytesPerSecond: number;
  /** Largest piece passed on at once, one per turn of the event loop; Infinity: as it came. */
  pieceBytes: number;
  /** Chunks that come within this long of each other leave as one, ms; 0: as they came. */
  mergeMs: number;
  /** Given each chunk before it goes on; may change it in place. */
  damage: ((bytes: Uint8Array) => void) | undefined;
}

export const FAULT_LANE_DEFAULTS: Readonly<FaultLaneSettings> = Object.freeze({
  mode: 'pass',
  delayMs: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  pieceBytes: Number.POSITIVE_INFINITY,
  mergeMs: 0,
  damage: undefined,
});

interface Held {
  /** undefined: the end of the stream. */
  bytes: Buffer | undefined;
  readonly dueMs: number;
}

const MOST_HELD_BYTES = 2 ** 20;
/** A throttled lane writes this often; the pieces follow from it. */
const WRITES_PER_SECOND = 50;

export class FaultLane {
  readonly #source: Socket;
  readonly #sink: Socket;
  readonly #settings: FaultLaneSettings;
  #held: Held[] = [];
  #heldBytes = 0;
  /** When the next byte may leave a throttled lane. */
  #freeMs = 0;
  #lastDueMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  /** `settings` is shared by all lanes of one direction and stays the proxy's. */
  constructor(source: Socket, sink: Socket, settings: FaultLaneSettings) {
    this.#source = source;
    this.#sink = sink;
    this.#settings = settings;
    source.on('data', (bytes) => this.#take(bytes));
    source.on('end', () => this.#takeEnd());
    sink.on('drain', () => this.pump());
  }

  /** Settings changed: do what can be done now. */
  pump(): void {
    this.#stopWaiting();
    if (this.#settings.mode === 'black-hole') this.#forget();
    if (this.#settings.mode !== 'stall') this.#passOnWhatIsDue();
    this.#throttleSource();
  }

  #passOnWhatIsDue(): void {
    const nowMs = performance.now();
    while (this.#held.length > 0 && !this.#sink.writableNeedDrain && !this.#sink.destroyed) {
      const waitMs = Math.max(this.#held[0]!.dueMs, this.#freeMs) - nowMs;
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(waitMs));
        return;
      }
      this.#passOn(this.#held[0]!, nowMs);
      if (this.#settings.pieceBytes < Number.POSITIVE_INFINITY && this.#held.length > 0) {
        this.#turn = setImmediate(() => this.pump()); // written in one turn, pieces would arrive as one
        return;
      }
    }
  }

  /** Nothing more is passed on, and no timer stays. */
  stop(): void {
    this.#stopWaiting();
    this.#forget();
  }

  #take(bytes: Buffer): void {
    const { mode, mergeMs, damage } = this.#settings;
    if (mode === 'black-hole') return;
    damage?.(bytes);
    this.#heldBytes += bytes.length;
    const dueMs = this.#dueMs();
    const last = this.#held.at(-1);
    if (mergeMs > 0 && last?.bytes !== undefined && last.dueMs === dueMs) {
      last.bytes = Buffer.concat([last.bytes, bytes]);
    } else {
      this.#held.push({ bytes, dueMs });
    }
    this.pump();
  }

  #takeEnd(): void {
    if (this.#settings.mode === 'black-hole') return;
    this.#held.push({ bytes: undefined, dueMs: this.#dueMs() });
    this.pump();
  }

  /** When what comes in now may go on: never before what came earlier. */
  #dueMs(): number {
    const { delayMs, mergeMs } = this.#settings;
    const arriveMs = performance.now() + delayMs;
    // The edges of equal slots of time bring chunks together.
    const slotMs = mergeMs > 0 ? Math.ceil(arriveMs / mergeMs) * mergeMs : arriveMs;
    this.#lastDueMs = Math.max(this.#lastDueMs, slotMs);
    return this.#lastDueMs;
  }

  #passOn(head: Held, nowMs: number): void {
    if (head.bytes === undefined) {
      this.#held.shift();
      this.#sink.end();
      return;
    }
    const { bytesPerSecond, pieceBytes } = this.#settings;
    const share = Math.max(1, Math.floor(bytesPerSecond / WRITES_PER_SECOND));
    const bytes = Math.min(head.bytes.length, pieceBytes, share);
    this.#sink.write(head.bytes.subarray(0, bytes));
    this.#freeMs = Math.max(this.#freeMs, nowMs) + (bytes * 1_000) / bytesPerSecond;
    this.#heldBytes -= bytes;
    if (bytes === head.bytes.length) this.#held.shift();
    else head.bytes = head.bytes.subarray(bytes);
  }

  #throttleSource(): void {
    if (this.#heldBytes >= MOST_HELD_BYTES) this.#source.pause();
    else if (this.#source.isPaused()) this.#source.resume();
  }

  #forget(): void {
    this.#held = [];
    this.#heldBytes = 0;
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#timer = this.#turn = undefined;
  }
}
