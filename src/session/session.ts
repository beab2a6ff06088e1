/**
 * The liveness of one connection, without sockets, timers, clocks or randomness of its own: events and `nowMs` go
 * in, frames and verdicts go out through the port, and `wake` returns when it wants to be woken next.
 *
 * Four clocks: `lastRx` judges, `lastTx` obliges, write progress watches, the answer clock asks. After
 * whatever happened `deadline` says when it wants to be woken next: it may have moved either way, so ask it.
 *
 * Rounding, so that whole-millisecond stamps never judge early: times of receipt round up, times of sending and
 * waking round down; verdict deadlines round up to a tick (the wheel does that), sending deadlines down.
 *
 * Source: spec/HB1.md, sections on frames, sequence and liveness.
 */
import type { Random } from '../base/random.ts';
import { Flag } from '../wire/constants.ts';
import { Advice } from './advice.ts';
import { Announcer } from './announcer.ts';
import type { BusinessOutcome } from './business.ts';
import { Departure, type DepartureOwner } from './departure.ts';
import { Duty } from './duty.ts';
import { FlightRecorder } from './flight-recorder.ts';
import type { JitterEstimator } from './jitter.ts';
import { Judge, type JudgeOwner } from './judge.ts';
import { Limits } from './limits.ts';
import type { Rates } from './negotiation.ts';
import { Peer } from './peer.ts';
import { detectionBound, detectionTime, type SessionPolicy } from './policy.ts';
import type { SessionPort } from './port.ts';
import { Questions } from './questions.ts';
import { Receiver, type ReceiverOwner } from './receiver.ts';
import type { RttEstimator } from './rtt.ts';
import { Silence } from './silence.ts';
import { type LinkState, TRANSITIONS, type Trigger } from './states.ts';
import { SessionStats } from './stats.ts';
import { Transmitter } from './transmitter.ts';

/** Returned by `wake`: read everything the sockets hold, then call `wake` again with `polled` true. */
export const NEEDS_POLL = -1;

export class Session implements ReceiverOwner, JudgeOwner, DepartureOwner {
  readonly policy: SessionPolicy;
  readonly stats = new SessionStats();
  readonly recorder: FlightRecorder | undefined;
  readonly advice: Advice | undefined;
  /** How this link leaves: by our word or the peer's. */
  readonly departure: Departure;
  state: LinkState = 'opening';

  readonly #port: SessionPort;
  readonly #limits: Limits;
  readonly #peer: Peer;
  readonly #questions: Questions;
  readonly #transmitter: Transmitter;
  readonly #silence: Silence;
  readonly #announcer: Announcer;
  readonly #duty: Duty;
  readonly #receiver: Receiver;
  /** Knows what speaks for and against the peer. */
  readonly judge: Judge;

