/**
 * Cuts a byte stream into heartbeats and host frames, whatever the chunks (spec/HB1.md section 4).
 *
 * Contract: what is delivered depends on the bytes alone, never on how they were cut. No chunk is referenced once
 * `push` has returned. Every push ends, and looks at each byte a bounded number of times.
 *
 * Heartbeat-only (no `hostFrameLength`): a byte that cannot begin a frame is skipped, a frame whose CRC fails is
 * left by one byte and searched; illegal flags under a good CRC skip the frame, one strike. Both draw on one budget
 * of bytes, which each good frame repays by 16; the byte that exceeds it is HB_ERR_RESYNC.
 * Shared: bytes 48 42 at a boundary are a heartbeat, all else is the host's. Nothing is searched: damage, illegal
 * flags and a lost or undecided host end the stream with HB_ERR_DESYNC.
 * In both, under a good CRC another version is HB_ERR_VERSION and, unless ignored, a reserved byte in use is
 * HB_ERR_RESERVED, fatal at once: these are a peer to be told, not noise to be survived.
 *
 * An answer of `hostFrameLength` that is no length is HB_ERR_DESYNC too, not an exception: peer bytes may provoke it.
 * What callbacks throw leaves `push`, with the state in order and the rest kept for the next one.
 *
 * Cost: a few words while idle; a unit cut in two is held in a copy, at most 15 bytes of a heartbeat and less than
 * `maxHostHeaderBytes` of a host header. Host bodies are counted, not held.
 */
import { typeError } from '../base/errors.ts';
import * as fixed from './constants.ts';
import { checkFrame, failureOf, isReservedIgnored, readFlags, readSeq, readTimestamp } from './frame.ts';
import { joinBytes, NO_BYTES, refuseHostLength, restBytes, strayRun } from './splitter-bytes.ts';
import { checkHandler, type FrameSplitterOptions, limitOf, type SplitterCode } from './splitter-options.ts';

export type { FrameSplitterOptions, SplitterCode, SplitterErrorDetail } from './splitter-options.ts';

// Copied into this module for speed; see frame.ts.
const { FRAME_BYTES, FRAME_CODES, MAGIC_0, MAGIC_1, RESYNC_REPAY_BYTES } = fixed;
const BAD_MAGIC = failureOf('HB_ERR_MAGIC');
const BAD_CRC = failureOf('HB_ERR_CRC');
const BAD_VERSION = failureOf('HB_ERR_VERSION');
const BAD_RESERVED = failureOf('HB_ERR_RESERVED');
const BAD_FLAGS = failureOf('HB_ERR_FLAGS');

const RUNNING = 0;
/** By `stop()`: nothing more is delivered, what was not stays at hand for `carried()`. */
const STOPPED = 1;
/** By a fatal error or `end()`: nothing more is delivered, nothing is kept. */
const CLOSED = 2;

export class FrameSplitter {
  readonly #handler: FrameSplitterOptions;
  readonly #isShared: boolean;
  readonly #isReservedIgnored: boolean;
  readonly #resyncBudgetBytes: number;
  readonly #maxHostHeaderBytes: number;
  readonly #maxHostFrameBytes: number;
  #state = RUNNING;
  /** Undelivered bytes of earlier chunks. */
  #held: Uint8Array | null = null;
  /** A callback may be running. */
  #isPushing = false;
  /** The chunk being pushed; null outside `push`, and while a lone frame is delivered. */
  #chunk: Uint8Array | null = null;
  /** Where the next unit begins, counted from the first byte of held + chunk. */
  #cursor = 0;
  /** Stream offset of the first byte of held + chunk. */
  #base = 0;
  #hostRemaining = 0;
  #skipped = 0;

  /** TypeError or RangeError names the option that is wrong; see FrameSplitterOptions. */
  constructor(options: FrameSplitterOptions) {
    checkHandler(options);
    this.#handler = options;
    this.#isShared = options.hostFrameLength !== undefined;
    this.#isReservedIgnored = isReservedIgnored(options.reserved);
    this.#resyncBudgetBytes = limitOf(options, 'resyncBudgetBytes');
    this.#maxHostHeaderBytes = limitOf(options, 'maxHostHeaderBytes');
    this.#maxHostFrameBytes = limitOf(options, 'maxHostFrameBytes');
  }

