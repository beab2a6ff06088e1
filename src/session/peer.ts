/**
 * What the other side has told of itself by its own frames: which of them are new, its level, its own lateness, that
 * it leaves, and when it last spoke unasked. Answers to our questions are not its own frames.
 */
import { Flag, Param } from '../wire/constants.ts';
import { paramId, paramValue } from '../wire/param.ts';
import { JitterEstimator } from './jitter.ts';
import { PeerSequence } from './sequence.ts';
import type { SessionStats } from './stats.ts';

export class Peer {
  readonly jitter = new JitterEstimator();
  /** Its DEGRADED level: alive, but its business is not well. */
  degraded = false;
  /** How late its process runs, as it tells itself, ms. */
  lagMs = 0;
  /** The fastest it is willing to receive, as it last told, ms; 0 = it never did. */
  requiredMinRxMs = 0;
  /** It said GOAWAY. */
  hasLeft = false;
  /** Last frame or host byte it sent of its own accord. */
  lastVoluntaryMs = -Infinity;
  readonly #sequence = new PeerSequence();
  readonly #stats: SessionStats;

  constructor(stats: SessionStats) {
    this.#stats = stats;
  }

  /** A frame of its own arrived: true when it is new, so that what it says counts. */
  hear(flags: number, seq: number, word: number, nowMs: number): boolean {
    const isParam = (flags & Flag.Param) !== 0;
    const id = isParam ? paramId(word) : 0;
    if (id !== Param.Final && id !== Param.Refuse) this.lastVoluntaryMs = Math.ceil(nowMs);
    const verdict = this.#sequence.accept(seq);
    if (verdict === 'new') {
      if (!isParam) this.jitter.arrival(Math.floor(nowMs), word);
      else if (id === Param.LoopLag) this.lagMs = paramValue(word);
      else if (id === Param.RequiredMinRx) this.requiredMinRxMs = paramValue(word);
      return true;
    }
    if (verdict === 'duplicate') this.#stats.duplicates++;
    else if (verdict === 'stale') this.#stats.stale++;
    else this.#stats.candidates++;
    return false;
  }
}
