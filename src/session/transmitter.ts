/**
 * The sending side of a session: own sequence numbers and wire clock, the duty to be heard within every interval,
 * and answers. Knows nothing of verdicts.
 *
 * Duty: at lastTx + txInterval x U(0.75, 1) something goes out, so the gap between our sends never exceeds the
 * interval whatever the RTT, and a link with traffic sends almost nothing. A frame that cannot go out when due is
 * skipped, takes no number, and is owed again as soon as the outbound side is free.
 */
import type { Random } from '../base/random.ts';
import { Flag } from '../wire/constants.ts';
import { Outbox } from './outbox.ts';
import type { SessionPolicy } from './policy.ts';
import { Sent, type SessionPort } from './port.ts';
import type { Questions } from './questions.ts';
import type { SessionStats } from './stats.ts';

/** Spread of the send gap below one interval; narrower when a single miss already means death. */
const JITTER = 0.25;
const JITTER_SINGLE_MISS = 0.15;

export class Transmitter {
  /** Our DEGRADED level, carried on every frame. */
  degraded = false;
  lastTxMs = 0;
  /** Nothing can go out: not open yet, or the outbound side refused a frame and has not called back. */
  isHeld = true;

  readonly #policy: SessionPolicy;
  readonly #port: SessionPort;
  readonly #random: Random;
  readonly #questions: Questions;
  readonly #stats: SessionStats;
  readonly #intervalMs: number;
  #gapMs = 0;
  /** Our level changed and no frame of our own has told it yet. */
  #owesLevel = false;
  #outbox: Outbox | undefined;
  /** int32 images of u32 values: they stay small integers. */
  #nextSeq: number;
  readonly #timestampOffset: number;

  constructor(
    policy: SessionPolicy,
    port: SessionPort,
    random: Random,
    questions: Questions,
    stats: SessionStats,
  ) {
    this.#policy = policy;
    this.#port = port;
    this.#random = random;
    this.#questions = questions;
    this.#stats = stats;
    this.#intervalMs = policy.intervalMs;
    this.#nextSeq = random.u32() | 0;
    this.#timestampOffset = random.u32() | 0;
  }

  /** When the next frame is owed, ms. */
  get dueMs(): number {
    return this.#owesLevel ? this.lastTxMs : this.lastTxMs + this.#gapMs;
  }

  /** The connection stands; the first frame is owed `firstMs` later. */
  open(nowMs: number, firstMs: number): void {
    this.lastTxMs = nowMs;
    this.#gapMs = firstMs;
    this.isHeld = false;
  }

  /** Our wire clock: whole ms plus a random offset per link, u32. */
  wireTime(nowMs: number): number {
    return (Math.floor(nowMs) + this.#timestampOffset) >>> 0;
  }

  ping(nowMs: number): boolean {
    if (!this.#put(Flag.AckRequest, this.wireTime(nowMs), nowMs)) return false;
    this.#stats.pingsSent++;
    return true;
  }

  beat(nowMs: number): boolean {
    return this.#put(0, this.wireTime(nowMs), nowMs);
  }

  /** A changed level is owed at once. */
  setDegraded(value: boolean): void {
    this.degraded = value;
    this.#owesLevel = true;
  }

  /** Answer the peer's ping, or keep the answer; of several kept ones the newest survives. */
  answer(seq: number, timestamp: number, nowMs: number): void {
    if (!this.isHeld && this.#putPong(seq, timestamp, nowMs)) return;
    const outbox = this.#openOutbox();
    if (outbox.hasPong) this.#stats.pongsCoalesced++;
    outbox.holdPong(seq, timestamp);
  }

  /** Say GOAWAY, now or as soon as the outbound side is free. */
  goAway(word: number, nowMs: number): void {
    this.#openOutbox().goAwayWord = word;
    if (!this.isHeld) this.emptyOutbox(nowMs);
  }

  /** Send what was kept; false when the outbound side refuses again. */
  emptyOutbox(nowMs: number): boolean {
    const outbox = this.#outbox;
    if (outbox === undefined) return true;
    if (outbox.hasPong && !this.#putPong(outbox.pongSeq, outbox.pongTimestamp, nowMs)) return false;
    outbox.hasPong = false;
    if (outbox.goAwayWord !== 0 && !this.#put(Flag.Param | Flag.GoAway, outbox.goAwayWord, nowMs))
      return false;
    this.#outbox = undefined;
    return true;
  }

  #openOutbox(): Outbox {
    this.#outbox ??= new Outbox();
    return this.#outbox;
  }

  /** An answer carries the level of the moment it leaves, not of the moment it was asked for. */
  #putPong(seq: number, timestamp: number, nowMs: number): boolean {
    const flags = this.degraded ? Flag.Ack | Flag.Degraded : Flag.Ack;
    if (this.#port.send(flags, seq, timestamp) === Sent.Held) {
      this.isHeld = true;
      return false;
    }
    this.#stats.pongsSent++;
    this.#noteSent(nowMs);
    return true;
  }

  /** Put a frame of our own on the wire; it takes the next number only when it really goes out. */
  #put(flags: number, word: number, nowMs: number): boolean {
    const seq = this.#nextSeq >>> 0;
    const result = this.#port.send(this.degraded ? flags | Flag.Degraded : flags, seq, word);
    if (result === Sent.Held) {
      this.isHeld = true;
      this.#stats.skipped++;
      return false;
    }
    this.#nextSeq = (this.#nextSeq + 1) | 0;
    this.#owesLevel = false;
    this.#questions.sent(seq, (flags & Flag.AckRequest) !== 0, result === Sent.InKernel, nowMs);
    this.#noteSent(nowMs);
    return true;
  }

  #noteSent(nowMs: number): void {
    this.#stats.framesSent++;
    this.lastTxMs = Math.floor(nowMs);
    const spread = this.#policy.deadAfter === 1 ? JITTER_SINGLE_MISS : JITTER;
    const gapMs = Math.floor(this.#intervalMs * (0.75 + spread * this.#random.next()));
    // The wheel rounds up to a tick; a duty to send must round down.
    this.#gapMs = gapMs - this.#policy.tickMs + 1;
  }
}
