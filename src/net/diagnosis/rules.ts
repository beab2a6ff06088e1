/**
 * From findings to a cause: a table, the first row that holds decides. Pure. The same table for readers stands in
 * spec/DIAGNOSIS.md, and a test keeps the two equal.
 *
 * The kernel decides most of it: a kernel that acknowledges what its process does not answer speaks of a hung
 * process, one that acknowledges nothing of a dead path, one whose window is closed of a process that does not read.
 */
import type { Cause } from '../../session/causes.ts';
import { causeOfSocketError } from '../socket-errors.ts';
import type { Confidence, Diagnosis } from './evidence.ts';
import type { Findings } from './findings.ts';
import {
  acknowledges,
  isAckedSinceLife,
  isHeardByKernel,
  isHeardLately,
  isHeardWhileStuck,
  isOurVerdict,
  isSentAgain,
  isSilence,
  isStuck,
  isUnacknowledged,
} from './readings.ts';
import * as say from './sentences.ts';

export interface Rule {
  /** As in spec/DIAGNOSIS.md. */
  readonly name: string;
  readonly cause: Cause;
  readonly confidence: Confidence;
  holds(findings: Findings): boolean;
  say(findings: Findings): string;
}

/** Probes that no kernel leaves without an answer, unless nothing gets through. */
const LOST_PROBES = 3;
/** More than any peer that answers heartbeats leaves unread: its kernel turns bytes away. */
const MANY_BYTES = 65_536;

const certain = 'certain';
const likely = 'likely';
const guess = 'guess';

