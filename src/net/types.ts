/** The public shapes of `wirebeat/net`. */
import type { Socket } from 'node:net';
import type { BusinessOutcome } from '../session/business.ts';
import type { Cause } from '../session/causes.ts';
import type { SessionOptions } from '../session/policy.ts';
import type { LinkState } from '../session/states.ts';
import type { Check } from './check-runner.ts';
import type { Diagnosis, KernelFigures } from './diagnosis/evidence.ts';
import type { ClosedDetail } from './events.ts';

/** The host protocol that shares a connection with heartbeats. No frame of it may begin with bytes 48 42. */
export interface HostProtocol {
  /**
   * Length in bytes, header included, of the host frame that begins at `start`; 0 = more bytes are needed; -1 =
   * this cannot be a host frame. Sees at most 64 bytes. Must not keep or change `bytes`.
   */
  frameLength(bytes: Uint8Array, start: number, end: number): number;
  /** A host frame, whole or in pieces (see `delivery`). `bytes` is valid during the call only: copy to keep. */
  onFrame(link: Link, bytes: Uint8Array): void;
  /** whole (default): onFrame gets complete frames. pieces: it gets the bytes of frames as they arrive. */
  delivery?: 'whole' | 'pieces';
  /** Largest inbound frame, bytes, header included: above it the link closes with HB_ERR_HOST_TOO_LARGE. */
  maxFrameBytes?: number;
  /**
   * Given: what the host writes, through `link.write` or by calling `socket.write` itself, may come in pieces, and
   * this function finds the frame boundaries in it (same contract as `frameLength`). Absent: every `link.write` is
   * one or more whole frames, and `socket.write` is refused.
   */
  outboundFrameLength?(bytes: Uint8Array, start: number, end: number): number;
}

export interface AttachOptions extends SessionOptions {
  /** Present: the connection is shared with this protocol. Absent: it carries heartbeats only. */
  host?: HostProtocol;
  /** Bytes already read from the socket by somebody else; they are taken as the first bytes. */
  head?: Uint8Array;
  /** Anything of yours; `link.context` returns it. */
  context?: unknown;
  /** 'ignore' accepts any value in the reserved bytes: for C peers that send uninitialised padding. */
  reserved?: 'strict' | 'ignore';
  /** When the first beat is due, as a fraction of the interval, [0, 1). Unset: spread evenly over all links. */
  firstPhase?: number;
  /** Disable Nagle's algorithm, so that 16 bytes leave at once. Default true; false leaves the socket as it is. */
  noDelay?: boolean;
  /**
   * How long the kernel lets sent data go unacknowledged, or the peer's receive window stay closed, before it ends the
   * connection (TCP_USER_TIMEOUT). follow: `detectionBoundMs` and one interval more, set when the link opens and again
   * whenever rates are agreed, so that our verdict comes first. A number, 100..2 147 483 647 ms: exactly that; when it
   * is shorter than `follow` would be, the kernel decides. Where the kernel is out of reach this process watches its
   * own queue instead. false (default): left as it is. A socket that is given back (`detach`) has none.
   */
  userTimeout?: 'follow' | false | number;
  /**
   * Is this process's business well? Asked when the peer sends a business probe; one run at a time per function, and
   * its result serves all links for a second. A run longer than `checkLimitMs` (default 3 000) counts as failed.
   */
  check?: Check;
  checkLimitMs?: number;
  /**
   * Host bytes that may wait for a peer which does not take them, >= 0, default 64 MiB; one more closes the link,
   * HB_ERR_QUEUE_LIMIT. A host that heeds back-pressure never gets there. Infinity: no limit.
   */
  maxQueuedBytes?: number;
  /**
   * Heartbeats accepted per second, >= 1, default 50, two seconds' worth at once, and a minute's worth saved up. One
   * more: GOAWAY (too fast, return after 30 s) and close, HB_ERR_FRAME_RATE. Infinity: no limit.
   */
  maxFramesPerSecond?: number;
  /** Called for each answered ping; `rttMs` is NaN when the answer says nothing about the round trip. */
  onPong?(link: Link, seq: number, rttMs: number): void;
}

export interface LeaveOptions {
  /** A GoAwayReason; default 1, leaving. */
  reason?: number;
  /** What the peer is told to wait before it returns. 0 (default) = its own backoff, Infinity = do not return. */
  retryAfterMs?: number;
  /** How long we go on beating and answering before the connection ends, 0..300 000; default 30 000. */
  drainMs?: number;
}

export interface LinkRates {
  /** How often we wish to send at most, whole ms, 100..16 777 215. */
  desiredMinTxMs?: number;
  /** The fastest we are willing to receive, whole ms, 100..16 777 215. */
  requiredMinRxMs?: number;
  /** Missed intervals after which the peer may declare us dead, 1..255. */
  detectMultiplier?: number;
}

