/**
 * The sending side of a session: own sequence numbers and wire clock, the duty to be heard within every interval,
 * and answers. Knows nothing of verdicts.
 *
 * Duty: at lastTx + txInterval x U(0.75, 1) something goes out, after an answer at the late end of that, so the gap
 * between our sends never exceeds the interval whatever the RTT, a link with traffic sends almost nothing, and who is
 * asked often enough only answers. A frame that cannot go out when due is
 * skipped, takes no number, and is owed again as soon as the outbound side is free.
 */
import type { Random } from '../base/random.ts';
import { Flag, PARAM_VALUE_MAX, Param } from '../wire/constants.ts';
import { makeParam, paramId } from '../wire/param.ts';
import type { FlightRecorder } from './flight-recorder.ts';
import type { Limits } from './limits.ts';
import { Outbox } from './outbox.ts';
import type { SessionPolicy } from './policy.ts';
import { Sent, type SessionPort } from './port.ts';
import type { Questions } from './questions.ts';
import type { SessionStats } from './stats.ts';

/** Spread of the send gap below one interval; narrower when a single miss already means death. */
const JITTER = 0.25;
const JITTER_SINGLE_MISS = 0.15;
/** A question owed within so many intervals takes the place of the peer's next one: later it falls between two. */
const OWN_TURN_INTERVALS = 1.75;
/** A process that runs this late tells its peers, in place of a BEAT. */
const TOLD_LAG_MS = 100;

export class Transmitter {
  /** Our DEGRADED level, carried on every frame. */
  degraded = false;
  lastTxMs = 0;
  /** Told what goes out, when it runs. */
  recorder: FlightRecorder | undefined;
  /** Nothing can go out: not open yet, or the outbound side refused a frame and has not called back. */
  isHeld = true;

  readonly #tickMs: number;
  readonly #asksAlways: boolean;
  readonly #limits: Limits;
  readonly #port: SessionPort;
  readonly #random: Random;
  readonly #questions: Questions;
  readonly #stats: SessionStats;
  #gapMs = 0;
  /** Our level changed and no frame of our own has told it yet. */
  #owesLevel = false;
  /** The peer was told that we run late, and not yet that it is over. */
  #isLagTold = false;
  #outbox: Outbox | undefined;
  /** The number of our newest POLL, u32; -1 before the first. */
  pollSeq = -1;
  /** int32 images of u32 values: they stay small integers. */
  #nextSeq: number;
  readonly #timestampOffset: number;