  /**
   * Bytes of the open host frame that are still to come; 0 between frames. Inside `onHost` the piece at hand is
   * counted already: 0 there means that this piece ends its frame, and the next one begins another.
   */
  get hostRemainingBytes(): number {
    return this.#hostRemaining;
  }

  /**
   * The next bytes of the stream. Ignored after a fatal error, `stop()` and `end()`. TypeError when `chunk` is not a
   * Uint8Array; Error when called from inside one of this splitter's callbacks.
   */
  push(chunk: Uint8Array): void {
    if (!(chunk instanceof Uint8Array)) throw typeError('chunk', 'a Uint8Array', chunk);
    this.#refuseReentry('push');
    if (this.#state !== RUNNING) return;
    this.#isPushing = true;
    try {
      if (this.#isLoneFrame(chunk)) {
        this.#cursor = FRAME_BYTES; // and the chunk is not kept, which would cost more than reading it
        this.#deliverFrame(chunk, 0);
      } else {
        this.#chunk = chunk;
        if (this.#held === null || this.#parseHeld(this.#held, chunk))
          this.#parse(chunk, chunk.length, chunk.length);
      }
    } finally {
      this.#settle(chunk);
    }
  }

  /**
   * The stream has ended. Bytes of an unfinished heartbeat, host header or host frame are reported as
   * HB_ERR_TRUNCATED, with the offset of the end. Nothing is delivered afterwards.
   */
  end(): void {
    this.#refuseReentry('end');
    if (this.#held !== null) this.push(NO_BYTES); // what a throwing callback left behind comes first
    if (this.#state !== RUNNING) return;
    this.#state = CLOSED;
    const heldBytes = this.#held?.length ?? 0;
    this.#held = null;
    if (heldBytes === 0 && this.#hostRemaining === 0) return;
    const missing = this.#hostRemaining > 0 ? `${this.#hostRemaining} bytes of a host frame are missing` : '';
    const reason = missing || `${heldBytes} bytes of an unfinished heartbeat or host header`;
    this.#handler.onError('HB_ERR_TRUNCATED', { offset: this.#base + heldBytes, reason });
  }

  /** Deliver nothing more, from now on and for good; legal inside a callback. `carried()` has what was not. */
  stop(): void {
    if (this.#state === RUNNING) this.#state = STOPPED;
  }

  /**
   * A copy of the bytes that were pushed and not delivered, oldest first. Inside a callback: everything behind what
   * is being delivered. After a fatal error: from the failing unit on, and only inside `onError`.
   */
  carried(): Uint8Array {
    return restBytes(this.#held ?? NO_BYTES, this.#chunk ?? NO_BYTES, this.#cursor);
  }

  /**
   * Deliver the units that begin in the held bytes, from a copy of them and of as much of the chunk as any decision
   * needs. False when the chunk could not complete the last of them.
   */
  #parseHeld(held: Uint8Array, chunk: Uint8Array): boolean {
    const lookAhead = Math.min(chunk.length, Math.max(FRAME_BYTES, this.#maxHostHeaderBytes));
    const joined = joinBytes(held, chunk, lookAhead);
    this.#parse(joined, joined.length, held.length);
    if (this.#cursor < held.length) return false;
    this.#cursor -= held.length;
    this.#base += held.length;
    this.#held = null;
    return true;
  }

  /** After a push, also one that threw: keep the rest, let go of the chunk. */
  #settle(chunk: Uint8Array): void {
    if (this.#held !== null || this.#cursor < chunk.length) {
      const rest = this.#state === CLOSED ? NO_BYTES : this.carried();
      this.#held = rest.length === 0 ? null : rest;
    }
    this.#base += this.#cursor;
    this.#cursor = 0;
    this.#chunk = null;
    this.#isPushing = false;
  }

  /** The usual chunk on a quiet link: one good heartbeat and nothing else, between two units. */
  #isLoneFrame(chunk: Uint8Array): boolean {
    if (chunk.length !== FRAME_BYTES || this.#held !== null || this.#hostRemaining > 0) return false;
    return checkFrame(chunk, 0, this.#isReservedIgnored) === 0;
  }

  #deliverFrame(bytes: Uint8Array, at: number): void {
    if (this.#skipped > 0) this.#skipped = Math.max(0, this.#skipped - RESYNC_REPAY_BYTES);
    this.#handler.onFrame(readFlags(bytes, at), readSeq(bytes, at), readTimestamp(bytes, at));
  }

  /**
   * Deliver the units that begin before `limit`; `end` is where the bytes at hand end. The cursor stands behind a
   * unit before its callback runs, so that a callback may stop us or throw.
   */
  #parse(bytes: Uint8Array, end: number, limit: number): void {
    while (this.#cursor < limit && this.#state === RUNNING) {
      const at = this.#cursor;
      if (this.#hostRemaining > 0) {
        this.#deliverHost(bytes, at, end);
      } else if (bytes[at] !== MAGIC_0 || (at + 1 < end && bytes[at + 1] !== MAGIC_1)) {
        if (!this.#isShared) this.#skip(strayRun(bytes, at, end), BAD_MAGIC);
        else if (!this.#openHost(bytes, at, end)) return;
      } else if (end - at < FRAME_BYTES) {
        return;
      } else {
        const failure = checkFrame(bytes, at, this.#isReservedIgnored);
        if (failure === 0) {
          this.#cursor = at + FRAME_BYTES;
          this.#deliverFrame(bytes, at);
        } else {
          this.#refuse(failure);
        }
      }
    }
  }

  #refuse(failure: number): void {
    if (failure === BAD_VERSION) this.#fail('HB_ERR_VERSION', 'a heartbeat of another version');
    else if (failure === BAD_RESERVED)
      this.#fail('HB_ERR_RESERVED', 'a heartbeat whose reserved bytes are in use');
    else if (this.#isShared) this.#fail('HB_ERR_DESYNC', `a heartbeat failed ${FRAME_CODES[failure - 1]}`);
    else if (failure === BAD_FLAGS) this.#skip(FRAME_BYTES, BAD_FLAGS);
    else this.#skip(1, BAD_CRC);
  }

  /** Heartbeat-only: pass over `bytes`, as far as the budget goes. */
  #skip(bytes: number, failure: number): void {
    const affordable = this.#resyncBudgetBytes - this.#skipped;
    // A run of stray bytes fails at the byte that exceeds the budget, as it would have one byte at a time.
    const payable = bytes <= affordable ? bytes : failure === BAD_MAGIC ? affordable : 0;
    this.#cursor += payable;
    this.#skipped += payable;
    if (payable > 0) this.#handler.onSkipped?.(payable, FRAME_CODES[failure - 1]!);
    if (payable < bytes && this.#state === RUNNING) {
      this.#fail('HB_ERR_RESYNC', `more than ${this.#resyncBudgetBytes} bytes would be skipped`);
    }
  }

  /** Shared: ask the host for the length of its frame. False when it needs bytes that are not here. */
  #openHost(bytes: Uint8Array, at: number, end: number): boolean {
    const offered = Math.min(end, at + this.#maxHostHeaderBytes);
    const length = this.#handler.hostFrameLength!(bytes, at, offered);
    if (length === 0 && offered - at < this.#maxHostHeaderBytes) return false;
    const refusal = refuseHostLength(length, offered - at, this.#maxHostFrameBytes);
    if (refusal === undefined) this.#hostRemaining = length;
    else this.#fail(refusal.code, refusal.reason);
    return true;
  }

  #deliverHost(bytes: Uint8Array, at: number, end: number): void {
    const pieceEnd = Math.min(end, at + this.#hostRemaining);
    this.#cursor = pieceEnd;
    this.#hostRemaining -= pieceEnd - at;
    const isWhole = at === 0 && pieceEnd === bytes.length;
    this.#handler.onHost?.(isWhole ? bytes : bytes.subarray(at, pieceEnd));
  }

  #refuseReentry(method: string): void {
    if (this.#isPushing) throw new Error(`${method} must not be called from a callback of the same splitter`);
  }

  #fail(code: SplitterCode, reason: string): void {
    this.#state = CLOSED;
    this.#handler.onError(code, { offset: this.#base + this.#cursor, reason });
  }
}
