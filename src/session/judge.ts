/**
 * Suspicion and verdict. Called only after the sockets were read (see `NEEDS_POLL`), so what is judged here is
 * silence, not our own lateness; where this process was not running, a grace comes first.
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
  move(trigger: Trigger): void;
}

export class Judge {
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

  /** When the next judgement falls due, ms; Infinity while nothing may be concluded. */
  atMs(now: number): number {
    const { policy, silence } = this.#parts;
    if (silence.isPaused || policy.role === 'responder') return Infinity;
    return this.#maySuspect ? silence.suspectAtMs(now) : silence.deadAtMs(now);
  }

  /** A judgement is due, but this process was not running: true when it is put off for a grace. */
  grants(now: number, nowMs: number): boolean {
    const { port, silence, stats } = this.#parts;
    if (!silence.grace(now)) return false;
    stats.graces++;
    silence.condemn(now);
    this.#owner.recorder?.record('wake-late', port.lateness.recentLagMs(now), nowMs);
    return true;
  }

  judge(now: number): void {
    const { peer, silence } = this.#parts;
    if (this.#maySuspect) this.#suspect(now);
    // Asked again, because a listener may have paused or ended this link.
    if (this.#owner.state === 'closed' || now < this.atMs(now)) return;
    if (silence.mustAsk) return; // the duty of this same wake asks
    if (this.#owner.state === 'leaving') this.finish(peer.hasLeft ? 'left' : 'local');
    else this.#die(now);
  }

  /** Leaving is over. */
  finish(cause: Cause): void {
    this.#owner.move('end');
    this.#parts.port.notify({ type: 'ended', cause });
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
