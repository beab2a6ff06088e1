/**
 * The wheel's naive twin: one list, sorted before each use, ticks found by bisection. It shares no code with the
 * wheel, and says in the plainest way what the wheel must do.
 */

interface Entry {
  id: number;
  deadlineMs: number;
  tick: number;
  /** Armed for a time already reached: waits for the start of the next advance. */
  ready: boolean;
  /** Tick and rank it fires by. */
  dueTick: number;
  rank: number;
}

export interface TwinOptions {
  tickMs: number;
  startMs: number;
  maxTimers: number;
  onExpire(id: number, deadlineMs: number): void;
}

export class SortedListTwin {
  readonly #options: TwinOptions;
  #entries: Entry[] = [];
  #nextRank = 0;
  #currentTick = 0;
  #reachedTick = 0;
  #runningId = -1;

  constructor(options: TwinOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.length;
  }

  arm(deadlineMs: number, id: number): void {
    if (this.size >= this.#options.maxTimers) throw new Error('limit');
    const tick = this.#firstTick(deadlineMs);
    const ready = tick <= this.#reachedTick;
    this.#entries.push({ id, deadlineMs, tick, ready, dueTick: tick, rank: this.#nextRank++ });
  }

  rearm(id: number, deadlineMs: number): boolean {
    const entry = this.#entries.find((candidate) => candidate.id === id);
    if (entry === undefined && id !== this.#runningId) return false;
    if (entry !== undefined) this.#remove(entry);
    this.arm(deadlineMs, id);
    return true;
  }

  cancel(id: number): boolean {
    const entry = this.#entries.find((candidate) => candidate.id === id);
    if (entry === undefined) return false;
    this.#remove(entry);
    if (id === this.#runningId) this.#runningId = -1;
    return true;
  }

  advance(nowMs: number, limit: number): number {
    const { startMs, tickMs } = this.#options;
    const reached = bisect((tick) => startMs + tick * tickMs > nowMs) - 1;
    this.#reachedTick = Math.max(this.#reachedTick, reached);
    const released = this.#entries.filter((entry) => entry.ready);
    released.sort((a, b) => compare(a.deadlineMs, b.deadlineMs) || a.rank - b.rank);
    for (const entry of released) {
      entry.ready = false;
      entry.dueTick = Math.max(entry.tick, this.#currentTick);
      entry.rank = this.#nextRank++;
    }
    let fired = 0;
    for (; fired < limit; fired++) {
      const waiting = this.#entries.filter((entry) => !entry.ready && entry.dueTick <= this.#reachedTick);
      waiting.sort((a, b) => a.dueTick - b.dueTick || a.rank - b.rank);
      const first = waiting[0];
      if (first === undefined) {
        this.#currentTick = this.#reachedTick;
        break;
      }
      this.#currentTick = Math.max(this.#currentTick, first.dueTick);
      this.#remove(first);
      this.#runningId = first.id;
      this.#options.onExpire(first.id, first.deadlineMs);
      this.#runningId = -1;
    }
    return fired;
  }

  /** Infinity when none; undefined when something waits that is due already. */
  nextDueMs(): number | undefined {
    if (this.#entries.some((entry) => entry.ready || entry.dueTick <= this.#reachedTick)) return undefined;
    const tick = Math.min(...this.#entries.map((entry) => entry.tick));
    return this.#options.startMs + tick * this.#options.tickMs;
  }

  #remove(entry: Entry): void {
    this.#entries = this.#entries.filter((candidate) => candidate !== entry);
  }

  #firstTick(deadlineMs: number): number {
    const { startMs, tickMs } = this.#options;
    const tick = bisect((candidate) => startMs + candidate * tickMs >= deadlineMs);
    return tick > 2 ** 53 ? Number.POSITIVE_INFINITY : tick;
  }
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The first integer in 0..2^53 for which a monotone `holds` is true; 2^53 + 2 when there is none. */
function bisect(holds: (tick: number) => boolean): number {
  if (!holds(2 ** 53)) return 2 ** 53 + 2;
  let low = 0;
  let high = 2 ** 53;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
