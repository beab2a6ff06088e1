/**
 * Keeps the beats of one process's links apart, from a mass accept onwards: when first beats fall, and how the gaps
 * between later ones vary.
 *
 * First phases follow the law of a process that has been running for ever: gaps are U(0.75, 1) T, so a beat is owed
 * within 0.75 T with equal chance at any time, and ever less likely up to T. Were they even over (0, T), the early
 * links' second beats would fall among the late links' first ones: twice the mean rate at the end of the interval.
 * Both phases and gaps come from golden-ratio sequences, whose runs of any length are evenly spread, where chance
 * would leave peaks of 2.5 times the mean per tick at 10 000 links and 15 s. Measured: at most 1.7, in every interval.
 *
 * A few links only: their gaps are left to chance, because the sum of evenly spread gaps hardly wanders, and many
 * small processes that start in step shall come apart.
 * Source: the inspection paradox of renewal theory; Roberts, "The unreasonable effectiveness of quasirandom sequences".
 */
import type { Random } from '../base/random.ts';

/** The golden ratio's fraction: its multiples mod 1 stay evenly spread, however many there are. */
export const GOLDEN_FRACTION = (Math.sqrt(5) - 1) / 2;
/** Below this many links gaps are left to chance. */
const FEW_LINKS = 64;

export class Spread implements Random {
  readonly #random: Random;
  #phase: number;
  #gap: number;
  /** Links that share this spread now. */
  links = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#phase = random.next();
    this.#gap = random.next();
  }

  /** Where in its interval the next link's first beat falls, [0, 1). */
  nextPhase(): number {
    this.#phase = (this.#phase + GOLDEN_FRACTION) % 1;
    return equilibrium(this.#phase);
  }

  /** Uniform over [0, 1): for the next gap between two beats. */
  next(): number {
    if (this.links < FEW_LINKS) return this.#random.next();
    this.#gap = (this.#gap + GOLDEN_FRACTION) % 1;
    return this.#gap;
  }

  u32(): number {
    return this.#random.u32();
  }
}

/** The time of the next beat when gaps are U(0.75, 1), of which a share `u` comes earlier: the inverse of its law. */
function equilibrium(u: number): number {
  return u <= 6 / 7 ? 0.875 * u : 1 - Math.sqrt(0.4375 * (1 - u));
}
