/**
 * What a valid frame means: an answer to one of our questions, or a frame of the peer's own that may tell something
 * and may ask something. Only a PING is ever answered, so every exchange ends after one answer.
 */
import { Flag, Param } from '../wire/constants.ts';
import { paramId } from '../wire/param.ts';
import type { Advice } from './advice.ts';
import type { Departure } from './departure.ts';
import type { Duty, DutyParts } from './duty.ts';
import { UNMATCHED } from './questions.ts';
import type { LinkState } from './states.ts';

/** Pings of our own that come back as pings before we believe that nobody but an echo is there. */
const MAX_REFLECTED = 3;

/** The session, as its receiver sees it. */
export interface ReceiverOwner {
  readonly state: LinkState;
  readonly advice: Advice | undefined;
}

export class Receiver {
  readonly #owner: ReceiverOwner;
  readonly #departure: Departure;
  readonly #parts: DutyParts;
  readonly #duty: Duty;
  #reflections = 0;

  constructor(owner: ReceiverOwner, departure: Departure, parts: DutyParts, duty: Duty) {
    this.#owner = owner;
    this.#departure = departure;
    this.#parts = parts;
    this.#duty = duty;
  }

  answer(flags: number, seq: number, timestamp: number, nowMs: number): void {
    const { announcer, peer, questions, stats, transmitter } = this.#parts;
    if (this.#answersProbe(flags, seq, nowMs)) return;
    const isProbe = (flags & Flag.Probe) !== 0;
    const rttMs = questions.answered(seq, timestamp, transmitter.wireTime(nowMs), isProbe, nowMs);
    if (rttMs === UNMATCHED) {
      stats.pongsUnmatched++;
      if (this.#duty.agreement?.police('other', Math.floor(nowMs), nowMs)) this.#departure.tooFast();
      return;
    }
    stats.pongsMatched++;
    if (!isProbe) this.#peerLevel((flags & Flag.Degraded) !== 0);
    if (rttMs >= 0) {
      peer.jitter.answer(rttMs);
      const trend = this.#owner.advice?.trend;
      if (trend?.sample(rttMs)) {
        announcer.tell({
          type: 'rtt-trend',
          isRaised: trend.isRaised,
          rttMs,
          baselineMs: trend.baselineMs,
        });
      }
    }
    announcer.pong(seq, rttMs);
  }

  /** An answer to our business probe, whose flags are the outcome. */
  #answersProbe(flags: number, seq: number, nowMs: number): boolean {
    const { announcer, stats } = this.#parts;
    const { business } = this.#duty;
    if (business === undefined) return false;
    const isChecked = (flags & Flag.Probe) !== 0;
    const said = isChecked ? ((flags & Flag.Degraded) === 0 ? 'ok' : 'failed') : 'unknown';
    const outcome = business.answered(seq, said, nowMs);
    if (outcome === undefined) return false;
    stats.pongsMatched++;
    if (!isChecked) this.#peerLevel((flags & Flag.Degraded) !== 0);
    announcer.tell({ type: 'business', outcome, failures: business.failures });
    return true;
  }

  own(flags: number, seq: number, word: number, nowMs: number): void {
    const { peer, port, transmitter } = this.#parts;
    if (this.#isTooFast(flags, word, nowMs)) return;
    if (peer.hear(flags, seq, word, nowMs)) {
      this.#peerLevel((flags & Flag.Degraded) !== 0);
      const isInfo = (flags & Flag.Param) !== 0 && paramId(word) === Param.GoAwayInfo;
      if ((flags & Flag.GoAway) !== 0) this.#departure.peerLeaves(isInfo ? word : 0);
      else if (
        (flags & Flag.Param) !== 0 &&
        this.#duty.agreement?.hear(seq, word, Math.floor(nowMs), nowMs)
      ) {
        this.#departure.reflected();
      }
    }
    if (
      (flags & Flag.AckRequest) === 0 ||
      this.#owner.state === 'closed' ||
      this.#isReflected(seq, word, nowMs)
    )
      return;
    if ((flags & Flag.Probe) !== 0 && port.check(seq, word)) return;
    transmitter.answer(seq, word, nowMs);
  }

  #isTooFast(flags: number, word: number, nowMs: number): boolean {
    const { agreement } = this.#duty;
    const id = (flags & Flag.Param) === 0 ? 0 : paramId(word);
    if (agreement === undefined || id === Param.Final || id === Param.Refuse) return false;
    const isWord = id >= Param.DesiredMinTx && id <= Param.DetectMult;
    const what = isWord ? 'word' : id === Param.Poll ? 'poll' : 'other';
    if (!agreement.police(what, Math.floor(nowMs), nowMs)) return false;
    this.#departure.tooFast();
    return true;
  }

  /** Our own ping comes back: it is not answered, and when that goes on, an echo must not pass for a peer. */
  #isReflected(seq: number, timestamp: number, nowMs: number): boolean {
    const { questions, transmitter } = this.#parts;
    if (!questions.isOwn(seq, timestamp, transmitter.wireTime(nowMs), nowMs)) return false;
    if (++this.#reflections === MAX_REFLECTED) this.#departure.reflected();
    return true;
  }

  #peerLevel(degraded: boolean): void {
    const { announcer, peer } = this.#parts;
    if (degraded === peer.degraded) return;
    peer.degraded = degraded;
    announcer.tell({ type: 'degraded', degraded });
  }
}
