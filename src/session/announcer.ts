/**
 * Tells the rare happenings of one link so that a listener can keep count: `up` once, `suspect` and `recovered` in
 * pairs (the first life of a link that was suspect before it was ever heard is its `up`), `one-way` once until
 * something is answered, and nothing after the end, even when a listener brought the end about a moment ago.
 */
import type { FlightEvent } from './flight-recorder.ts';
import type { SessionEvent, SessionPort } from './port.ts';

export class Announcer {
  /** The link is over. */
  isOver = false;
  /** `suspect` was told, and nothing that takes it back. */
  isSuspectTold = false;
  readonly #port: SessionPort;
  #isUpTold = false;
  /** `one-way` was told, and nothing was answered since. */
  isOneWayTold = false;

  constructor(port: SessionPort) {
    this.#port = port;
  }

  tell(event: SessionEvent): void {
    if (!this.isOver) this.#port.notify(event);
  }

  pong(seq: number, rttMs: number): void {
    this.isOneWayTold = false;
    if (!this.isOver) this.#port.pong(seq, rttMs);
  }

  life(silentMs: number): void {
    const wasSuspect = this.isSuspectTold;
    this.isSuspectTold = false;
    if (!this.#isUpTold) {
      this.#isUpTold = true;
      this.tell({ type: 'up' });
    } else if (wasSuspect) this.tell({ type: 'recovered', silentMs });
  }

  suspect(silentMs: number, limitMs: number, recent: readonly FlightEvent[] | undefined): void {
    if (this.isSuspectTold) return;
    this.isSuspectTold = true;
    this.tell({ type: 'suspect', silentMs, limitMs, ...(recent && { recent }) });
  }

  oneWay(unansweredMs: number): void {
    if (this.isOneWayTold) return;
    this.isOneWayTold = true;
    this.tell({ type: 'one-way', unansweredMs });
  }
}
