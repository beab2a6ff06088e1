/**
 * Watches one end of one connection from outside: what its kernel took and got, what its link said, and whether the
 * two fit. It knows the published rules and the wire bytes, and nothing of the library's state but what a user sees.
 */
import type { ClosedDetail, DeadDetail, Link } from '../../src/net/index.ts';
import type { LabPipe } from '../../src/testing/lab-pipe.ts';
import type { LabProcess } from '../../src/testing/lab-process.ts';
import type { LabSocket } from '../../src/testing/lab-socket.ts';
import { AgreedRates } from './agreed.ts';
import { isAnswer, isParameter, isPing, type ReadFrame, WireReader } from './wire-reader.ts';

/** What may go wrong, by the number of its rule. */
export type Invariant =
  | '0-exception'
  | '1-false-death'
  | '2-found-late'
  | '3-accepted-twice'
  | '4-answer-without-question'
  | '5-host-frame-torn'
  | '6-left-behind'
  | '7-one-end'
  | '8-send-gap'
  | '9-unjust-cut'
  | '10-disagreement';

export type Complain = (invariant: Invariant, text: string) => void;

export interface ObserverOptions {
  readonly name: string;
  readonly process: LabProcess;
  readonly socket: LabSocket;
  readonly incoming: LabPipe;
  readonly outgoing: LabPipe;
  readonly isShared: boolean;
  readonly intervalMs: number;
  readonly deadAfter: number;
  readonly phase: number;
  readonly judges: boolean;
  /** The limits are what has been agreed on the wire. */
  readonly negotiates: boolean;
  /** The machine sleeps too shortly to know it: what came in meanwhile is a bunch that no clock explains. */
  readonly mayBunch: boolean;
  /** May a verdict fall at this time? Else it is a false death. */
  mayDie(atMs: number): boolean;
  readonly complain: Complain;
}

const TICK_MS = 10;
const DEGRADED_BIT = 0x10;
/** A verdict may come this much before D: opening times are cut to whole ms. */
const EARLY_MS = 1;
/** After sleep, the first questions are spread over this, or one interval. */
const RESUME_SPREAD_MS = 2_000;

export class Observer {
  link: Link | undefined;
  deaths = 0;
  closed: ClosedDetail | undefined;
  /** Reading was paused by the program; nothing is judged. */
  isPaused = false;
  /** When a host frame that we write in pieces was begun; Infinity: none is open. */
  frameOpenMs = Number.POSITIVE_INFINITY;
  readonly #options: ObserverOptions;
  readonly #rates: AgreedRates | undefined;
  /** Longest interval that held for our sends since the last one. */
  #longestTxMs = 0;
  readonly #written: WireReader;
  readonly #arrived: WireReader;
  /** Last counted byte in our kernel, or when silence began to count. */
  #lifeMs: number;
  #isHeard = false;
  #lastSentMs: number;
  /** End of the last time in which sending was not possible. */
  #blockedUntilMs = 0;
  #hasWrittenFrames = false;
  /** Pings that came in and were not answered yet, each as "seq:word" with its count. */
  readonly #questions = new Map<string, number>();
  readonly #pingsSent = new Set<number>();
  readonly #answered = new Set<number>();
  readonly #ponged = new Set<number>();
  readonly #seen = new Set<number>();
  #level = false;
  #levelChanges = 0;
  #levelEvents = 0;

  constructor(options: ObserverOptions) {
    this.#options = options;
    this.#longestTxMs = options.intervalMs;
    if (options.negotiates) this.#rates = new AgreedRates(options.intervalMs, options.deadAfter);
    const openMs = options.process.world.nowMs;
    this.#lifeMs = openMs + Math.floor(options.phase * options.intervalMs);
    this.#lastSentMs = openMs;
    this.#written = new WireReader(options.isShared, (frame) => this.#sent(frame));
    this.#arrived = new WireReader(
      options.isShared,
      (frame) => this.#got(frame),
      () => this.#live(),
    );
    options.outgoing.taps.push({ entered: (bytes) => this.#entered(bytes) });
    options.incoming.taps.push({ arrived: (bytes) => this.#arrived.push(bytes) });
  }

  get name(): string {
    return this.#options.name;
  }

  get #nowMs(): number {
    return this.#options.process.world.nowMs;
  }

  /** D, as it is now. */
  get #deadMs(): number {
    return this.#rates?.deadMs ?? this.#options.deadAfter * this.#options.intervalMs;
  }

  get #txIntervalMs(): number {
    return this.#rates?.txIntervalMs ?? this.#options.intervalMs;
  }

