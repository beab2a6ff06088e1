/**
 * Examines links that are in trouble, one for all links of a hub: puts together what the session and the kernel know
 * and lets the rules decide. Holds something of a link only while it is suspect. Never waits: a verdict comes when it
 * is due, with the evidence there is.
 *
 * A hub that runs on a clock of its own (tests, simulations) has no use for the kernel, whose figures are of real
 * time: there the clocks alone decide.
 */
import type { Socket } from 'node:net';
import type { Knowledge } from '../../session/knowledge.ts';
import type { TimerHost } from '../../time/scheduler.ts';
import type { ClosedDetail } from '../events.ts';
import type { Diagnosis, KernelFigures } from './evidence.ts';
import { evidenceOf, type Occasion } from './findings.ts';
import { type KernelAccess, KernelEvidence } from './kernel-evidence.ts';
import { diagnose } from './rules.ts';
import { over } from './sentences.ts';

/** A link, as far as it is examined. */
export interface Examined {
  readonly socket: Socket;
  readonly session: { readonly state: string; readonly judge: { knowledge(nowMs: number): Knowledge } };
  /** The connection stands, or once stood. */
  readonly isOpen: boolean;
}

export class Examiner {
  readonly #now: () => number;
  readonly #kernel: KernelEvidence | undefined;

  constructor(access: KernelAccess | undefined, timers: TimerHost, now: () => number) {
    this.#now = now;
    this.#kernel = access === undefined ? undefined : new KernelEvidence(access, timers, now);
  }

  /** Links under watch. */
  get size(): number {
    return this.#kernel?.size ?? 0;
  }

  /** Why is this link in trouble? `errorCode`: of the socket. A suspect is under watch from now on. */
  examine(link: Examined, occasion: Occasion, errorCode?: string): Diagnosis {
    const { socket, session, isOpen } = link;
    const nowMs = this.#now();
    if (occasion === 'suspect') this.#kernel?.watch(link);
    const knowledge = session.judge.knowledge(nowMs);
    const evidence = evidenceOf(knowledge, isOpen, this.#kernel?.newest(socket), nowMs);
    const told = occasion === 'dead' ? this.#kernel?.takeError(socket) : undefined;
    return diagnose({ occasion, errorCode: errorCode ?? told, isOpen, knowledge, evidence });
  }

  /**
   * The link is over: what was recorded at its end. Its socket is not asked, and its queue not looked at, because
   * they may be somebody else's by now.
   */
  recall({ session, isOpen }: Examined, detail: ClosedDetail): Diagnosis {
    const { cause, diagnosis } = detail;
    if (diagnosis !== undefined) return diagnosis;
    const nowMs = this.#now();
    const knowledge = { ...session.judge.knowledge(nowMs), queuedBytes: 0, writeProgressAgeMs: undefined };
    return {
      cause,
      confidence: cause === 'unknown' ? 'guess' : 'certain',
      evidence: evidenceOf(knowledge, isOpen, undefined, nowMs),
      sentence: over(detail),
    };
  }

  /** The link is no longer in trouble, or no more. */
  forget(socket: Socket): void {
    this.#kernel?.forget(socket);
  }

  /** What the kernel knows of any connection now. */
  figures(socket: Socket): KernelFigures | undefined {
    return this.#kernel?.figures(socket);
  }
}