export const RULES: readonly Rule[] = [
  // What is known without asking why.
  {
    ...{ name: 'goaway', cause: 'left', confidence: certain },
    holds: ({ knowledge }) => knowledge.hasLeft,
    say: () => say.LEFT,
  },
  {
    ...{ name: 'business', cause: 'business-hung', confidence: certain },
    holds: (findings) =>
      (findings.knowledge.business === 'hung' || findings.knowledge.business === 'failed') &&
      (findings.occasion === 'business' || (findings.occasion === 'asked' && isHeardLately(findings))),
    say: say.businessHung,
  },
  // What the connection itself has told.
  {
    ...{ name: 'unreachable', cause: 'peer-unreachable', confidence: certain },
    holds: ({ errorCode }) => causeOfSocketError(errorCode) === 'peer-unreachable',
    say: say.unreachable,
  },
  {
    ...{ name: 'unresolved', cause: 'name-unresolved', confidence: certain },
    holds: ({ errorCode }) => causeOfSocketError(errorCode) === 'name-unresolved',
    say: say.unresolved,
  },
  {
    ...{ name: 'untrusted', cause: 'untrusted', confidence: certain },
    holds: ({ errorCode }) => causeOfSocketError(errorCode) === 'untrusted',
    say: say.untrusted,
  },
  {
    ...{ name: 'tls', cause: 'protocol-error', confidence: certain },
    holds: ({ errorCode }) => causeOfSocketError(errorCode) === 'protocol-error',
    say: say.tlsFailed,
  },
  {
    ...{ name: 'other-error', cause: 'unknown', confidence: guess },
    holds: ({ occasion, errorCode }) => occasion === 'failed' && errorCode !== 'ETIMEDOUT',
    say: say.otherError,
  },
  {
    ...{ name: 'one-way-end', cause: 'link-dead', confidence: likely },
    holds: ({ occasion, knowledge: { heard, unansweredMs = 0, deadMs }, evidence }) =>
      occasion === 'ended' && heard && unansweredMs >= deadMs && evidence.unackedBytes !== 0,
    say: say.oneWay,
  },
  {
    ...{ name: 'fin', cause: 'peer-closed', confidence: certain },
    holds: ({ occasion }) => occasion === 'ended',
    say: say.peerClosed,
  },
  // What is our own doing.
  {
    // A guess, because unknown for certain is what is said of a link that is well.
    ...{ name: 'connecting', cause: 'unknown', confidence: guess },
    holds: ({ occasion, isOpen }) => occasion === 'asked' && !isOpen,
    say: () => say.CONNECTING,
  },
  {
    ...{ name: 'not-connected', cause: 'link-dead', confidence: likely },
    holds: ({ isOpen }) => !isOpen,
    say: () => say.NOT_CONNECTED,
  },
  {
    ...{ name: 'paused', cause: 'local', confidence: certain },
    holds: (findings) => isOurVerdict(findings) && findings.knowledge.isPaused,
    say: () => say.PAUSED,
  },
  {
    ...{ name: 'held', cause: 'local', confidence: certain },
    holds: (findings) => isOurVerdict(findings) && findings.knowledge.isHeldByUs,
    say: () => say.HELD,
  },
  {
    ...{ name: 'well', cause: 'unknown', confidence: certain },
    holds: (findings) => findings.occasion === 'asked' && isHeardLately(findings),
    say: say.well,
  },
  // Silence, and what the kernel knows of it.
  {
    ...{ name: 'window-lost', cause: 'link-dead', confidence: certain },
    holds: ({ evidence: { windowClosed, unansweredProbes = 0 } }) =>
      windowClosed === true && unansweredProbes >= LOST_PROBES,
    say: say.windowLost,
  },
  {
    ...{ name: 'window-closed', cause: 'peer-not-reading', confidence: certain },
    holds: ({ evidence }) => evidence.windowClosed === true && isAckedSinceLife(evidence),
    say: say.windowClosed,
  },
  {
    // The window was closed, but a path that died behind it would look the same.
    ...{ name: 'window-unheard', cause: 'peer-not-reading', confidence: likely },
    holds: ({ evidence }) => evidence.windowClosed === true,
    say: say.windowUnheard,
  },
  {
    ...{ name: 'retransmitting', cause: 'link-dead', confidence: certain },
    holds: ({ evidence }) => isSentAgain(evidence) && !isHeardByKernel(evidence),
    say: say.retransmitting,
  },
  {
    // A user time-out also ends a connection whose bytes the peer's window does not let through.
    ...{ name: 'timeout-unread', cause: 'peer-not-reading', confidence: likely },
    holds: (findings) =>
      findings.errorCode === 'ETIMEDOUT' && isHeardLately(findings) && isHeardWhileStuck(findings.evidence),
    say: say.timeoutUnread,
  },
  {
    ...{ name: 'kernel-timeout', cause: 'link-dead', confidence: certain },
    holds: ({ errorCode }) => errorCode === 'ETIMEDOUT',
    say: say.kernelTimeout,
  },
  {
    ...{ name: 'own-lateness', cause: 'we-were-late', confidence: likely },
    holds: ({ occasion, knowledge: { ownLagMs, rxIntervalMs } }) =>
      (occasion === 'suspect' || occasion === 'asked') && ownLagMs > rxIntervalMs / 2,
    say: say.weWereLate,
  },
  {
    ...{ name: 'turned-away', cause: 'peer-not-reading', confidence: likely },
    holds: ({ evidence }) => isSentAgain(evidence) && (evidence.unackedBytes as number) >= MANY_BYTES,
    say: say.notReading,
  },
  {
    ...{ name: 'outbound-lost', cause: 'link-dead', confidence: likely },
    holds: ({ evidence }) => isSentAgain(evidence),
    say: say.outboundLost,
  },
  {
    ...{ name: 'accepted-only', cause: 'never-answered', confidence: certain },
    holds: ({ knowledge, evidence }) => !knowledge.heard && acknowledges(evidence),
    say: say.acceptedOnly,
  },
  {
    ...{ name: 'kernel-answers', cause: 'process-hung', confidence: certain },
    holds: ({ evidence }) => acknowledges(evidence),
    say: say.processHung,
  },
  {
    ...{ name: 'unacknowledged', cause: 'link-dead', confidence: likely },
    holds: ({ evidence }) => isUnacknowledged(evidence),
    say: say.unacknowledged,
  },
  // Silence, and nothing but our own clocks.
  {
    ...{ name: 'queue-stuck', cause: 'peer-not-reading', confidence: guess },
    holds: (findings) => isStuck(findings),
    say: say.notReading,
  },
  {
    ...{ name: 'never-heard', cause: 'never-answered', confidence: guess },
    holds: ({ knowledge }) => !knowledge.heard,
    say: say.neverHeard,
  },
  {
    ...{ name: 'silent', cause: 'link-dead', confidence: guess },
    holds: () => true,
    say: say.silent,
  },
];

/** Older figures of the kernel weigh less. */
const FRESH_MS = 1_000;

export function diagnose(findings: Findings): Diagnosis {
  const rule = RULES.find(({ holds }) => holds(findings)) as Rule;
  const isUnsure = mayBeRefuted(findings) || isOutrun(findings);
  const confidence = rule.confidence === certain && isUnsure ? likely : rule.confidence;
  return { cause: rule.cause, confidence, evidence: findings.evidence, sentence: rule.say(findings) };
}

/** A suspect may still answer, and so may one that was never heard and has time to. */
function mayBeRefuted({ occasion, knowledge }: Findings): boolean {
  const { heard, isPaused, isHeldByUs, silentMs, suspectMs } = knowledge;
  const isOurDoing = isPaused || isHeldByUs;
  return occasion === 'suspect' || (occasion === 'asked' && !heard && !isOurDoing && silentMs < suspectMs);
}

function isOutrun(findings: Findings): boolean {
  return isSilence(findings) && (findings.evidence.kernelAgeMs ?? 0) > FRESH_MS;
}
