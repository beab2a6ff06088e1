/**
 * How two ends agree on their rates while the link lives (spec/HB1.md, negotiation; after RFC 5880 section 6.8.3). Each
 * side states how fast it wishes to send, how fast it is willing to receive, and its multiplier; per direction the
 * slower wish decides. A change is a group of three words and a POLL, answered by FINAL or REFUSE.
 *
 * What keeps a change from killing anybody: whoever would expect *more* waits for the answer, whoever must do more
 * starts at once. So the sender slows only at FINAL and speeds up at POLL; the receiver lengthens its detection at
 * POLL and shortens it at FINAL. Pure: time is an argument, nothing is sent from here.
 */
import { Param, RefuseCode } from '../wire/constants.ts';
import {
  makeFinal,
  makeParam,
  makePoll,
  makeRefuse,
  parameterDigest,
  paramId,
  paramToken,
  paramValue,
  pollDigest,
  refuseCode,
} from '../wire/param.ts';

/** One side's three parameters: ms, ms, count. */
export interface Rates {
  /** How often this side wishes to send at most; 0 = it only answers. */
  readonly desiredMinTxMs: number;
  /** The fastest rate this side is willing to receive. */
  readonly requiredMinRxMs: number;
  /** Missed intervals after which the *other* side declares this one dead. */
  readonly detectMultiplier: number;
}

/** Between a FINAL and our next POLL at least this; a peer's POLL sooner than half of it is refused. */
export const POLL_GAP_MS = 1_000;
/** Without an answer for this long the peer counts as one that does not negotiate. */
export const FINAL_LIMIT_MS = 5_000;
/** Longest detection a peer may ask of us. */
export const MAX_DETECTION_MS = 300_000;

interface Outstanding {
  readonly rates: Rates;
  readonly word: number;
  readonly sentMs: number;
}

export type Answer =
  | { readonly kind: 'agreed'; readonly word: number }
  | { readonly kind: 'repeated'; readonly word: number }
  | { readonly kind: 'refused'; readonly word: number; readonly code: number }
  | { readonly kind: 'reflected' }
  | { readonly kind: 'ignored' };

export class Negotiation {
  /** Our values as last agreed (or as we began). */
  mine: Rates;
  /** The peer's, once it polled; undefined: not negotiated. */
  peer: Rates | undefined;
  /** When our next group is owed, ms; Infinity: nothing to say. */
  dueMs = Infinity;
  /** The peer answers no POLL. */
  isMute = false;
  #wanted: Rates | undefined;
  #outstanding: Outstanding | undefined;
  #token: number;
  #quietUntilMs = 0;
  readonly #staged: [number, number, number] = [-1, -1, -1];
  #answeredPoll = -1;
  #answer = -1;
  #answeredMs = -Infinity;

  constructor(rates: Rates, firstToken: number) {
    this.mine = rates;
    this.#token = firstToken & 0xff;
  }

  // ---- what holds now ----------------------------------------------------

  /** Longest gap between our sends. */
  get txIntervalMs(): number {
    const wish = this.#outstanding?.rates.desiredMinTxMs ?? this.mine.desiredMinTxMs;
    const tx = Math.min(this.mine.desiredMinTxMs, wish);
    return Math.max(tx, this.peer?.requiredMinRxMs ?? 0);
  }

  /** The interval we count the peer's silence in. */
  get rxIntervalMs(): number {
    const peerTx = this.peer?.desiredMinTxMs ?? 0;
    const wish = this.#outstanding?.rates ?? this.mine;
    if (peerTx > 0) return Math.max(peerTx, this.mine.requiredMinRxMs, wish.requiredMinRxMs);
    // Not negotiated, or it only answers: silence is counted in our own interval, the longer one while it changes.
    return Math.max(this.mine.desiredMinTxMs, wish.desiredMinTxMs, this.peer?.requiredMinRxMs ?? 0);
  }

  /** Missed intervals that mean death: the peer's word once it gave it, else ours. */
  get multiplier(): number {
    return this.peer?.detectMultiplier ?? this.mine.detectMultiplier;
  }

