/**
 * What the session of a link meets when it sends, asks and tells: the outbound side, the hub's checks and budgets, the
 * listeners of the hub, and the ends a link may come to.
 */
import type { Socket } from 'node:net';
import type { Lateness } from '../session/lateness.ts';
import type { SentResult, SessionEvent, SessionPort } from '../session/port.ts';
import type { Session } from '../session/session.ts';
import type { Examined } from './diagnosis/examiner.ts';
import { REFLECTED, silentEnding, tooFastEnding } from './endings.ts';
import type { ClosedDetail } from './events.ts';
import { kernelTakenBytes } from './handle.ts';
import type { HubCore } from './hub-core.ts';
import type { SocketLink } from './link.ts';
import { ATTACH_DEFAULTS } from './options.ts';
import type { Outbound } from './outbound.ts';
import type { AttachOptions } from './types.ts';

/** The link, as its session's port sees it. */
export interface PortOwner extends Examined {
  readonly socket: Socket;
  readonly session: Session;
  readonly outbound: Outbound;
  /** Nothing but heartbeats is under way: no reason to stay once the peer leaves. */
  readonly carriesNothingElse: boolean;
  asLink(): SocketLink;
  /** The first life was heard. */
  cameUp(): void;
  /** Rates were agreed, and with them when a verdict comes. */
  followVerdict(): void;
  /** The verdict: recorded, then told, then carried out. */
  die(detail: ClosedDetail, tell: () => void): void;
  endPolitely(detail: ClosedDetail): void;
  finish(detail: ClosedDetail): void;
}

export class LinkPort implements SessionPort {
  readonly #owner: PortOwner;
  readonly #hub: HubCore;
  readonly #onPong: AttachOptions['onPong'];
  readonly #check: AttachOptions['check'];
  readonly #checkLimitMs: number;
  /** The peer's business probe that waits for our check. */
  #probe: { readonly seq: number; readonly timestamp: number } | undefined;

  constructor(owner: PortOwner, hub: HubCore, options: AttachOptions) {
    this.#owner = owner;
    this.#hub = hub;
    this.#onPong = options.onPong;
    this.#check = options.check;
    this.#checkLimitMs = options.checkLimitMs ?? ATTACH_DEFAULTS.checkLimitMs;
  }

  send(flags: number, seq: number, word: number): SentResult {
    return this.#owner.outbound.send(flags, seq, word);
  }

  get lateness(): Lateness {
    return this.#hub.lateness;
  }

  check(seq: number, timestamp: number): boolean {
    if (this.#check === undefined) return false;
    const isWaiting = this.#probe !== undefined;
    this.#probe = { seq, timestamp }; // of several the newest is answered, so that a flood of them costs no memory
    if (!isWaiting) this.#hub.checks.ask(this.#check, this.#checkLimitMs, (passed) => this.#checked(passed));
    return true;
  }

  #checked(passed: boolean): void {
    const probe = this.#probe;
    this.#probe = undefined;
    if (probe !== undefined) this.#owner.session.checked(probe.seq, probe.timestamp, passed, this.#hub.now());
  }

  lookForSleep(): void {
    this.#hub.lookForSleep(this.#hub.now());
  }

  allowProbe(index: number): boolean {
    return this.#hub.allowProbe(index);
  }

  queuedBytes(): number {
    return this.#owner.outbound.queuedBytes;
  }

  takenBytes(): number {
    return kernelTakenBytes(this.#owner.socket);
  }

  pong(seq: number, rttMs: number): void {
    this.#onPong?.(this.#owner.asLink(), seq, rttMs);
  }

  notify(event: SessionEvent): void {
    switch (event.type) {
      case 'dead': {
        const { type, ...verdict } = event;
        const diagnosis = this.#hub.examiner.examine(this.#owner, 'dead');
        const { cause } = diagnosis;
        const detail = { ...verdict, cause, diagnosis };
        this.#hub.countDeath();
        this.#owner.die({ cause, diagnosis }, () => this.#hub.tell(type, this.#owner.asLink(), detail));
        return;
      }
      case 'ended':
        this.#owner.endPolitely({ cause: event.cause });
        return;
      case 'leaving':
        this.#tellLeaving(event);
        // With no host there is nothing in flight to wait for.
        if (event.by === 'peer' && this.#owner.carriesNothingElse) this.#owner.endPolitely({ cause: 'left' });
        return;
      case 'too-fast':
        this.#owner.endPolitely(tooFastEnding(event.requiredMinRxMs));
        return;
      case 'reflected':
        this.#owner.endPolitely(REFLECTED);
        return;
      case 'silent':
        this.#owner.finish(silentEnding(event.limitMs));
        return;
      case 'suspect': {
        const { type, ...detail } = event;
        const diagnosis = this.#hub.examiner.examine(this.#owner, 'suspect');
        this.#hub.tell(type, this.#owner.asLink(), { ...detail, diagnosis });
        return;
      }
      case 'business': {
        const { type, ...detail } = event;
        const isWell = event.outcome === 'ok' || event.outcome === 'unknown';
        const diagnosis = isWell ? undefined : this.#hub.examiner.examine(this.#owner, 'business');
        this.#hub.tell(type, this.#owner.asLink(), { ...detail, ...(diagnosis && { diagnosis }) });
        return;
      }
      default: {
        if (event.type === 'up') this.#owner.cameUp();
        if (event.type === 'up' || event.type === 'recovered') this.#hub.examiner.forget(this.#owner.socket);
        if (event.type === 'negotiated') this.#owner.followVerdict();
        const { type, ...detail } = event;
        this.#hub.tell(type, this.#owner.asLink(), detail as never);
      }
    }
  }

  #tellLeaving({ type, ...detail }: Extract<SessionEvent, { type: 'leaving' }>): void {
    this.#hub.tell(type, this.#owner.asLink(), detail);
  }
}
