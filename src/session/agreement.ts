/**
 * Negotiation on a live link: puts our group on the wire when it is owed, answers the peer's, and lets what was agreed
 * hold in all parts of the session at once. Nothing is polled while the peer is suspect; a peer that answers no POLL
 * is judged by our own values, and never killed for that.
 */
import type { Random } from '../base/random.ts';
import { GoAwayReason, Param } from '../wire/constants.ts';
import { makeParam, paramId } from '../wire/param.ts';
import type { DutyParts } from './duty.ts';
import { type Charged, Enforcement } from './enforcement.ts';
import { goAwayWord } from './goaway.ts';
import { Negotiation, type Rates } from './negotiation.ts';
import { MIN_GRACE_MS } from './silence.ts';

/** A fresh link waits up to this long with its first group, so that mass accepts do not all negotiate at once. */
const MAX_SPREAD_MS = 1_000;
/** A peer that was cut for its rate is told to stay away for this long. */
const RETRY_AFTER_MS = 30_000;
/** What was bunched has come in by then. The peer has a hand in RTO, so it is not followed for ever. */
const MAX_BUNCH_MS = 10_000;
/** Fewest intervals of silence before suspicion, whatever the multiplier. */
const MIN_SUSPECT_INTERVALS = 1.5;

export class Agreement {
  /** The peer is suspect: no change is asked for now. */
  isSuspended = false;
  readonly #parts: DutyParts;
  readonly #random: Random;
  /** Our first wish was granted, refused, or is not going to be answered. */
  #isAnswered = false;
  readonly #negotiation: Negotiation;
  /** Holds the peer to our required rate; made when it answered our POLL with FINAL. */
  #enforcement: Enforcement | undefined;
  #readAgainMs = -Infinity;

  constructor(parts: DutyParts, random: Random) {
    this.#parts = parts;
    this.#random = random;
    const { intervalMs, requiredMinRxMs, deadAfter } = parts.policy;
    const rates = { desiredMinTxMs: intervalMs, requiredMinRxMs, detectMultiplier: deadAfter };
    this.#negotiation = new Negotiation(rates, random.u32());
  }

  /** Both ends have said what they wish. */
  get isAgreed(): boolean {
    return this.#negotiation.peer !== undefined;
  }

  /** Our values, as last agreed. */
  get rates(): Rates {
    return this.#negotiation.mine;
  }

  /** The connection stands. */
  open(now: number): void {
    const spreadMs = Math.min(this.#parts.limits.txIntervalMs, MAX_SPREAD_MS);
    this.#negotiation.want(this.#negotiation.mine, now + Math.floor(this.#random.next() * spreadMs));
  }

  /** We read again, after a pause of ours or sleep: what was sent meanwhile comes in at once. */
  readAgain(now: number): void {
    this.#readAgainMs = now;
  }

  /** Wish for other values from now on. */
  want(rates: Rates, now: number): void {
    this.#negotiation.want(rates, now);
  }

  /** When something is owed: our group, or giving up on an answer. */
  get nextMs(): number {
    const { dueMs, giveUpMs } = this.#negotiation;
    return Math.min(this.isSuspended ? Infinity : dueMs, giveUpMs);
  }

  /** True when our group was due and went out. */
  perform(now: number, nowMs: number): boolean {
    const negotiation = this.#negotiation;
    if (now >= negotiation.giveUpMs) {
      negotiation.giveUp();
      this.#answered();
    }
    if (this.isSuspended) return false;
    const group = negotiation.poll(now);
    if (group === undefined) return false;
    this.#apply();
    this.#parts.transmitter.sendGroup(group, nowMs);
    return true;
  }

  /** A parameter word of the peer's; true when it was our own, sent back. */
  hear(seq: number, word: number, now: number, nowMs: number): boolean {
    const negotiation = this.#negotiation;
    switch (paramId(word)) {
      case Param.DesiredMinTx:
      case Param.RequiredMinRx:
      case Param.DetectMult:
        negotiation.stage(word);
        return false;
      case Param.Poll:
        return this.#polled(seq, word, now, nowMs);
      case Param.Final:
        if (negotiation.final(word, now)) this.#agreed(now);
        return false;
      case Param.Refuse: {
        const code = negotiation.refuse(word, now);
        if (code === 0) return false;
        this.#apply();
        this.#parts.announcer.tell({ type: 'negotiation-refused', by: 'peer', code });
        this.#answered();
        return false;
      }
      default:
        return false;
    }
  }

  #polled(seq: number, word: number, now: number, nowMs: number): boolean {
    const answer = this.#negotiation.polled(word, seq === this.#parts.transmitter.pollSeq, now);
    if (answer.kind === 'reflected') return true;
    if (answer.kind === 'ignored') return false;
    if (answer.kind === 'agreed') this.#apply(); // before the answer, so that it goes out under the new interval
    this.#parts.transmitter.reply(answer.word, nowMs);
    if (answer.kind === 'agreed') this.#tell();
    if (answer.kind === 'refused') {
      this.#parts.announcer.tell({ type: 'negotiation-refused', by: 'us', code: answer.code });
    }
    return false;
  }

