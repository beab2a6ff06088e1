/**
 * The liveness of one connection, without sockets, timers, clocks or randomness of its own: events and `nowMs` go
 * in, frames and verdicts go out through the port, and `wake` returns when it wants to be woken next.
 *
 * Four clocks: `lastRx` judges, `lastTx` obliges, write progress watches, the answer clock asks. Receiving writes a
 * time stamp and nothing else; deadlines that only moved later are found out at the next wake (lazy re-arm).
 *
 * Rounding, so that whole-millisecond stamps never judge early: times of receipt round up, times of sending and
 * waking round down; verdict deadlines round up to a tick (the wheel does that), sending deadlines down.
 *
 * Source: spec/HB1.md, sections on frames, sequence and liveness.
 */
import type { Random } from '../base/random.ts';
import { Flag, Param } from '../wire/constants.ts';
import { goAwayReason, paramId } from '../wire/param.ts';
import { Announcer } from './announcer.ts';
import type { Cause } from './causes.ts';
import { goAwayRetryAfterMs, peerGoAwayReason } from './goaway.ts';
import { JitterEstimator } from './jitter.ts';
import { detectionBound, detectionTime, type SessionPolicy } from './policy.ts';
import type { SessionPort } from './port.ts';
import { Questions, UNMATCHED } from './questions.ts';
import type { RttEstimator } from './rtt.ts';
import { PeerSequence } from './sequence.ts';
import { Silence } from './silence.ts';
import { type LinkState, TRANSITIONS, type Trigger } from './states.ts';
import { SessionStats } from './stats.ts';
import { SuspectProbes } from './suspect-probes.ts';
import { Transmitter } from './transmitter.ts';

/** Returned by `wake`: read everything the sockets hold, then call `wake` again with `polled` true. */
export const NEEDS_POLL = -1;

export class Session {
  readonly policy: SessionPolicy;
  readonly stats = new SessionStats();
  readonly jitter = new JitterEstimator();
  state: LinkState = 'opening';
  /** The peer's DEGRADED level: alive, but its business is not well. */
  peerDegraded = false;

  readonly #port: SessionPort;
  readonly #questions: Questions;
  readonly #transmitter: Transmitter;
  readonly #silence: Silence;
  readonly #announcer: Announcer;
  readonly #peerSequence = new PeerSequence();
  #probes: SuspectProbes | undefined;
  /** Last frame or host byte the peer sent of its own accord: answers do not count. */
  #lastVoluntaryMs = -Infinity;
  #leaveByMs = Infinity;
  /** A new link must be heard by then; Infinity once it was. */
  #hearByMs = Infinity;
  #peerLeft = false;
  #weLeft = false;