  #noteInterval(): void {
    this.#longestTxMs = Math.max(this.#longestTxMs, this.#txIntervalMs);
  }

  // ---- the wire ------------------------------------------------------------------

  #live(): void {
    this.#isHeard = true;
    this.#lifeMs = this.#nowMs; // also back from a first question that is still to come
  }

  #got(frame: ReadFrame): void {
    this.#live();
    const level = (frame.flags & DEGRADED_BIT) !== 0;
    if (isAnswer(frame)) {
      if (!this.#pingsSent.has(frame.seq) || this.#answered.has(frame.seq)) return;
      this.#answered.add(frame.seq);
      this.#setLevel(level);
      return;
    }
    if (isParameter(frame)) this.#rates?.got(frame.word);
    this.#noteInterval();
    if (isPing(frame)) this.#questions.set(keyOf(frame), (this.#questions.get(keyOf(frame)) ?? 0) + 1);
    if (this.#seen.has(frame.seq)) return;
    this.#seen.add(frame.seq);
    this.#setLevel(level);
  }

  #setLevel(level: boolean): void {
    if (level !== this.#level) this.#levelChanges++;
    this.#level = level;
  }

  #entered(bytes: Uint8Array): void {
    const { complain } = this.#options;
    this.#written.push(bytes);
    this.#noteInterval();
    if (this.#written.broken !== undefined)
      complain('5-host-frame-torn', `${this.name}: ${this.#written.broken}`);
    const gapMs = this.#nowMs - this.#lastSentMs;
    const mayBeLate = !this.#options.judges || this.closed !== undefined || !this.#hasWrittenFrames;
    if (!mayBeLate && gapMs > this.#longestTxMs + this.#hinderedMs(this.#lastSentMs)) {
      complain('8-send-gap', `${this.name} sent nothing for ${gapMs} ms, interval ${this.#longestTxMs}`);
    }
    this.#longestTxMs = this.#txIntervalMs;
    this.#lastSentMs = this.#nowMs;
    this.#hasWrittenFrames = true;
  }

  #sent(frame: ReadFrame): void {
    if (!isAnswer(frame)) {
      if (isPing(frame)) this.#asked(frame.seq);
      if (isParameter(frame)) this.#rates?.sent(frame.word);
      return;
    }
    const count = this.#questions.get(keyOf(frame)) ?? 0;
    if (count > 0) this.#questions.set(keyOf(frame), count - 1);
    else
      this.#options.complain(
        '4-answer-without-question',
        `${this.name} answered ${keyOf(frame)}, asked by nobody`,
      );
  }

  #asked(seq: number): void {
    // Who was never heard owes nothing before our first question, which our own host may have held up.
    const wasHeldUp = this.#nowMs <= this.#blockedUntilMs + TICK_MS;
    if (this.#pingsSent.size === 0 && !this.#isHeard && wasHeldUp) {
      this.#lifeMs = Math.max(this.#lifeMs, this.#nowMs);
    }
    this.#pingsSent.add(seq);
  }

  /** How much longer than its duty a link may have been quiet since `fromMs`: it did not run, or could not write. */
  #hinderedMs(fromMs: number): number {
    this.noteBlocked();
    const blockedMs = Math.max(0, this.#blockedUntilMs - fromMs);
    const stoodMs = this.#stoodStillMs(fromMs);
    // Being late at a tick after being hindered is no lateness of its own.
    return blockedMs + stoodMs + (blockedMs + stoodMs > 0 ? 2 * TICK_MS : 0);
  }

  /** The outbound side is blocked now, if it is. */
  noteBlocked(): void {
    const { socket } = this.#options;
    if (socket.queuedSinceMs < Number.POSITIVE_INFINITY || this.frameOpenMs < Number.POSITIVE_INFINITY) {
      this.#blockedUntilMs = this.#nowMs;
    }
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, socket.progressMs);
  }

  #stoodStillMs(fromMs: number): number {
    let sumMs = 0;
    for (const stand of this.#options.process.standstills) {
      sumMs += Math.max(0, Math.min(stand.toMs, this.#nowMs) - Math.max(stand.fromMs, fromMs));
    }
    return sumMs;
  }

  /** Faults may follow so closely that the process never runs between. */
  #longestStandstillMs(): number {
    let longestMs = 0;
    let [fromMs, toMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const stand of [...this.#options.process.standstills].sort((a, b) => a.fromMs - b.fromMs)) {
      if (stand.fromMs > toMs) fromMs = stand.fromMs;
      toMs = Math.max(toMs, Math.min(stand.toMs, this.#nowMs));
      longestMs = Math.max(longestMs, toMs - fromMs);
    }
    return longestMs;
  }

  // ---- the program -------------------------------------------------------------------

  paused(): void {
    this.isPaused = true;
  }

  resumed(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    // Never heard: silence counts from our first question all the same, whose phase stays.
    this.#lifeMs = this.#isHeard ? this.#nowMs : Math.max(this.#nowMs, this.#lifeMs);
  }

  /** The machine slept: silence counts anew. First frames are spread, so that many links do not speak at once. */
  awoke(): void {
    this.#lifeMs = this.#nowMs;
    this.#blockedUntilMs = this.#nowMs + Math.min(this.#options.intervalMs, RESUME_SPREAD_MS);
  }

  /** Bytes wait in the kernel after a standstill longer than D: a watch by the clock alone would kill here. */
  wasSaved(stoodStillMs: number): boolean {
    const isOpen = this.link !== undefined && this.closed === undefined && !this.isPaused;
    return (
      isOpen &&
      this.#options.judges &&
      stoodStillMs >= this.#deadMs &&
      this.#options.incoming.readableBytes > 0
    );
  }

  // ---- the link ------------------------------------------------------------------------

  pong(seq: number): void {
    const { complain } = this.#options;
    if (this.#ponged.has(seq))
      complain('3-accepted-twice', `${this.name} matched the answer to ${seq} twice`);
    if (!this.#pingsSent.has(seq))
      complain('4-answer-without-question', `${this.name} matched ${seq}, never asked`);
    this.#ponged.add(seq);
  }

  degraded(): void {
    this.#levelEvents++;
    if (this.#levelEvents <= this.#levelChanges) return;
    this.#options.complain('3-accepted-twice', `${this.name} took a level from a frame it had already`);
  }

  died(detail: DeadDetail): void {
    const { complain, mayDie } = this.#options;
    this.deaths++;
    if (this.deaths > 1) complain('7-one-end', `${this.name} died twice`);
    const silentMs = this.#nowMs - this.#lifeMs;
    if (silentMs < this.#deadMs - EARLY_MS) {
      complain(
        '1-false-death',
        `${this.name}: ${detail.cause} ${silentMs} ms after life, D is ${this.#deadMs}`,
      );
    } else if (this.isPaused) {
      complain('1-false-death', `${this.name}: ${detail.cause} while we do not read`);
    } else if (!mayDie(this.#nowMs)) {
      complain(
        '1-false-death',
        `${this.name}: ${detail.cause}, silent ${silentMs} ms, within the published limits`,
      );
    }
    this.checkFound();
  }

  ended(detail: ClosedDetail): void {
    const { complain, isShared, mayBunch } = this.#options;
    if (this.closed !== undefined) complain('7-one-end', `${this.name} closed twice`);
    this.closed = detail;
    if (!mayBunch && (detail.code === 'HB_ERR_TOO_FAST' || detail.code === 'HB_ERR_FRAME_RATE')) {
      complain('9-unjust-cut', `${this.name} was cut for its rate: ${detail.reason}`);
    }
    if (this.deaths > 0 && detail.cause === 'unknown') complain('7-one-end', `${this.name} forgot its cause`);
    const received = this.link?.stats().framesReceived ?? 0;
    if (received > this.#arrived.frames) {
      const text = `${this.name} accepted ${received} frames of ${this.#arrived.frames} valid ones`;
      complain('3-accepted-twice', isShared ? `${text}, shared` : text);
    }
  }

  /** No silence is longer than the published bound. Called at each death and at the end of the history. */
  checkFound(): void {
    const { judges, complain, socket } = this.#options;
    const { link } = this;
    if (!judges || link === undefined || this.isPaused) return;
    const isQueued = socket.queuedSinceMs < Number.POSITIVE_INFINITY;
    const queueMs = Math.max(socket.progressMs, isQueued ? socket.queuedSinceMs : Number.NEGATIVE_INFINITY);
    const openMs = this.frameOpenMs < Number.POSITIVE_INFINITY ? this.#lastSentMs : Number.NEGATIVE_INFINITY;
    const fromMs = Math.max(this.#lifeMs, queueMs, openMs);
    const longestMs = this.#longestStandstillMs();
    // A queue is looked at eight times per D, so its last move is known that much later, each look rounded up.
    const looksMs = queueMs > Number.NEGATIVE_INFINITY ? this.#deadMs / 8 + 4 * TICK_MS : 0;
    // Where we could not ask in time, the question's own time-out follows the moment we could.
    if (this.#nowMs <= this.#blockedUntilMs + rtoMs(link) + TICK_MS + EARLY_MS) return;
    // The score at its worst doubles the limits; life is read, and the verdict spoken, up to a standstill late.
    const lateMs = link.detectionTimeMs + link.detectionBoundMs + 2 * longestMs + TICK_MS;
    const boundMs = longestMs > 0 ? lateMs : link.detectionTimeMs + TICK_MS + EARLY_MS;
    const silentMs = this.#nowMs - fromMs;
    if (silentMs > boundMs + looksMs) {
      complain('2-found-late', `${this.name} silent for ${silentMs} ms, bound ${boundMs + looksMs}`);
    }
  }
}

/** The time-out that follows from what the link tells of its round trip (RFC 6298). */
function rtoMs(link: Link): number {
  const { rttMs, rttvarMs } = link.stats();
  if (Number.isNaN(rttMs)) return 1_000;
  return Math.min(Math.max(Math.ceil(rttMs + Math.max(1, 4 * rttvarMs)), 200), 60_000);
}

function keyOf(frame: ReadFrame): string {
  return `${frame.seq}:${frame.word}`;
}
