/**
 * What happened to the links of a load run, counted as it happens. Memory does not grow with time.
 *
 * False verdict: a link was declared dead although the service answered another link within the last interval. When
 * it answers nobody the verdicts are true, and counted as deaths.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { ClosedDetail } from '../../net/events.ts';

type Counts = Record<string, number>;

function count(counts: Counts, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

export class Tally {
  /** Links that answered at least once. */
  connected = 0;
  /** Answers to pings, of all links. */
  answers = 0;
  /** Connections that did not become links, by code. */
  readonly failed: Counts = {};
  /** Links that ended before their time, by code or cause. */
  readonly lost: Counts = {};
  /** Verdicts while the service answered others, and while it answered nobody. */
  falseVerdicts = 0;
  trueVerdicts = 0;
  /** Links that were told to go, and those of them that came back. */
  told = 0;
  returned = 0;
  readonly #intervalMs: number;
  readonly #trips: RecordableHistogram = createHistogram();
  readonly #connects: RecordableHistogram = createHistogram();
  readonly #waits: RecordableHistogram = createHistogram();
  #lastAnswerMs = -Infinity;
  #isMeasuring = true;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** From the start of the connection to its first sign of life. */
  linked(tookMs: number): void {
    this.connected++;
    record(this.#connects, tookMs);
  }

  /** Round trips are measured from here on: before, they tell of the rush to connect. */
  warmedUp(): void {
    this.#trips.reset();
  }

  /** Round trips from here on tell of the counting and the leaving. */
  measured(): void {
    this.#isMeasuring = false;
  }

  /** A link that was told to go stays away for so long. */
  waits(ms: number): void {
    record(this.#waits, ms);
  }

  notLinked(code: string): void {
    count(this.failed, code);
  }

  answered(rttMs: number, nowMs: number): void {
    this.answers++;
    this.#lastAnswerMs = nowMs;
    if (this.#isMeasuring && !Number.isNaN(rttMs)) record(this.#trips, rttMs);
  }

  judgedDead(nowMs: number): void {
    if (nowMs - this.#lastAnswerMs <= this.#intervalMs) this.falseVerdicts++;
    else this.trueVerdicts++;
  }

  ended({ cause, code }: ClosedDetail): void {
    count(this.lost, code ?? cause);
  }

  get failures(): number {
    return sum(this.failed);
  }

  get losses(): number {
    return sum(this.lost);
  }

  get rtt(): Percentiles {
    return percentilesOf(this.#trips);
  }

  get connectTime(): Percentiles {
    return percentilesOf(this.#connects);
  }

  get waited(): Percentiles {
    return percentilesOf(this.#waits);
  }
}

export interface Percentiles {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/** Histograms hold whole microseconds from 1 on. */
function record(histogram: RecordableHistogram, ms: number): void {
  histogram.record(Math.max(1, Math.round(ms * 1_000)));
}

/** NaN everywhere when nothing was recorded. */
function percentilesOf(histogram: RecordableHistogram): Percentiles {
  const at = (percent: number): number =>
    histogram.count === 0 ? Number.NaN : histogram.percentile(percent) / 1_000;
  const maxMs = histogram.count === 0 ? Number.NaN : histogram.max / 1_000;
  return { p50Ms: at(50), p90Ms: at(90), p99Ms: at(99), p999Ms: at(99.9), maxMs };
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, one) => total + one, 0);
}
