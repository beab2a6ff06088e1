/**
 * How a link comes to its end on purpose: we leave, the peer leaves, or it broke a rule for which it is told to go.
 * Whoever has said or heard GOAWAY has left; how the connection ends after that is no failure.
 */
import { goAwayReason } from '../wire/param.ts';
import type { Cause } from './causes.ts';
import type { Duty, DutyParts } from './duty.ts';
import { goAwayRetryAfterMs, peerGoAwayReason } from './goaway.ts';
import type { LinkState, Trigger } from './states.ts';

/** The session, as its departure sees it. */
export interface DepartureOwner {
  readonly state: LinkState;
  move(trigger: Trigger): void;
}

export class Departure {
  /** We said GOAWAY, and draining is over at this time, ms; Infinity before. */
  byMs = Infinity;
  readonly #owner: DepartureOwner;
  readonly #parts: DutyParts;
  readonly #duty: Duty;
  #weLeft = false;

  constructor(owner: DepartureOwner, parts: DutyParts, duty: Duty) {
    this.#owner = owner;
    this.#parts = parts;
    this.#duty = duty;
  }

  /** What a close of the connection by the other side means now. */
  get causeOfPeerClose(): Cause {
    if (this.#weLeft) return 'local';
    return this.#parts.peer.hasLeft ? 'left' : 'peer-closed';
  }

  /** Say GOAWAY with `word` (GOAWAY_INFO), then beat and answer on until `drainMs` are over. */
  leave(word: number, drainMs: number, nowMs: number): void {
    if (this.#owner.state === 'closed' || this.#weLeft) return;
    this.#weLeft = true;
    this.byMs = Math.floor(nowMs) + drainMs;
    this.#owner.move('leave');
    this.#parts.transmitter.goAway(word, nowMs);
    const retryAfterMs = goAwayRetryAfterMs(word);
    this.#parts.announcer.tell({ type: 'leaving', by: 'us', reason: goAwayReason(word), retryAfterMs });
  }

  /** A last GOAWAY if it can go out at once, then the end: for errors after which nothing more is said. */
  farewell(word: number, nowMs: number): void {
    if (this.#owner.state === 'closed') return;
    this.#parts.transmitter.goAway(word, nowMs);
    this.#owner.move('end');
  }

  /** The peer said GOAWAY. */
  peerLeaves(word: number): void {
    const { peer } = this.#parts;
    if (peer.hasLeft) return;
    peer.hasLeft = true;
    this.#owner.move('goaway');
    const retryAfterMs = goAwayRetryAfterMs(word);
    const { requiredMinRxMs } = peer;
    this.#parts.announcer.tell({
      type: 'leaving',
      by: 'peer',
      reason: peerGoAwayReason(word),
      retryAfterMs,
      ...(requiredMinRxMs > 0 && { requiredMinRxMs }),
    });
  }

  /** The peer sends faster than agreed, and was told so often enough. */
  tooFast(): void {
    const requiredMinRxMs = this.#duty.agreement?.rates.requiredMinRxMs ?? 0;
    this.#owner.move('end');
    this.#parts.port.notify({ type: 'too-fast', requiredMinRxMs });
  }

  /** Only an echo is there. */
  reflected(): void {
    this.#owner.move('end');
    this.#parts.port.notify({ type: 'reflected' });
  }
}
