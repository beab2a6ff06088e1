/**
 * The intervals in force on one link, in ms: what the policy says until the two ends agree on something else. One
 * object per session, read by all its parts, so that a change holds everywhere at once.
 */
import type { SessionPolicy } from './policy.ts';

export class Limits {
  /** Our sends are never further apart. */
  txIntervalMs: number;
  /** The peer's sends are expected no further apart. */
  rxIntervalMs: number;
  /** Missed intervals that mean death. */
  multiplier: number;
  /** Our own multiplier, as the peer knows it: 1 narrows the spread of our sends. */
  ownMultiplier: number;
  /** D: silence that means death. */
  deadMs: number;
  /** Silence that means suspicion. */
  suspectMs: number;

  constructor(policy: SessionPolicy) {
    this.txIntervalMs = this.rxIntervalMs = policy.intervalMs;
    this.multiplier = this.ownMultiplier = policy.deadAfter;
    this.deadMs = policy.deadAfter * policy.intervalMs;
    this.suspectMs = Math.ceil(policy.suspectAfter * policy.intervalMs);
  }

  /** On a busy link too a question is owed this often: once in D, but no faster than the peer wants to be spoken to. */
  get askMs(): number {
    return Math.max(this.deadMs, this.txIntervalMs);
  }
}
