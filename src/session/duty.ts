/**
 * What this side owes and when: kept answers, probes of a suspect, questions on every link, business probes, and to
 * be heard within every interval. At most one frame of our own per wake.
 */

import type { Random } from '../base/random.ts';
import { Agreement } from './agreement.ts';
import type { Announcer } from './announcer.ts';
import { BusinessProbe } from './business.ts';
import type { Limits } from './limits.ts';
import type { Peer } from './peer.ts';
import type { SessionPolicy } from './policy.ts';
import type { SessionPort } from './port.ts';
import type { Questions } from './questions.ts';
import type { Silence } from './silence.ts';
import type { LinkState } from './states.ts';
import type { SessionStats } from './stats.ts';
import { SuspectProbes } from './suspect-probes.ts';
import type { Transmitter } from './transmitter.ts';

/** A beat within so many ticks of its time is on time. */
const LATE_TICKS = 2;

/** The parts of a session that its duty looks at. */
export interface DutyParts {
  readonly policy: SessionPolicy;
  readonly limits: Limits;
  readonly port: SessionPort;
  readonly stats: SessionStats;
  readonly peer: Peer;
  readonly questions: Questions;
  readonly silence: Silence;
  readonly transmitter: Transmitter;
  readonly announcer: Announcer;
}

export class Duty {
  business: BusinessProbe | undefined;
  readonly agreement: Agreement | undefined;
  readonly #parts: DutyParts;
  #probes: SuspectProbes | undefined;

  constructor(parts: DutyParts, random: Random) {
    this.#parts = parts;
    const { negotiate, role } = parts.policy;
    this.agreement = negotiate && role === 'full' ? new Agreement(parts, random) : undefined;
  }

  /** The connection stands: negotiation is owed soon, business probes from our first frame on, if wished. */
  open(now: number, firstMs: number): void {
    this.agreement?.open(now);
    const { probeEveryMs, probeLimitMs } = this.#parts.policy;
    if (probeEveryMs !== Infinity)
      this.business = new BusinessProbe(now + firstMs, probeEveryMs, probeLimitMs);
  }

  /** The peer is suspect: ask at RTT speed. */
  suspect(now: number): void {
    if (this.agreement !== undefined) this.agreement.isSuspended = true;
    this.#probes = new SuspectProbes(now, this.#parts.questions.rtt.rtoMs);
  }

  /** Suspicion is over. */
  calm(): void {
    if (this.agreement !== undefined) this.agreement.isSuspended = false;
    this.#probes = undefined;
  }

  /** When something is owed next, ms; Infinity for one who only answers, or while nothing can go out. */
  nextMs(state: LinkState): number {
    const { policy, transmitter, silence, questions, announcer } = this.#parts;
    if (policy.role === 'responder' || transmitter.isHeld) return Infinity;
    let next = Math.min(transmitter.dueMs, silence.askAtMs, questions.askAtMs);
    if (this.#probes !== undefined) next = Math.min(next, this.#probes.nextMs);
    if (this.business !== undefined) next = Math.min(next, this.business.nextMs);
    if (this.agreement !== undefined) next = Math.min(next, this.agreement.nextMs);
    // Who is asked all the time beats no more, and no beat of ours would tell it in passing.
    if (state === 'up' && !announcer.isOneWayTold) next = Math.min(next, questions.missingAtMs);
    return next;
  }

  /** A missing answer, or a question owed for want of life, means something only after the sockets were read. */
  needsPoll(now: number): boolean {
    return now >= Math.min(this.#missingAtMs, this.#parts.silence.askAtMs);
  }

  get #missingAtMs(): number {
    const { announcer, questions } = this.#parts;
    const answerMs = announcer.isOneWayTold ? Infinity : questions.missingAtMs;
    return this.business?.isWaiting ? Math.min(answerMs, this.business.nextMs) : answerMs;
  }

  /** Send what is due. `polled`: the sockets were read, so that a missing answer is really missing. */
  perform(state: LinkState, now: number, nowMs: number, polled: boolean): void {
    const { policy, transmitter } = this.#parts;
    if (state === 'closed' || transmitter.isHeld) return;
    if (!transmitter.emptyOutbox(nowMs) || policy.role === 'responder') return;
    if (this.#probe(now, nowMs)) return;
    if (!polled && now >= this.#missingAtMs) return; // the wake that follows reads first
    if (this.#askBusiness(now, nowMs)) return;
    if (this.agreement?.perform(now, nowMs)) return;
    const { questions, silence, announcer, stats } = this.#parts;
    if (now > transmitter.dueMs + LATE_TICKS * policy.tickMs) stats.beatsLate++;
    if (state === 'up' && now >= questions.missingAtMs) announcer.oneWay(questions.unansweredMs(now));
    if (now >= questions.askAtMs || now >= silence.askAtMs) {
      transmitter.ping(nowMs);
    } else if (now >= transmitter.dueMs) {
      if (this.#mustAsk(now)) transmitter.ping(nowMs);
      else transmitter.beat(nowMs);
    }
  }

  #mustAsk(now: number): boolean {
    const { policy, limits, peer, questions } = this.#parts;
    if (questions.full) return false;
    if (policy.ask === 'always' || now - peer.lastVoluntaryMs >= limits.rxIntervalMs) return true;
    // A question that will be owed before our next frame goes now in its place: both would exceed the agreed rate.
    return questions.askAtMs < now + limits.txIntervalMs;
  }

  /** True when a suspect probe was due and went out (or was held). */
  #probe(now: number, nowMs: number): boolean {
    const { port, stats, transmitter } = this.#parts;
    if (this.#probes === undefined || now < this.#probes.nextMs) return false;
    if (port.allowProbe(this.#probes.take())) {
      transmitter.ping(nowMs);
      return true;
    }
    stats.probesSkipped++;
    return false;
  }

  /** True when a business probe was due and went out (or was held). */
  #askBusiness(now: number, nowMs: number): boolean {
    const { announcer, transmitter } = this.#parts;
    const business = this.business;
    if (business === undefined || now < business.nextMs) return false;
    const overdue = business.overdue(now);
    if (overdue !== undefined)
      announcer.tell({ type: 'business', outcome: overdue, failures: business.failures });
    if (announcer.isOver) return true;
    if (now < business.dueMs) return false; // while one waits none is due: its limit is at most the period
    const seq = transmitter.probe(nowMs);
    if (seq >= 0) business.sent(seq, now);
    return true;
  }
}