  constructor(
    policy: SessionPolicy,
    limits: Limits,
    port: SessionPort,
    random: Random,
    questions: Questions,
    stats: SessionStats,
  ) {
    this.#tickMs = policy.tickMs;
    this.#asksAlways = policy.ask === 'always';
    this.#limits = limits;
    this.#port = port;
    this.#random = random;
    this.#questions = questions;
    this.#stats = stats;
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
    this.#owesLevel = false; // the first frame tells it
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

  /** A sign of life; while this process runs late, and once when that is over, it says how late. */
  beat(nowMs: number): boolean {
    const lagMs = this.#port.lateness.recentLagMs(nowMs);
    if (lagMs < TOLD_LAG_MS && !this.#isLagTold) return this.#put(0, this.wireTime(nowMs), nowMs);
    const word = makeParam(Param.LoopLag, Math.min(lagMs, PARAM_VALUE_MAX));
    if (!this.#put(Flag.Param, word, nowMs)) return false;
    this.#isLagTold = lagMs >= TOLD_LAG_MS;
    return true;
  }

  /** Ask the peer's application; returns the number asked under, -1 when nothing can go out. */
  probe(nowMs: number): number {
    const seq = this.#nextSeq >>> 0;
    return this.#put(Flag.AckRequest | Flag.Probe, this.wireTime(nowMs), nowMs) ? seq : -1;
  }

  /** Owe a frame within `delayMs` from now; one owed earlier stays so, as our sends are never further apart. */
  owe(now: number, delayMs: number): void {
    this.#gapMs = Math.min(this.#gapMs, now + delayMs - this.lastTxMs);
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

  /** Tell the result of our application's check, or keep it; a second one kept takes the first one's place. */
  answerProbe(seq: number, timestamp: number, passed: boolean, nowMs: number): void {
    if (!this.isHeld && this.#putProbeAnswer(seq, timestamp, passed, nowMs)) return;
    this.#openOutbox().holdProbeAnswer(seq, timestamp, passed);
  }

  /** Send a group of parameter words back to back, or keep it. */
  sendGroup(words: readonly number[], nowMs: number): void {
    this.#openOutbox().group = words;
    if (!this.isHeld) this.emptyOutbox(nowMs);
  }

  /** Answer a POLL with this word, or keep it; of several kept ones the newest survives. */
  reply(word: number, nowMs: number): void {
    this.#openOutbox().replyWord = word;
    if (!this.isHeld) this.emptyOutbox(nowMs);
  }

  /** The interval may have become shorter: what is owed must not come later than it says now. */
  hurry(): void {
    // A gap that is legal still stays: to draw again would pull the late beats of a mass accept together.
    if (this.#gapMs > this.#gapAtMs(1)) this.#gapMs = this.#nextGapMs();
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
    const { probe } = outbox;
    if (probe !== undefined && !this.#putProbeAnswer(probe.seq, probe.timestamp, probe.passed, nowMs))
      return false;
    outbox.probe = undefined;
    if (outbox.replyWord !== 0 && !this.#put(Flag.Param, outbox.replyWord, nowMs, true)) return false;
    outbox.replyWord = 0;
    while (outbox.group.length > 0) {
      const word = outbox.group[0] as number;
      // A GOAWAY_INFO word travels with its flag.
      const flags = paramId(word) === Param.GoAwayInfo ? Flag.Param | Flag.GoAway : Flag.Param;
      if (!this.#put(flags, word, nowMs, true)) return false;
      outbox.group = outbox.group.slice(1);
    }
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
    return this.#putAnswer(this.degraded ? Flag.Ack | Flag.Degraded : Flag.Ack, seq, timestamp, nowMs);
  }

  /** On this one answer DEGRADED is the result of the check, not our level. */
  #putProbeAnswer(seq: number, timestamp: number, passed: boolean, nowMs: number): boolean {
    const flags = Flag.Ack | Flag.Probe | (passed ? 0 : Flag.Degraded);
    return this.#putAnswer(flags, seq, timestamp, nowMs);
  }

  #putAnswer(flags: number, seq: number, timestamp: number, nowMs: number): boolean {
    if (this.#port.send(flags, seq, timestamp) === Sent.Held) {
      this.recorder?.record('held', flags, nowMs);
      this.isHeld = true;
      return false;
    }
    this.recorder?.record('frame-out', flags, nowMs);
    this.#stats.pongsSent++;
    this.#noteSent(nowMs, this.#gapAfterAnswerMs(nowMs));
    return true;
  }

  /**
   * Put a frame of our own on the wire; it takes the next number only when it really goes out. `keepsOwed`: the beat
   * owed before stays owed, for what follows soon on every accept (parameter groups and the answers to them) and
   * would bring a mass of links into step.
   */
  #put(flags: number, word: number, nowMs: number, keepsOwed = false): boolean {
    const seq = this.#nextSeq >>> 0;
    const result = this.#port.send(this.degraded ? flags | Flag.Degraded : flags, seq, word);
    if (result === Sent.Held) {
      this.recorder?.record('held', flags, nowMs);
      this.isHeld = true;
      this.#stats.skipped++;
      return false;
    }
    this.recorder?.record('frame-out', flags, nowMs);
    this.#nextSeq = (this.#nextSeq + 1) | 0;
    if ((flags & Flag.Param) !== 0 && paramId(word) === Param.Poll) this.pollSeq = seq;
    this.#owesLevel = false;
    const isPing = (flags & (Flag.AckRequest | Flag.Probe)) === Flag.AckRequest; // a probe has a slot of its own
    this.#questions.sent(seq, isPing, result === Sent.InKernel, nowMs);
    const owedMs = this.lastTxMs + this.#gapMs;
    this.#noteSent(nowMs, keepsOwed ? owedMs - Math.floor(nowMs) : this.#nextGapMs());
    return true;
  }

  #noteSent(nowMs: number, gapMs: number): void {
    this.#stats.framesSent++;
    this.lastTxMs = Math.floor(nowMs);
    this.#gapMs = gapMs;
  }

  /**
   * Who asks spreads its questions, and the next one shall find us silent, not just after a beat nobody needed. But an
   * own question that is owed before long takes the place of the peer's next one.
   */
  #gapAfterAnswerMs(nowMs: number): number {
    // The first question may come on accept, with those of a crowd: it must not bring the beats owed to them into step.
    if (this.#stats.pongsSent === 1) return this.lastTxMs + this.#gapMs - Math.floor(nowMs);
    if (this.#questions.outstanding > 0) return this.#nextGapMs(); // both asked: chance decides who is first next time
    const soonMs = nowMs + OWN_TURN_INTERVALS * this.#limits.txIntervalMs;
    return this.#gapAtMs(this.#asksAlways || this.#questions.askAtMs < soonMs ? 0 : 1);
  }

  #nextGapMs(): number {
    return this.#gapAtMs(this.#random.next());
  }

  /** The gap at `fraction` of the way from the shortest to the longest one. */
  #gapAtMs(fraction: number): number {
    const spread = this.#limits.ownMultiplier === 1 ? JITTER_SINGLE_MISS : JITTER;
    // The wheel rounds up to a tick, and times of sending are cut to whole ms; a duty to send must round down.
    return Math.ceil(this.#limits.txIntervalMs * (0.75 + spread * fraction)) - this.#tickMs;
  }
}
