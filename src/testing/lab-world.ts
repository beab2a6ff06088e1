/**
 * The lab: one time line for several processes and the network between them, without a socket, a real timer or any
 * chance but what a seed gives. The same seed and the same calls give the same history.
 *
 * Order within one instant, the least convenient one that really happens: first what the network does (bytes reach
 * kernels), then each process in the order it was made, one turn of its loop: timers, poll, immediates.
 * Cost: planned happenings are kept sorted in an array; hundreds at a time are fine.
 */
import { numberIn } from '../base/assert.ts';
import { type Random, seededRandom } from '../base/random.ts';

/** What the world needs of a process: when it wants to run, and to be run. Times are the world's. */
export interface LabActor {
  readonly wakeAtMs: number;
  turn(nowMs: number): void;
}

interface Planned {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** Times are multiples of this many ms, a power of two: sums and differences of them are then exact. */
const GRAIN_MS = 1 / 1024;
/** More turns than this within one instant: something answers itself for ever. */
const MAX_TURNS_PER_INSTANT = 10_000;

export class LabWorld {
  nowMs = 0;
  readonly random: Random;
  readonly #actors: LabActor[] = [];
  /** Sorted by time, then by order of planning; the earliest stands last, where taking it is cheap. */
  readonly #plan: Planned[] = [];
  #order = 0;

  /** `seed`: any number; all chance in this world comes from it. */
  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** A process joins; called by its constructor. */
  join(actor: LabActor): void {
    this.#actors.push(actor);
  }

  /** Happenings planned and not yet run. */
  get planned(): number {
    return this.#plan.length;
  }

  /** The nearest duration not shorter than `ms` that this world can tell. */
  exact(ms: number): number {
    return Math.ceil(ms / GRAIN_MS) * GRAIN_MS;
  }

  /** Do something at `atMs` (now, when past), before the processes run at that instant. */
  at(atMs: number, run: () => void): void {
    const entry = { atMs: this.exact(Math.max(atMs, this.nowMs)), order: this.#order++, run };
    let low = 0;
    let high = this.#plan.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      // Equal times keep their order: the later planned one stands nearer to the front of the array.
      if (this.#plan[middle]!.atMs > entry.atMs) low = middle + 1;
      else high = middle;
    }
    this.#plan.splice(low, 0, entry);
  }

  /** Let `ms` pass. */
  run(ms: number): void {
    this.runUntil(this.nowMs + this.exact(numberIn('ms', ms, 0, Number.MAX_SAFE_INTEGER)));
  }

  /** Let time pass until `untilMs`, everything due at that instant included. */
  runUntil(untilMs: number): void {
    let turns = 0;
    for (;;) {
      let nextMs = this.#plan.at(-1)?.atMs ?? Number.POSITIVE_INFINITY;
      for (const actor of this.#actors) nextMs = Math.min(nextMs, actor.wakeAtMs);
      if (nextMs > untilMs) break;
      if (nextMs > this.nowMs) turns = 0;
      else if (++turns > MAX_TURNS_PER_INSTANT) throw new Error(`time stands still at ${this.nowMs} ms`);
      this.nowMs = Math.max(this.nowMs, nextMs);
      this.#step();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  #step(): void {
    while (this.#plan.length > 0 && this.#plan.at(-1)!.atMs <= this.nowMs) this.#plan.pop()!.run();
    for (const actor of this.#actors) {
      if (actor.wakeAtMs <= this.nowMs) actor.turn(this.nowMs);
    }
  }
}