  constructor(policy: SessionPolicy, port: SessionPort, random: Random) {
    this.policy = policy;
    this.#port = port;
    this.#questions = new Questions(policy);
    this.#transmitter = new Transmitter(policy, port, random, this.#questions, this.stats);
    this.#silence = new Silence(policy, port, this.#questions, this.#transmitter);
    this.#announcer = new Announcer(port);
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

  get rtt(): RttEstimator {
    return this.#questions.rtt;
  }

  /** Pings without an answer among the last 64 frames. */
  get unanswered(): number {
    return this.#questions.outstanding;
  }

  get detectionTimeMs(): number {
    return detectionTime(this.policy.intervalMs, this.policy.deadAfter, this.rtt.rtoMs);
  }

  /** `lateScore` 0..8: how late this process has been running. */
  detectionBoundMs(lateScore: number): number {
    const { intervalMs, deadAfter, tickMs } = this.policy;
    return detectionBound(intervalMs, deadAfter, this.rtt.rtoMs, lateScore, tickMs);
  }

  /** What a close of the connection by the other side means now. */
  get causeOfPeerClose(): Cause {
    if (this.#weLeft) return 'local';
    return this.#peerLeft ? 'left' : 'peer-closed';
  }

  // ---- what happens ------------------------------------------------------

  /** The connection stands. `phase` in [0, 1) spreads first beats; silence counts from the first question. */
  open(nowMs: number, phase: number): void {
    const now = Math.floor(nowMs);
    const firstMs = Math.floor(phase * this.policy.intervalMs);
    this.#silence.lastRxMs = now + firstMs;
    // The first frame is a question on a busy link too: the round trip must be known before the link falls silent.
    this.#questions.restart(now + firstMs - this.#silence.deadMs);
    this.#transmitter.open(now, firstMs);
    if (!this.heard && !this.#silence.isPaused) this.#hearByMs = now + this.policy.firstLifeMs;
  }

  /** A frame that passed every check. */
  receive(flags: number, seq: number, timestamp: number, nowMs: number): void {
    if (this.state === 'closed') return;
    this.stats.framesReceived++;
    this.#life(Math.ceil(nowMs));
    if ((flags & Flag.Ack) !== 0) this.#receiveAnswer(flags, seq, timestamp, nowMs);
    else this.#receiveOwn(flags, seq, timestamp, nowMs);
  }

  /** Bytes of a host frame whose length was accepted. */
  receiveHost(nowMs: number): void {
    if (this.state === 'closed') return;
    this.#lastVoluntaryMs = Math.ceil(nowMs);
    this.#life(this.#lastVoluntaryMs);
  }

  /** The host wrote: that is traffic in the peer's eyes, and it may have filled the queue. */
  hostWrote(nowMs: number): void {
    this.#transmitter.lastTxMs = Math.floor(nowMs);
    this.#silence.queueGrew(this.#transmitter.lastTxMs);
  }

  /** The outbound side is free again after it held a frame. */
  writable(nowMs: number): void {
    this.#transmitter.isHeld = false;
    this.#perform(Math.floor(nowMs), nowMs);
  }

  /** Everything handed over so far is in the kernel. */
  flushed(nowMs: number): void {
    this.#questions.flushed(nowMs);
  }

  /** We stop reading: the receive clocks stand still. */
  pause(): void {
    this.#silence.isPaused = true;
    this.#hearByMs = Infinity;
    this.#move('pause');
  }

  /** We read again: a fresh window. */
  resume(nowMs: number): void {
    if (!this.#silence.isPaused) return;
    this.#silence.isPaused = false;
    this.#silence.life(Math.ceil(nowMs));
    this.#questions.restart(Math.floor(nowMs));
    if (!this.heard) this.#hearByMs = Math.floor(nowMs) + this.policy.firstLifeMs;
    this.#move(this.#silence.heard ? 'resume' : 'resume-unheard');
  }

  /** Our DEGRADED level; a change is told at once, idle or not. */
  setDegraded(value: boolean, nowMs: number): void {
    if (this.#transmitter.degraded === value) return;
    this.#transmitter.setDegraded(value);
    this.#perform(Math.floor(nowMs), nowMs);
  }

  /** Say GOAWAY with `word` (GOAWAY_INFO), then beat and answer on until `drainMs` are over. */
  leave(word: number, drainMs: number, nowMs: number): void {
    if (this.state === 'closed' || this.#weLeft) return;
    this.#weLeft = true;
    this.#leaveByMs = Math.floor(nowMs) + drainMs;
    this.#move('leave');
    this.#transmitter.goAway(word, nowMs);
    const retryAfterMs = goAwayRetryAfterMs(word);
    this.#announcer.tell({ type: 'leaving', by: 'us', reason: goAwayReason(word), retryAfterMs });
  }

  /** A last GOAWAY if it can go out at once, then the end: for errors after which nothing more is said. */
  farewell(word: number, nowMs: number): void {
    if (this.state === 'closed') return;
    this.#transmitter.goAway(word, nowMs);
    this.#move('end');
  }

  /** The link is over, for whatever reason; nothing is sent or judged any more. */
  end(): void {
    this.#move('end');
  }

  /**
   * Do what is due at `nowMs`; returns the next deadline (Infinity: none), or NEEDS_POLL when a judgement is due and
   * the sockets were not read since this process woke: bytes that wait there may refute it.
   */
  wake(nowMs: number, polled: boolean): number {
    if (this.state === 'closed') return Infinity;
    const now = Math.floor(nowMs);
    const stalledMs = this.#silence.look(now);
    if (stalledMs > 0) this.#announcer.tell({ type: 'write-stall', stalledMs });
    if (now >= this.#judgeAtMs() || now >= this.#hearByMs) {
      if (!polled) return NEEDS_POLL;
      if (now >= this.#hearByMs) this.#giveUp();
      else this.#judge(now, nowMs);
    } else if (now >= this.#leaveByMs) {
      this.#finish('local');
    }
    this.#perform(now, nowMs);
    return this.deadline();
  }

  /** When `wake` wants to be called next, ms; Infinity when nothing is planned. */
  deadline(): number {
    if (this.state === 'closed') return Infinity;
    let due = Math.min(this.#judgeAtMs(), this.#hearByMs, this.#leaveByMs, this.#silence.lookAtMs);
    if (this.policy.role === 'full' && !this.#transmitter.isHeld) {
      due = Math.min(due, this.#transmitter.dueMs, this.#silence.askAtMs, this.#questions.askAtMs);
      if (this.#probes !== undefined) due = Math.min(due, this.#probes.nextMs);
    }
    return due;
  }

  // ---- receiving ---------------------------------------------------------

  #life(rxMs: number): void {
    const silentMs = rxMs - this.#silence.lastRxMs;
    this.#silence.life(rxMs);
    if (this.state === 'up' && !this.#announcer.isSuspectTold) return;
    this.#silence.heard = true;
    this.#hearByMs = Infinity;
    this.#move('life');
    this.#announcer.life(silentMs);
  }

  #receiveAnswer(flags: number, seq: number, timestamp: number, nowMs: number): void {
    const isProbe = (flags & Flag.Probe) !== 0;
    const wireNow = this.#transmitter.wireTime(nowMs);
    const rttMs = this.#questions.answered(seq, timestamp, wireNow, isProbe, nowMs);
    if (rttMs === UNMATCHED) {
      this.stats.pongsUnmatched++;
      return;
    }
    this.stats.pongsMatched++;
    if (!isProbe) this.#peerLevel((flags & Flag.Degraded) !== 0);
    if (rttMs >= 0) this.jitter.answer(rttMs);
    this.#announcer.pong(seq, rttMs);
  }

  #receiveOwn(flags: number, seq: number, timestamp: number, nowMs: number): void {
    const isParam = (flags & Flag.Param) !== 0;
    const id = isParam ? paramId(timestamp) : 0;
    if (id !== Param.Final && id !== Param.Refuse) this.#lastVoluntaryMs = Math.ceil(nowMs);
    const verdict = this.#peerSequence.accept(seq);
    if (verdict === 'new') {
      if (!isParam) this.jitter.arrival(Math.floor(nowMs), timestamp);
      this.#peerLevel((flags & Flag.Degraded) !== 0);
      if ((flags & Flag.GoAway) !== 0) this.#peerLeaves(id === Param.GoAwayInfo ? timestamp : 0);
    } else if (verdict === 'duplicate') this.stats.duplicates++;
    else if (verdict === 'stale') this.stats.stale++;
    else this.stats.candidates++;
    if ((flags & Flag.AckRequest) !== 0 && this.state !== 'closed') {
      this.#transmitter.answer(seq, timestamp, nowMs);
    }
  }

  #peerLevel(degraded: boolean): void {
    if (degraded === this.peerDegraded) return;
    this.peerDegraded = degraded;
    this.#announcer.tell({ type: 'degraded', degraded });
  }

  #peerLeaves(word: number): void {
    if (this.#peerLeft) return;
    this.#peerLeft = true;
    this.#move('goaway');
    const retryAfterMs = goAwayRetryAfterMs(word);
    this.#announcer.tell({ type: 'leaving', by: 'peer', reason: peerGoAwayReason(word), retryAfterMs });
  }

  // ---- judging -----------------------------------------------------------

  get #maySuspect(): boolean {
    return this.policy.deadAfter > 1 && (this.state === 'opening' || this.state === 'up');
  }

  #judgeAtMs(): number {
    if (this.#silence.isPaused || this.policy.role === 'responder') return Infinity;
    return this.#maySuspect ? this.#silence.suspectAtMs : this.#silence.deadAtMs;
  }

  #judge(now: number, nowMs: number): void {
    if (this.#maySuspect) this.#suspect(now);
    if (this.state === 'closed' || now < this.#silence.deadAtMs) return;
    if (this.#silence.mustAsk) this.#transmitter.ping(nowMs);
    else if (this.state === 'leaving') this.#finish(this.#peerLeft ? 'left' : 'local');
    else this.#die(now);
  }

  #suspect(now: number): void {
    this.#move('silence');
    this.stats.suspicions++;
    this.#probes = new SuspectProbes(now, this.rtt.rtoMs);
    this.#announcer.suspect(now - this.#silence.lastRxMs, this.#silence.deadMs);
  }

  #die(now: number): void {
    const { cause, lastRxMs, deadMs } = this.#silence;
    this.#move('end');
    this.#port.notify({ type: 'dead', cause, silentMs: now - lastRxMs, limitMs: deadMs });
  }

  #giveUp(): void {
    this.#move('end');
    this.#port.notify({ type: 'silent', limitMs: this.policy.firstLifeMs });
  }

  #finish(cause: Cause): void {
    this.#move('end');
    this.#port.notify({ type: 'ended', cause });
  }

  #move(trigger: Trigger): void {
    const next = TRANSITIONS[this.state][trigger];
    if (next === undefined) return;
    this.state = next;
    this.#announcer.isOver = next === 'closed';
    if (next !== 'suspect') this.#probes = undefined;
  }

  // ---- sending -----------------------------------------------------------

  /** Send what is due: kept answers first, then at most one frame of our own. */
  #perform(now: number, nowMs: number): void {
    const transmitter = this.#transmitter;
    if (this.state === 'closed' || transmitter.isHeld) return;
    if (!transmitter.emptyOutbox(nowMs) || this.policy.role === 'responder') return;
    if (this.#probe(now, nowMs)) return;
    if (now >= this.#questions.askAtMs) {
      const unansweredMs = this.#questions.unansweredMs(now);
      transmitter.ping(nowMs);
      if (this.state === 'up' && unansweredMs >= 0) this.#announcer.oneWay(unansweredMs);
    } else if (now >= this.#silence.askAtMs) {
      transmitter.ping(nowMs);
    } else if (now >= transmitter.dueMs) {
      const isSilent = now - this.#lastVoluntaryMs >= this.policy.intervalMs;
      if ((isSilent || this.policy.ask === 'always') && !this.#questions.full) transmitter.ping(nowMs);
      else transmitter.beat(nowMs);
    }
  }

  /** True when a suspect probe was due and went out (or was held). */
  #probe(now: number, nowMs: number): boolean {
    if (this.#probes === undefined || now < this.#probes.nextMs) return false;
    if (this.#port.allowProbe(this.#probes.take())) {
      this.#transmitter.ping(nowMs);
      return true;
    }
    this.stats.probesSkipped++;
    return false;
  }
}