  constructor(policy: SessionPolicy, port: SessionPort, random: Random) {
    this.policy = policy;
    this.#port = port;
    const limits = new Limits(policy);
    const stats = this.stats;
    const peer = new Peer(stats);
    const questions = new Questions(limits, policy.preciseRtt);
    const transmitter = new Transmitter(policy, limits, port, random, questions, stats);
    const silence = new Silence(policy, limits, port, questions, transmitter);
    const announcer = new Announcer(port);
    this.#limits = limits;
    this.#peer = peer;
    this.#questions = questions;
    this.#transmitter = transmitter;
    this.#silence = silence;
    this.#announcer = announcer;
    const parts = { policy, limits, port, stats, peer, questions, silence, transmitter, announcer };
    this.#duty = new Duty(parts, random);
    this.departure = new Departure(this, parts, this.#duty);
    this.#receiver = new Receiver(this, this.departure, parts, this.#duty);
    this.judge = new Judge(this, parts, this.#duty);
    this.recorder = transmitter.recorder = policy.record ? new FlightRecorder() : undefined;
    this.advice = policy.advice ? new Advice(limits) : undefined;
  }

  // ---- what is known -----------------------------------------------------

  /** The last life heard (or the moment silence began to count), ms on the caller's clock. */
  get lastRxMs(): number {
    return this.#silence.lastRxMs;
  }

  /** Something valid was heard from the peer. */
  get heard(): boolean {
    return this.#silence.heard;
  }

  get lastTxMs(): number {
    return this.#transmitter.lastTxMs;
  }

  /** Intervals and multiplier in force now. */
  get limits(): Readonly<Limits> {
    return this.#limits;
  }

  /** Both ends have said what they wish. */
  get isAgreed(): boolean {
    return this.#duty.agreement?.isAgreed === true;
  }

  /** The peer's DEGRADED level: alive, but its business is not well. */
  get peerDegraded(): boolean {
    return this.#peer.degraded;
  }

  /** How late the peer's process runs, as it tells itself, ms. */
  get peerLagMs(): number {
    return this.#peer.lagMs;
  }

  /** The newest outcome of a business probe. */
  get business(): BusinessOutcome | undefined {
    return this.#duty.business?.outcome;
  }

  get jitter(): JitterEstimator {
    return this.#peer.jitter;
  }

  get rtt(): RttEstimator {
    return this.#questions.rtt;
  }

  /** Pings without an answer among the last 64 frames. */
  get unanswered(): number {
    return this.#questions.outstanding;
  }

  get detectionTimeMs(): number {
    return detectionTime(this.#limits.rxIntervalMs, this.#limits.multiplier, this.rtt.rtoMs);
  }

  /** `lateScore` 0..8: how late this process has been running. */
  detectionBoundMs(lateScore: number): number {
    const { rxIntervalMs, multiplier } = this.#limits;
    return detectionBound(rxIntervalMs, multiplier, this.rtt.rtoMs, lateScore, this.policy.tickMs);
  }

  // ---- what happens ------------------------------------------------------

  /** The connection stands. `phase` in [0, 1) spreads first beats; silence counts from the first question. */
  open(nowMs: number, phase: number): void {
    const now = Math.floor(nowMs);
    const firstMs = Math.floor(phase * this.#firstWithinMs);
    this.#silence.lastRxMs = now + firstMs;
    this.#questions.restart(now + firstMs);
    this.#transmitter.open(now, firstMs);
    this.#duty.open(now, firstMs);
    if (this.heard || this.#silence.isPaused) return;
    this.judge.hearByMs = now + this.policy.firstLifeMs;
  }

  /** Whoever only answers cannot be heard before it was asked: our first question must leave it time for that. */
  get #firstWithinMs(): number {
    return Math.min(this.#limits.txIntervalMs, Math.max(0, this.policy.firstLifeMs - this.rtt.rtoMs));
  }

  /** A frame that passed every check. */
  receive(flags: number, seq: number, timestamp: number, nowMs: number): void {
    if (this.state === 'closed') return;
    this.stats.framesReceived++;
    this.recorder?.record('frame-in', flags, nowMs);
    this.#life(Math.ceil(nowMs));
    if ((flags & Flag.Ack) !== 0) this.#receiver.answer(flags, seq, timestamp, nowMs);
    else this.#receiver.own(flags, seq, timestamp, nowMs);
  }

  /** Bytes of a host frame whose length was accepted. */
  receiveHost(nowMs: number): void {
    if (this.state === 'closed') return;
    this.recorder?.record('host-in', 0, nowMs);
    this.#peer.lastVoluntaryMs = Math.ceil(nowMs);
    this.#life(this.#peer.lastVoluntaryMs);
  }

  /** The host wrote: that is traffic in the peer's eyes, and it may have filled the queue. */
  hostWrote(nowMs: number): void {
    this.recorder?.record('host-out', 0, nowMs);
    this.#transmitter.lastTxMs = Math.floor(nowMs);
    this.#silence.queueGrew(this.#transmitter.lastTxMs);
  }

  /** The outbound side is free again after it held a frame. */
  writable(nowMs: number): void {
    this.#transmitter.isHeld = false;
    this.#duty.perform(this.state, Math.floor(nowMs), nowMs, false);
  }

  /** Everything handed over so far is in the kernel. */
  flushed(nowMs: number): void {
    this.#questions.flushed(nowMs);
  }

  /** We stop reading: the receive clocks stand still. */
  pause(nowMs: number): void {
    if (this.#silence.isPaused) return;
    this.#silence.isPaused = true;
    this.judge.hearByMs = Infinity;
    this.judge.tellPauseAtMs = Math.floor(nowMs) + this.policy.maxReadPausedMs;
    this.recorder?.record('paused', 0, nowMs);
    this.move('pause');
  }

  /** We read again: a fresh window. */
  resume(nowMs: number): void {
    if (!this.#silence.isPaused) return;
    this.#silence.isPaused = false;
    this.judge.tellPauseAtMs = Infinity;
    this.#freshWindow(nowMs);
  }

  /** The machine slept: nobody can be blamed for that. A fresh window, and a question `delayMs` from now. */
  resumed(nowMs: number, delayMs: number): void {
    if (this.state === 'closed' || this.#silence.isPaused) return;
    const now = Math.floor(nowMs);
    this.move('pause');
    this.#freshWindow(nowMs);
    this.#peer.lastVoluntaryMs = now - this.#limits.rxIntervalMs;
    this.#transmitter.owe(now, delayMs);
  }

  #freshWindow(nowMs: number): void {
    this.recorder?.record('resumed', 0, nowMs);
    if (!this.heard) this.judge.hearByMs = Math.floor(nowMs) + this.policy.firstLifeMs;
    this.#silence.life(Math.ceil(nowMs));
    this.#questions.restart(Math.floor(nowMs));
    this.#duty.business?.forget(Math.floor(nowMs));
    this.#duty.agreement?.readAgain(Math.floor(nowMs));
    this.move(this.#silence.heard ? 'resume' : 'resume-unheard');
  }

  /** The result of the check that the port was asked for. */
  checked(seq: number, timestamp: number, passed: boolean, nowMs: number): void {
    if (this.state !== 'closed') this.#transmitter.answerProbe(seq, timestamp, passed, nowMs);
  }

  /** Our DEGRADED level; a change is told at once, idle or not. */
  setDegraded(value: boolean, nowMs: number): void {
    if (this.#transmitter.degraded === value) return;
    this.#transmitter.setDegraded(value);
    this.#duty.perform(this.state, Math.floor(nowMs), nowMs, false);
  }

  /** Wish for other rates; unset ones stay. False on a link that does not negotiate. */
  setRates(rates: Partial<Rates>, nowMs: number): boolean {
    const { agreement } = this.#duty;
    if (agreement === undefined) return false;
    agreement.want({ ...agreement.rates, ...rates }, Math.floor(nowMs));
    return true;
  }

  /** The link is over, for whatever reason; nothing is sent or judged any more. */
  end(): void {
    this.move('end');
  }

  /**
   * Do what is due at `nowMs`; returns the next deadline (Infinity: none), or NEEDS_POLL when a judgement is due and
   * the sockets were not read since this process woke: bytes that wait there may refute it. What had arrived by
   * `readUpToMs` has been read, so that is the moment judged; what listeners and others took since then is nobody's
   * silence.
   */
  wake(nowMs: number, polled: boolean, readUpToMs: number = nowMs): number {
    if (this.state === 'closed') return Infinity;
    const now = Math.floor(nowMs);
    const isQuiet = now < this.#silence.meansNothingBeforeMs && this.#port.queuedBytes() === 0;
    if (!polled && (isQuiet ? this.#duty.needsPoll(now) : this.judge.needsPoll(now))) return NEEDS_POLL;
    if (!isQuiet) this.judge.look(Math.floor(readUpToMs), nowMs, polled);
    this.#duty.perform(this.state, now, nowMs, polled);
    return this.deadline(nowMs);
  }

  /** When `wake` wants to be called next, ms, or somewhat earlier; Infinity when nothing is planned. */
  deadline(nowMs: number): number {
    if (this.state === 'closed') return Infinity;
    const { meansNothingBeforeMs } = this.#silence;
    const judgeMs =
      nowMs < meansNothingBeforeMs ? meansNothingBeforeMs : this.judge.nextMs(Math.floor(nowMs));
    return Math.min(judgeMs, this.#duty.nextMs(this.state));
  }

  // ---- receiving ---------------------------------------------------------

  #life(rxMs: number): void {
    const silentMs = rxMs - this.#silence.lastRxMs;
    this.#silence.life(rxMs);
    this.advice?.heard(rxMs);
    if (this.state === 'up' && !this.#announcer.isSuspectTold && !this.#silence.isCondemned) return;
    if (this.#silence.isCondemned) this.#avert();
    this.#silence.heard = true;
    this.judge.hearByMs = Infinity;
    this.move('life');
    this.#announcer.life(silentMs);
  }

  #avert(): void {
    this.#silence.isCondemned = false;
    this.stats.killsAverted++;
  }

  /** Follow the table. For the parts of this session only. */
  move(trigger: Trigger): void {
    this.#silence.meansNothingBeforeMs = -Infinity;
    const next = TRANSITIONS[this.state][trigger];
    if (next === undefined) return;
    this.state = next;
    this.#announcer.isOver = next === 'closed';
    if (next !== 'suspect') this.#duty.calm();
  }
}
