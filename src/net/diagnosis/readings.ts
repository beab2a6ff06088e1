/** How evidence is read: the few questions that several rules ask of it. */
import type { Evidence } from './evidence.ts';
import type { Findings } from './findings.ts';

/** The kernel tells times of acknowledgements to a tick of its clock (10 ms at most), and we round ours. */
const SLACK_MS = 20;
/** A kernel may hold an acknowledgement back for so long. */
const DELAYED_ACK_MS = 200;
/** The least time-out before a retransmission; each further one takes twice as long. */
const LEAST_RTO_MS = 200;

/** We ourselves say that something is wrong, not the connection. */
export function isOurVerdict({ occasion }: Findings): boolean {
  return occasion === 'suspect' || occasion === 'dead' || occasion === 'asked';
}

/** Something valid was heard, and not so long ago that its silence is suspect. */
export function isHeardLately({ knowledge: { heard, silentMs, suspectMs } }: Findings): boolean {
  return heard && silentMs < suspectMs;
}

/** Silence is to be explained. */
export function isSilence(findings: Findings): boolean {
  return isOurVerdict(findings) || findings.errorCode === 'ETIMEDOUT';
}

/** The peer's kernel has acknowledged something that we sent after the last life. */
export function acknowledges(evidence: Evidence): boolean {
  const { unackedBytes, kernelAgeMs = Infinity, askedAgeMs, writeProgressAgeMs, ackAgeMs } = evidence;
  if (unackedBytes === 0 && askedAgeMs !== undefined && kernelAgeMs <= askedAgeMs) return true;
  const since = askedAgeMs ?? writeProgressAgeMs;
  return since !== undefined && ackAgeMs !== undefined && ackAgeMs + SLACK_MS < since;
}

/**
 * The peer's kernel has acknowledged something, new or not, since the last life. The segment that brought that life
 * was an acknowledgement itself and does not count: the path may have died right behind it.
 */
export function isAckedSinceLife({ ackAgeMs = Infinity, silentMs }: Evidence): boolean {
  return ackAgeMs + SLACK_MS < silentMs;
}

/** Segments of the peer still arrived while ours were sent again. */
export function isHeardByKernel({
  retransmits = 0,
  ackAgeMs = Infinity,
  kernelAgeMs = 0,
}: Evidence): boolean {
  return ackAgeMs - kernelAgeMs < LEAST_RTO_MS * 2 ** (retransmits - 1);
}

/**
 * Bytes that should have been acknowledged by then were not. Where no time of an acknowledgement is known, they may be
 * our newest ones, and older ones acknowledged.
 */
export function isUnacknowledged(evidence: Evidence): boolean {
  const {
    unackedBytes = 0,
    kernelAgeMs = 0,
    askedAgeMs,
    writeProgressAgeMs = 0,
    ackAgeMs,
    quietMs,
  } = evidence;
  const sinceMs = askedAgeMs ?? writeProgressAgeMs;
  const waitedMs = ackAgeMs === undefined ? Math.min(sinceMs, quietMs) : sinceMs;
  return unackedBytes > 0 && waitedMs - kernelAgeMs >= DELAYED_ACK_MS;
}

/** The kernel has sent them again, in vain so far. */
export function isSentAgain({ unackedBytes = 0, retransmits = 0 }: Evidence): boolean {
  return unackedBytes > 0 && retransmits > 0;
}

/**
 * The peer was heard well after the last byte of ours left: the path stands. What was heard at about that time may have
 * been the last to come through before it died.
 */
export function isHeardWhileStuck({ silentMs, writeProgressAgeMs = 0 }: Evidence): boolean {
  return silentMs < writeProgressAgeMs / 2;
}

/** Bytes wait in this process, and none has left it for a whole detection time, or no question got past them. */
export function isStuck({
  evidence: { writeProgressAgeMs, askedAgeMs },
  knowledge: { deadMs },
}: Findings): boolean {
  return writeProgressAgeMs !== undefined && (askedAgeMs === undefined || writeProgressAgeMs >= deadMs);
}