/** One watched connection. */
export interface Link {
  readonly id: number;
  readonly state: LinkState;
  readonly context: unknown;
  readonly socket: Socket;
  /** Longest silence before a dead peer is declared dead; grows when the RTT nears the interval. */
  readonly detectionTimeMs: number;
  /** The same while this process itself runs late. */
  readonly detectionBoundMs: number;
  /**
   * Write host bytes: whole frames, unless the host protocol has `outboundFrameLength`. False = back-pressure, as
   * with `net.Socket`, or the link is closed. Throws HB_ERR_HOST_MAGIC when a frame begins with 48 42.
   */
  write(wholeFrame: Uint8Array): boolean;
  /** Stop reading. While paused nothing is concluded about the peer; our beats go on. */
  pause(): void;
  resume(): void;
  /** Our own level "alive, but not well", carried on every frame. */
  setDegraded(value: boolean): void;
  /** With `negotiate`: wish for other rates from now on; unset ones stay. `negotiated` tells what was agreed. */
  setRates(rates: LinkRates): void;
  /** Say GOAWAY, drain, end. Resolves when the link is closed. */
  leave(options?: LeaveOptions): Promise<void>;
  /** Close at once, without a word. `detail`: what `closed` shall tell; default cause `local`. */
  destroy(detail?: ClosedDetail): void;
  /** True at the first sign of life, false when the link closed before. */
  whenUp(): Promise<boolean>;
  /** What the `closed` event tells. */
  whenClosed(): Promise<ClosedDetail>;
  /** Give the socket back, paused, with the bytes that were read and not delivered. The link is closed. */
  detach(): { socket: Socket; head: Uint8Array };
  stats(): LinkStats;
  /** What the kernel knows of this connection now: Linux, with the package koffi installed; else undefined. */
  kernel(): KernelFigures | undefined;
  /** What would be said of this link if it ended now. `suspect`, `dead` and `closed` bring theirs with them. */
  diagnose(): Diagnosis;
}

export interface LinkStats {
  readonly state: LinkState;
  /** Smoothed RTT, its deviation, latest, least, greatest; NaN before the first answer. ms. */
  readonly rttMs: number;
  readonly rttvarMs: number;
  readonly rttLatestMs: number;
  readonly rttMinMs: number;
  readonly rttMaxMs: number;
  readonly jitterMs: number;
  /** Ages of the last life and of our last send, ms. */
  readonly silentMs: number;
  readonly quietMs: number;
  /** Pings without an answer among our last 64 frames. */
  readonly unanswered: number;
  /** Both ends have agreed on the rates. */
  readonly negotiated: boolean;
  /** Intervals and multiplier in force. */
  readonly txIntervalMs: number;
  readonly rxIntervalMs: number;
  readonly multiplier: number;
  readonly peerDegraded: boolean;
  /** How late the peer's process runs, as it tells itself, ms. */
  readonly peerLagMs: number;
  /** The newest answer to a business probe; undefined before the first. */
  readonly business: BusinessOutcome | undefined;
  /** With `advice`: how surprising the present silence is, 0..40; NaN without. */
  readonly phi: number;
  readonly bytesReceived: number;
  readonly framesSent: number;
  readonly framesReceived: number;
  readonly pingsSent: number;
  readonly pongsSent: number;
  readonly pongsMatched: number;
  readonly pongsUnmatched: number;
  readonly pongsCoalesced: number;
  readonly duplicates: number;
  readonly stale: number;
  readonly candidates: number;
  readonly skipped: number;
  /** Duty frames that left more than two ticks after they were due. */
  readonly beatsLate: number;
  readonly probesSkipped: number;
  readonly suspicions: number;
  /** Times a judge by the clock alone would have killed a living peer. */
  readonly killsAverted: number;
  /** Verdicts put off because this process had not been running. */
  readonly graces: number;
  /** Heartbeat-only links: bytes passed over while looking for the next frame. */
  readonly resyncBytes: number;
}

export interface HubStats {
  readonly links: number;
  /** How late this process has been running, 0..8, and its worst lag ever, ms. */
  readonly lateScore: number;
  readonly worstLagMs: number;
  readonly states: Readonly<Record<LinkState, number>>;
  /** Links that ended so far, by cause. */
  readonly closed: Readonly<Partial<Record<Cause, number>>>;
  /** Verdicts so far. */
  readonly dead: number;
  readonly bytesReceived: number;
  readonly framesSent: number;
  readonly framesReceived: number;
  readonly pingsSent: number;
  readonly pongsSent: number;
  readonly pongsMatched: number;
  readonly pongsUnmatched: number;
  readonly pongsCoalesced: number;
  readonly duplicates: number;
  readonly stale: number;
  readonly candidates: number;
  readonly skipped: number;
  /** Duty frames that left more than two ticks after they were due. */
  readonly beatsLate: number;
  readonly probesSkipped: number;
  readonly suspicions: number;
  /** Times a judge by the clock alone would have killed a living peer. */
  readonly killsAverted: number;
  /** Verdicts put off because this process had not been running. */
  readonly graces: number;
  readonly resyncBytes: number;
}
