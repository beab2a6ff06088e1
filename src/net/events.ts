/** What a hub tells: one listener per process, each event with the link it concerns. */
import type { BusinessOutcome } from '../session/business.ts';
import type { Cause } from '../session/causes.ts';
import type { FlightEvent } from '../session/flight-recorder.ts';
import type { Diagnosis } from './diagnosis/evidence.ts';
import type { Link } from './types.ts';

export interface SuspectDetail {
  /** Silence so far, and the silence that means death, ms. */
  readonly silentMs: number;
  readonly limitMs: number;
  /** Why, as far as is known by now; always there. */
  readonly diagnosis?: Diagnosis;
  /** The last happenings on the link, when `record` is on. */
  readonly recent?: readonly FlightEvent[];
}

export interface DeadDetail extends SuspectDetail {
  /** The diagnosis's. */
  readonly cause: Cause;
}

export interface LeavingDetail {
  readonly by: 'us' | 'peer';
  /** A GoAwayReason. */
  readonly reason: number;
  /** How long to stay away: 0 = own backoff, Infinity = do not return. */
  readonly retryAfterMs: number;
  /** The fastest the peer is willing to receive, if it told: return no faster. ms. */
  readonly requiredMinRxMs?: number;
}

export interface ClosedDetail {
  /** The first cause recorded; there is exactly one `closed` per link. */
  readonly cause: Cause;
  /** `HB_ERR_...` for protocol errors and limits, the system's code (ECONNRESET) for socket errors. */
  readonly code?: string;
  /** One clause for a log line. */
  readonly reason?: string;
  /** When the cause was found by a verdict, a socket error, or an end without a word. */
  readonly diagnosis?: Diagnosis;
}

export interface HubEvents {
  /** First valid frame or host byte of a peer. */
  up: [link: Link, detail: Record<string, never>];
  suspect: [link: Link, detail: SuspectDetail];
  /** A suspect gave a sign of life after this much silence. */
  recovered: [link: Link, detail: { readonly silentMs: number }];
  /** The verdict; the socket is destroyed and `closed` follows at once. */
  dead: [link: Link, detail: DeadDetail];
  /** A GOAWAY was sent or received. */
  leaving: [link: Link, detail: LeavingDetail];
  closed: [link: Link, detail: ClosedDetail];
  /** The peer's DEGRADED level changed. */
  degraded: [link: Link, detail: { readonly degraded: boolean }];
  /** The write queue has not moved for a whole detection time: the peer is not reading. */
  'write-stall': [link: Link, detail: { readonly stalledMs: number }];
  /** The peer is heard, but answers no question: our direction may be lost. */
  'one-way': [link: Link, detail: { readonly unansweredMs: number }];
  /** Both directions have their intervals; told again whenever one changes. */
  negotiated: [
    link: Link,
    detail: { readonly txIntervalMs: number; readonly rxIntervalMs: number; readonly multiplier: number },
  ];
  /** A change of rates was refused; what was agreed before holds. `code`: a RefuseCode. */
  'negotiation-refused': [link: Link, detail: { readonly by: 'us' | 'peer'; readonly code: number }];
  /** What the peer's application answered; failures in a row. `hung`: nothing within the limit. */
  business: [
    link: Link,
    detail: {
      readonly outcome: BusinessOutcome;
      readonly failures: number;
      /** With `failed` and `hung`. */
      readonly diagnosis?: Diagnosis;
    },
  ];
  /** Advice: the round trip creeps up (three times its usual and more), or is back to normal. */
  'rtt-trend': [
    link: Link,
    detail: { readonly isRaised: boolean; readonly rttMs: number; readonly baselineMs: number },
  ];
  /** We have not been reading this link for longer than `maxReadPausedMs`. */
  'read-paused': [link: Link, detail: { readonly pausedMs: number }];
  /** This process itself woke late, for all links: told before any verdict of the same wake. `score` 0..8. */
  'self-late': [
    link: undefined,
    detail: { readonly cause: 'we-were-late'; readonly lagMs: number; readonly score: number },
  ];
  /** The machine slept, for all links: each has a fresh window. */
  resumed: [link: undefined, detail: { readonly sleptMs: number }];
}

/** Events that concern one link. */
export type LinkEvent = {
  [E in keyof HubEvents]: HubEvents[E][0] extends Link ? E : never;
}[keyof HubEvents];

/** Told of each event of each link. Must not throw. */
export type LinkObserver = <E extends LinkEvent>(event: E, link: Link, detail: HubEvents[E][1]) => void;
