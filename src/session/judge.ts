/**
 * Suspicion and verdict, and whatever else is told of a link because time has passed. Judged only after the sockets
 * were read (see `NEEDS_POLL`), so what is judged here is silence, not our own lateness; where this process was not
 * running, a grace comes first.
 */
import type { Cause } from './causes.ts';
import type { Duty, DutyParts } from './duty.ts';
import type { FlightRecorder } from './flight-recorder.ts';
import { type Knowledge, knowledgeOf } from './knowledge.ts';
import type { LinkState, Trigger } from './states.ts';

/** The session, as its judge sees it. */
export interface JudgeOwner {
  readonly state: LinkState;
  readonly recorder: FlightRecorder | undefined;
  readonly departure: { readonly byMs: number };
  move(trigger: Trigger): void;
}

export class Judge {
  /** A new link must be heard by then; Infinity once it was. */
  hearByMs = Infinity;
  /** When our own pause of reading is worth telling. */
  tellPauseAtMs = Infinity;
  readonly #owner: JudgeOwner;
  readonly #parts: DutyParts;
  readonly #duty: Duty;

  constructor(owner: JudgeOwner, parts: DutyParts, duty: Duty) {
    this.#owner = owner;
    this.#parts = parts;
    this.#duty = duty;
  }

  /** Of the peer, for a diagnosis. */
  knowledge(nowMs: number): Knowledge {
    return knowledgeOf(this.#parts, this.#duty, nowMs);
  }

  get #maySuspect(): boolean {
    const { state } = this.#owner;
    return this.#parts.limits.multiplier > 1 && (state === 'opening' || state === 'up');
  }

  /**
   * When `look` has something to do next, ms. On a link that is up life and our own sending only move it later: it is
   * noted, so that most wakes need none of this, which is long out of the processor's cache when tens of thousands of
   * links take turns.
   */
  nextMs(now: number): number {
    const { limits, silence } = this.#parts;
    const judgeMs = Math.min(this.#atMs(now), this.hearByMs, this.#owner.departure.byMs);
    const nextMs = Math.min(judgeMs, this.tellPauseAtMs, silence.lookAtMs);
    // With M = 1 a verdict waits for the RTO, which becomes shorter; a watched queue is looked at in every wake.
    if (this.#owner.state === 'up' && limits.multiplier > 1 && silence.lookAtMs === Infinity)
      silence.meansNothingBeforeMs = nextMs;
    return nextMs;
  }

  /** What is due may be refuted by what waits in the sockets. */
  needsPoll(now: number): boolean {
    const { silence } = this.#parts;
    if (!this.#isDue(now)) return now >= silence.lookAtMs || this.#duty.needsPoll(now);
    silence.condemn(now);
    return true;
  }

  /** Judge the moment `judgedMs`, up to which the sockets were read if they were `polled`. */
  look(judgedMs: number, nowMs: number, polled: boolean): void {
    const now = Math.floor(nowMs);
    const stalledMs = this.#parts.silence.look(now, polled);
    if (stalledMs > 0) this.#tellStall(stalledMs, nowMs);
    if (now >= this.tellPauseAtMs) this.#tellPause(now);
    if (this.#isDue(judgedMs)) this.#judge(judgedMs, nowMs);
    else if (now >= this.#owner.departure.byMs) this.#finish('local');
  }

  /** When the next judgement falls due, ms; Infinity while nothing may be concluded. */
  #atMs(now: number): number {
    const { policy, silence } = this.#parts;
    if (silence.isPaused || policy.role === 'responder') return Infinity;
    return this.#maySuspect ? silence.suspectAtMs(now) : silence.deadAtMs(now);
  }

  #isDue(now: number): boolean {
    return now >= this.#atMs(now) || now >= this.hearByMs;
  }

  #judge(now: number, nowMs: number): void {
    if (this.#grants(now, nowMs)) {
      if (now >= this.hearByMs) this.hearByMs = this.#parts.silence.graceUntilMs;
    } else if (now >= this.hearByMs) this.#giveUp();
    else this.#judgeSilence(now);
  }

  /** A judgement is due, but this process was not running: true when it is put off for a grace. */
  #grants(now: number, nowMs: number): boolean {
    const { port, silence, stats } = this.#parts;
    if (!silence.grace(now)) return false;
    stats.graces++;
    silence.condemn(now);
    this.#owner.recorder?.record('wake-late', port.lateness.recentLagMs(now), nowMs);
    return true;
  }

  #judgeSilence(now: number): void {
    const { peer, silence } = this.#parts;
    if (this.#maySuspect) this.#suspect(now);
    // Asked again, because a listener may have paused or ended this link.
    if (this.#owner.state === 'closed' || now < this.#atMs(now)) return;
    if (silence.mustAsk) return; // the duty of this same wake asks
    if (this.#owner.state === 'leaving') this.#finish(peer.hasLeft ? 'left' : 'local');
    else this.#die(now);
  }

  /** Leaving is over. */
  #finish(cause: Cause): void {
    this.#owner.move('end');
    this.#parts.port.notify({ type: 'ended', cause });
  }

  #giveUp(): void {
    this.#owner.move('end');
    const { policy, port } = this.#parts;
    port.notify({ type: 'silent', limitMs: policy.firstLifeMs });
  }

  #tellStall(stalledMs: number, nowMs: number): void {
    this.#owner.recorder?.record('stall', stalledMs, nowMs);
    this.#parts.announcer.tell({ type: 'write-stall', stalledMs });
  }

  #tellPause(now: number): void {
    const { announcer, policy } = this.#parts;
    const pausedMs = now - this.tellPauseAtMs + policy.maxReadPausedMs;
    this.tellPauseAtMs = Infinity;
    announcer.tell({ type: 'read-paused', pausedMs });
  }

  #suspect(now: number): void {
    const { announcer, limits, silence, stats } = this.#parts;
    this.#owner.move('silence');
    stats.suspicions++;
    this.#duty.suspect(now);
    announcer.suspect(now - silence.lastRxMs, limits.deadMs, this.#owner.recorder?.read());
  }

  #die(now: number): void {
    const { limits, port, silence } = this.#parts;
    const { cause, lastRxMs } = silence;
    const recent = this.#owner.recorder?.read();
    this.#owner.move('end');
    const verdict = { cause, silentMs: now - lastRxMs, limitMs: limits.deadMs };
    port.notify({ type: 'dead', ...verdict, ...(recent && { recent }) });
  }
}
