/**
 * The last 32 things that happened on one link, kept in fixed memory (about 600 bytes) and read only when something
 * went wrong. Opt-in.
 */
const ENTRIES = 32;

/** What is recorded, by number in the ring and by name when read. */
export const RECORDED = [
  'frame-in',
  'frame-out',
  'held',
  'host-in',
  'host-out',
  'wake-late',
  'paused',
  'resumed',
  'stall',
] as const;
export type Recorded = (typeof RECORDED)[number];

export interface FlightEvent {
  /** On the clock of the hub, ms. */
  readonly atMs: number;
  readonly what: Recorded;
  /** Frames: the flags. wake-late and stall: how long, ms. Else 0. */
  readonly value: number;
}

export class FlightRecorder {
  readonly #atMs = new Float64Array(ENTRIES);
  readonly #what = new Uint8Array(ENTRIES);
  readonly #value = new Float64Array(ENTRIES);
  #count = 0;

  record(what: Recorded, value: number, nowMs: number): void {
    const place = this.#count % ENTRIES;
    this.#atMs[place] = nowMs;
    this.#what[place] = RECORDED.indexOf(what);
    this.#value[place] = value;
    this.#count++;
  }

  /** Oldest first, at most 32. */
  read(): FlightEvent[] {
    const kept = Math.min(this.#count, ENTRIES);
    return Array.from({ length: kept }, (_, index) => {
      const place = (this.#count - kept + index) % ENTRIES;
      return {
        atMs: this.#atMs[place] as number,
        what: RECORDED[this.#what[place] as number] as Recorded,
        value: this.#value[place] as number,
      };
    });
  }
}
