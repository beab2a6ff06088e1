/**
 * What a session knows of its link, for whoever asks why it is silent: the ages of its clocks, what was asked and
 * not answered, and what speaks for or against the peer. Made on request only, never per frame; pure.
 */
import type { BusinessOutcome } from './business.ts';
import type { Duty, DutyParts } from './duty.ts';

/** Ages in whole ms at the time of asking; undefined: that never was, or is not now. */
export interface Knowledge {
  /** Something valid was heard, ever. */
  readonly heard: boolean;
  /** The peer said GOAWAY. */
  readonly hasLeft: boolean;
  /** We have stopped reading. */
  readonly isPaused: boolean;
  /** Our own host keeps a frame open, so that no question could go out. */
  readonly isHeldByUs: boolean;
  readonly silentMs: number;
  readonly quietMs: number;
  /** Silence that means suspicion, and death. */
  readonly suspectMs: number;
  readonly deadMs: number;
  readonly rxIntervalMs: number;
  /** Since when a question sent after the last life has been in the kernel. */
  readonly askedAgeMs: number | undefined;
  /** Since when nothing has been answered, though asked. */
  readonly unansweredMs: number | undefined;
  /** Since when a queue of ours that waits for the kernel has not moved. */
  readonly writeProgressAgeMs: number | undefined;
  readonly queuedBytes: number;
  readonly business: BusinessOutcome | undefined;
  readonly businessOkAgeMs: number | undefined;
  readonly rttMs: number;
  /** The worst this process itself was late since the last life. */
  readonly ownLagMs: number;
}

export function knowledgeOf(parts: DutyParts, duty: Duty, nowMs: number): Knowledge {
  const { limits, peer, port, questions, silence, transmitter } = parts;
  const { business } = duty;
  const now = Math.floor(nowMs); // as the session counts
  const ageOf = (atMs: number): number | undefined =>
    Number.isFinite(atMs) ? Math.max(0, now - Math.floor(atMs)) : undefined;
  const unansweredMs = questions.unansweredMs(now);
  return {
    heard: silence.heard,
    hasLeft: peer.hasLeft,
    isPaused: silence.isPaused,
    isHeldByUs: transmitter.isHeld && !questions.isAsked && port.queuedBytes() === 0,
    silentMs: Math.max(0, now - silence.lastRxMs),
    quietMs: Math.max(0, now - transmitter.lastTxMs),
    suspectMs: limits.suspectMs,
    deadMs: limits.deadMs,
    rxIntervalMs: limits.rxIntervalMs,
    askedAgeMs: ageOf(questions.askedMs),
    unansweredMs: unansweredMs < 0 ? undefined : unansweredMs,
    writeProgressAgeMs: ageOf(silence.writeProgressMs),
    queuedBytes: port.queuedBytes(),
    business: business?.outcome,
    businessOkAgeMs: business === undefined ? undefined : ageOf(business.okMs),
    rttMs: questions.rtt.samples > 0 ? questions.rtt.srttMs : Number.NaN,
    ownLagMs: port.lateness.worstSinceMs(silence.lastRxMs),
  };
}
