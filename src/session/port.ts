/**
 * What a session needs from the world around it. `net/link` implements it over a socket, the tests over arrays.
 * Passed in once; the session never imports upwards.
 */
import type { BusinessOutcome } from './business.ts';
import type { Cause } from './causes.ts';
import type { FlightEvent } from './flight-recorder.ts';
import type { Lateness } from './lateness.ts';

/** What became of a frame handed to the outbound side. */
export const Sent = {
  /** Not taken: the socket is not draining or a host frame is open. `session.writable` will be called. */
  Held: 0,
  /** Accepted, but still in this process. `session.flushed` will be called when the kernel has it. */
  Queued: 1,
  /** In the kernel's send buffer. */
  InKernel: 2,
} as const;
export type SentResult = (typeof Sent)[keyof typeof Sent];

/** Rare happenings, told as they occur. Pongs are frequent and have a method of their own. */
export type SessionEvent =
  | { readonly type: 'up' }
  | {
      readonly type: 'suspect';
      readonly silentMs: number;
      readonly limitMs: number;
      /** The flight recorder's last entries, when it runs. */
      readonly recent?: readonly FlightEvent[];
    }
  | { readonly type: 'recovered'; readonly silentMs: number }
  | {
      readonly type: 'leaving';
      readonly by: 'us' | 'peer';
      readonly reason: number;
      /** 0: own backoff; Infinity: do not return. */
      readonly retryAfterMs: number;
      /** The fastest the peer is willing to receive, if it told: who returns should send no faster. ms. */
      readonly requiredMinRxMs?: number;
    }
  | { readonly type: 'degraded'; readonly degraded: boolean }
  | { readonly type: 'one-way'; readonly unansweredMs: number }
  | { readonly type: 'write-stall'; readonly stalledMs: number }
  /** We have not been reading for longer than `maxReadPausedMs`: what is unknown of the peer is our doing. */
  | { readonly type: 'read-paused'; readonly pausedMs: number }
  /** What the peer's application answered to a business probe; `failures` in a row. */
  | { readonly type: 'business'; readonly outcome: BusinessOutcome; readonly failures: number }
  /** Advice: the round trip creeps up, or is back to normal. */
  | {
      readonly type: 'rtt-trend';
      readonly isRaised: boolean;
      readonly rttMs: number;
      readonly baselineMs: number;
    }
  /** Both directions have their intervals; told again whenever one changes. */
  | {
      readonly type: 'negotiated';
      readonly txIntervalMs: number;
      readonly rxIntervalMs: number;
      readonly multiplier: number;
    }
  /** A change of rates was refused; what was agreed before holds. `code`: a RefuseCode. */
  | { readonly type: 'negotiation-refused'; readonly by: 'us' | 'peer'; readonly code: number }
  /** The peer goes on sending faster than agreed: it was told, and is to be closed. */
  | { readonly type: 'too-fast'; readonly requiredMinRxMs: number }
  /** Our own pings come back as pings: no peer is there, only an echo. The link is to be closed. */
  | { readonly type: 'reflected' }
  /** The peer was judged; the link is to be destroyed at once. */
  | {
      readonly type: 'dead';
      readonly cause: Cause;
      readonly silentMs: number;
      readonly limitMs: number;
      readonly recent?: readonly FlightEvent[];
    }
  /** Nothing valid was heard within the limit for a new link; it is to be closed at once. */
  | { readonly type: 'silent'; readonly limitMs: number }
  /** Leaving is over (drained, or the other side fell silent after GOAWAY); end politely. */
  | { readonly type: 'ended'; readonly cause: Cause };

export interface SessionPort {
  /** How late this process runs; one for all its sessions. */
  readonly lateness: Lateness;
  /** Put one frame on the wire at a host-frame boundary. Primitives only; allocates nothing in the session. */
  send(flags: number, seq: number, word: number): SentResult;
  /** Find out now whether the machine slept; `session.resumed` is called if so. Absent: it cannot be told. */
  lookForSleep?(): void;
  /** May suspect probe number `index` (0 = first) be sent, or is the process's probe budget used up? */
  allowProbe(index: number): boolean;
  /** Bytes accepted from us that the kernel has not taken yet. */
  queuedBytes(): number;
  /** All bytes the kernel has taken so far, monotonic. */
  takenBytes(): number;
  /**
   * The peer asks our application. True: a check is installed and `session.checked` will be called with its result;
   * false: there is none, and a plain answer says so.
   */
  check(seq: number, timestamp: number): boolean;
  /** A ping of ours was answered. `rttMs` is NaN when the measurement is not usable. */
  pong(seq: number, rttMs: number): void;
  notify(event: SessionEvent): void;
}
