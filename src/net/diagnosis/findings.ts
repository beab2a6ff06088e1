/** What the rules look at: the evidence, what the session knows, and the occasion. */
import type { Knowledge } from '../../session/knowledge.ts';
import type { Evidence } from './evidence.ts';
import type { Sample } from './kernel-evidence.ts';

/**
 * suspect: silent beyond the suspect limit; dead: the verdict; ended: FIN came; failed: the socket reported an error;
 * business: its application did not answer, or not well; asked: somebody wants to know.
 */
export type Occasion = 'suspect' | 'dead' | 'ended' | 'failed' | 'business' | 'asked';

export interface Findings {
  readonly occasion: Occasion;
  /** The socket's error (`ECONNRESET`), or what a router told by ICMP (`EHOSTUNREACH`). */
  readonly errorCode: string | undefined;
  /** The connection stands, or once stood. */
  readonly isOpen: boolean;
  readonly knowledge: Knowledge;
  readonly evidence: Evidence;
}

export function evidenceOf(
  knowledge: Knowledge,
  isOpen: boolean,
  sample: Sample | undefined,
  nowMs: number,
): Evidence {
  const kernelAgeMs = sample === undefined ? undefined : Math.max(0, Math.round(nowMs - sample.takenMs));
  const figures = sample?.figures;
  const ackAgeMs = figures?.ackAgeMs;
  return {
    source: figures?.source ?? 'clocks',
    stood: isOpen,
    kernelAgeMs,
    silentMs: isOpen ? knowledge.silentMs : 0,
    quietMs: isOpen ? knowledge.quietMs : 0,
    writeProgressAgeMs: knowledge.writeProgressAgeMs,
    businessOkAgeMs: knowledge.businessOkAgeMs,
    askedAgeMs: knowledge.askedAgeMs,
    unansweredMs: knowledge.unansweredMs,
    queuedBytes: knowledge.queuedBytes,
    unackedBytes: figures?.unackedBytes,
    ackAgeMs: ackAgeMs === undefined ? undefined : ackAgeMs + (kernelAgeMs as number),
    retransmits: figures?.retransmits,
    windowClosed: figures?.windowClosed,
    zeroWindowProbes: figures?.zeroWindowProbes,
    unansweredProbes: figures?.unansweredProbes,
    rttMs: knowledge.rttMs,
    kernelRttMs: figures?.rttMs,
    ownLagMs: knowledge.ownLagMs,
  };
}