  #agreed(now: number): void {
    this.#apply();
    this.#enforcement ??= new Enforcement();
    const { requiredMinRxMs } = this.#negotiation.mine;
    this.#enforcement.require(requiredMinRxMs, this.#parts.limits.multiplier, now);
    this.#isAnswered = true;
    this.#tell();
  }

  /** Our wish came to nothing; what the peer wished for may be untold. */
  #answered(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#tell();
  }

  /**
   * A frame of the peer's was read that is not free (free: answers we asked for, FINAL, REFUSE). True: it is to be cut,
   * and was told how fast it may be. What our own stall, pause or sleep may have bunched is no offence.
   */
  police(what: Charged, now: number, nowMs: number): boolean {
    if (this.#enforcement === undefined || this.#enforcement.pays(what, now)) return false;
    this.#parts.port.lookForSleep?.(); // who slept reads at once what was sent meanwhile, and may not know it yet
    if (this.#isExcused(now)) return false;
    const sentence = this.#enforcement.strike(now);
    if (sentence === 'remind') this.#negotiation.want(this.#negotiation.mine, now);
    if (sentence !== 'cut') return false;
    const word = makeParam(Param.RequiredMinRx, this.#negotiation.mine.requiredMinRxMs);
    this.#parts.transmitter.sendGroup([word, goAwayWord(GoAwayReason.TooFast, RETRY_AFTER_MS)], nowMs);
    return true;
  }

  /** What we read now was bunched by ourselves, or asked for by our own silence. */
  #isExcused(now: number): boolean {
    const { limits, port, questions } = this.#parts;
    const bunchMs = Math.min(MAX_BUNCH_MS, Math.max(MIN_GRACE_MS, 4 * questions.rtt.rtoMs));
    // Late by the peer's interval, it bunched what we read; by our own, the peer had reason to ask.
    const lateMs = port.lateness.newestLaterThan(Math.min(limits.rxIntervalMs, limits.txIntervalMs) / 2);
    const graceUntilMs = lateMs + Math.min(limits.rxIntervalMs, bunchMs);
    return now < Math.max(graceUntilMs, this.#readAgainMs + bunchMs);
  }

  /** Not before each has wished and we were answered: until then one direction has an interval that will not last. */
  #tell(): void {
    if (!this.isAgreed || !this.#isAnswered) return;
    const { txIntervalMs, rxIntervalMs, multiplier } = this.#parts.limits;
    this.#parts.announcer.tell({ type: 'negotiated', txIntervalMs, rxIntervalMs, multiplier });
  }

  /** What the negotiation says now holds everywhere. */
  #apply(): void {
    const { limits, policy, silence, transmitter } = this.#parts;
    const { txIntervalMs, rxIntervalMs, multiplier, jitterMultiplier } = this.#negotiation;
    limits.txIntervalMs = txIntervalMs;
    limits.rxIntervalMs = rxIntervalMs;
    limits.multiplier = multiplier;
    limits.ownMultiplier = jitterMultiplier;
    limits.deadMs = multiplier * rxIntervalMs;
    const suspectAfter = this.isAgreed
      ? Math.max(MIN_SUSPECT_INTERVALS, multiplier - 1)
      : policy.suspectAfter;
    limits.suspectMs = Math.min(limits.deadMs, Math.ceil(suspectAfter * rxIntervalMs));
    silence.meansNothingBeforeMs = -Infinity;
    transmitter.hurry();
  }
}