  /** Our own multiplier as it bears on how narrowly our sends are spread: the stricter of old and new, at once. */
  get jitterMultiplier(): number {
    return Math.min(this.mine.detectMultiplier, this.#outstanding?.rates.detectMultiplier ?? 255);
  }

  /** What we asked for and is not answered yet. */
  get outstandingRates(): Rates | undefined {
    return this.#outstanding?.rates;
  }

  get isOutstanding(): boolean {
    return this.#outstanding !== undefined;
  }

  /** When the missing FINAL means that the peer does not negotiate, ms. */
  get giveUpMs(): number {
    const waits = this.#outstanding !== undefined && !this.isMute;
    return waits ? this.#outstanding!.sentMs + FINAL_LIMIT_MS : Infinity;
  }

  // ---- our changes -------------------------------------------------------

  /** Want these values; told at `dueMs`, which never comes sooner than the rules allow. Of several the last wins. */
  want(rates: Rates, dueMs: number): void {
    this.#wanted = rates;
    this.dueMs = this.#outstanding === undefined ? Math.max(dueMs, this.#quietUntilMs) : Infinity;
  }

  /** Words 1, 2, 3 and POLL, to be sent back to back now; undefined when nothing is owed. */
  poll(nowMs: number): [number, number, number, number] | undefined {
    const rates = this.#wanted;
    if (rates === undefined || this.#outstanding !== undefined || nowMs < this.dueMs) return undefined;
    const tx = makeParam(Param.DesiredMinTx, rates.desiredMinTxMs);
    const rx = makeParam(Param.RequiredMinRx, rates.requiredMinRxMs);
    const multiplier = makeParam(Param.DetectMult, rates.detectMultiplier);
    this.#token = (this.#token + 1) & 0xff;
    const word = makePoll(this.#token, parameterDigest(tx, rx, multiplier));
    this.#outstanding = { rates, word, sentMs: nowMs };
    this.#wanted = undefined;
    this.dueMs = Infinity;
    return [tx, rx, multiplier, word];
  }

  /**
   * Nothing came within FINAL_LIMIT_MS: the peer does not negotiate. The POLL stays outstanding all the same, so that
   * we go on sending as fast and judging as patiently as either set of values asks: the answer may only be slow, and
   * the peer has applied our POLL already.
   */
  giveUp(): void {
    this.isMute = true;
  }

  /** A FINAL: true when it answers our POLL, whose values now hold. */
  final(word: number, nowMs: number): boolean {
    const poll = this.#matching(word);
    if (poll === undefined || paramValue(word) !== paramValue(poll.word)) return false;
    this.mine = poll.rates;
    this.isMute = false;
    this.#settle(nowMs);
    return true;
  }

  /** A REFUSE: its code when it answers our POLL (the agreed values stay), else 0. */
  refuse(word: number, nowMs: number): number {
    const poll = this.#matching(word);
    if (poll === undefined) return 0;
    this.isMute = false;
    this.#settle(nowMs);
    return refuseCode(word) || RefuseCode.IllegalValue;
  }

  // ---- the peer's changes ------------------------------------------------

  /** Words 1, 2, 3 of the peer: only kept, until its POLL. */
  stage(word: number): void {
    this.#staged[(paramId(word) - Param.DesiredMinTx) as 0 | 1 | 2] = word;
  }

  /**
   * The peer's POLL: apply or refuse what was staged, and how to answer. `isOurs`: it has the number of our own newest
   * one. The word alone says nothing: two ends with the same wishes choose the same token once in 256 times.
   */
  polled(word: number, isOurs: boolean, nowMs: number): Answer {
    if (isOurs && word === this.#outstanding?.word) return { kind: 'reflected' };
    if (word === this.#answeredPoll) {
      this.#unstage();
      return { kind: 'repeated', word: this.#answer };
    }
    const [tx, rx, multiplier] = this.#staged;
    const isWhole = tx >= 0 && rx >= 0 && multiplier >= 0;
    this.#unstage();
    if (!isWhole || parameterDigest(tx, rx, multiplier) !== pollDigest(word)) return { kind: 'ignored' };
    const rates = {
      desiredMinTxMs: paramValue(tx),
      requiredMinRxMs: paramValue(rx),
      detectMultiplier: paramValue(multiplier),
    };
    const code = this.#objection(rates, nowMs);
    this.#answeredPoll = word;
    this.#answer = code === 0 ? makeFinal(word) : makeRefuse(paramToken(word), code);
    this.#answeredMs = nowMs;
    if (code !== 0) return { kind: 'refused', word: this.#answer, code };
    this.peer = rates;
    return { kind: 'agreed', word: this.#answer };
  }

  #objection({ desiredMinTxMs, requiredMinRxMs, detectMultiplier }: Rates, nowMs: number): number {
    if (nowMs - this.#answeredMs < POLL_GAP_MS / 2) return RefuseCode.TooOften;
    if (requiredMinRxMs === 0 || detectMultiplier === 0 || detectMultiplier > 255)
      return RefuseCode.IllegalValue;
    // Who only answers is expected at our own rate, which its required rate may slow down.
    const rxIntervalMs =
      desiredMinTxMs === 0
        ? Math.max(this.mine.desiredMinTxMs, requiredMinRxMs)
        : Math.max(desiredMinTxMs, this.mine.requiredMinRxMs);
    return rxIntervalMs * detectMultiplier > MAX_DETECTION_MS ? RefuseCode.DetectionTooLong : 0;
  }

  #matching(word: number): Outstanding | undefined {
    const poll = this.#outstanding;
    return poll !== undefined && paramToken(poll.word) === paramToken(word) ? poll : undefined;
  }

  #settle(nowMs: number): void {
    this.#outstanding = undefined;
    this.#quietUntilMs = nowMs + POLL_GAP_MS;
    if (this.#wanted !== undefined) this.dueMs = this.#quietUntilMs;
  }

  #unstage(): void {
    this.#staged.fill(-1);
  }
}
