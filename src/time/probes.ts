/**
 * Periodic asynchronous jobs on the one wheel: each with its own period, time limit and phase, never overlapping with
 * itself, stopped cleanly by an AbortSignal. A run that outlasts its limit is told to stop through its signal and
 * counted as failed at once; the next run waits until it has really ended.
 */
import { functionOf, integerIn, knownKeys, numberIn } from '../base/assert.ts';
import { typeError, WirebeatError } from '../base/errors.ts';
import type { Scheduler } from './scheduler.ts';

/** What the wheel of a hub wakes. */
export interface WheelEntry {
  wake(polled: boolean): void;
}

export interface ProbeOptions {
  /** Named in results and errors. */
  name: string;
  /** From start to start, ms, 10..2^31. A run longer than this lets a turn go by. */
  periodMs: number;
  /** A run may take this long, ms, 1..2^31; default the period. */
  limitMs?: number;
  /** The first run starts this long after now, ms; default one period. */
  phaseMs?: number;
  /** Ends the probe, and the run under way. */
  signal?: AbortSignal;
  /** Does the work. Throws, rejects or resolves `false` = failed. */
  run(signal: AbortSignal): unknown;
  /** Called after each run, or when it reaches its limit. What it throws goes uncaught; the probe goes on. */
  onResult?(result: ProbeResult): void;
}

export interface ProbeResult {
  readonly name: string;
  readonly ok: boolean;
  readonly startedMs: number;
  readonly durationMs: number;
  /** Failures in a row, this one included; 0 after a success. */
  readonly failures: number;
  readonly error?: unknown;
}

const LONGEST_MS = 2 ** 31;

export class Probe implements WheelEntry {
  readonly name: string;
  /** Result of the newest finished run. */
  last: ProbeResult | undefined;
  /** Turns let go by because the run before had not ended. */
  skipped = 0;
  readonly #options: ProbeOptions;
  readonly #scheduler: Scheduler<WheelEntry>;
  readonly #limitMs: number;
  readonly #timer: number;
  #dueMs: number;
  #limitAtMs = Infinity;
  #running: AbortController | undefined;
  #finish: ((error: unknown) => void) | undefined;
  #isStopped = false;

  /** TypeError or RangeError names the option that is wrong. */
  constructor(scheduler: Scheduler<WheelEntry>, options: ProbeOptions) {
    knownKeys('options', options, ['name', 'periodMs', 'limitMs', 'phaseMs', 'signal', 'run', 'onResult']);
    if (typeof options.name !== 'string' || options.name === '')
      throw typeError('name', 'a word', options.name);
    functionOf('run', options.run);
    integerIn('periodMs', options.periodMs, 10, LONGEST_MS);
    this.#limitMs = integerIn('limitMs', options.limitMs ?? options.periodMs, 1, LONGEST_MS);
    const phaseMs = numberIn('phaseMs', options.phaseMs ?? options.periodMs, 0, LONGEST_MS);
    this.name = options.name;
    this.#options = options;
    this.#scheduler = scheduler;
    this.#dueMs = scheduler.now() + phaseMs;
    this.#timer = scheduler.arm(options.signal?.aborted ? Infinity : this.#dueMs, this);
    if (options.signal?.aborted) this.stop();
    else options.signal?.addEventListener('abort', this.stop, { once: true });
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  wake(): void {
    if (this.#isStopped) return;
    const nowMs = this.#scheduler.now();
    try {
      if (nowMs >= this.#limitAtMs) this.#overdue();
    } finally {
      if (nowMs >= this.#dueMs && !this.#isStopped) this.#turn(nowMs);
      if (!this.#isStopped) this.#scheduler.rearm(this.#timer, Math.min(this.#dueMs, this.#limitAtMs));
    }
  }

  #overdue(): void {
    this.#limitAtMs = Infinity;
    this.#finish?.(
      new WirebeatError('HB_ERR_PROBE_LIMIT', `${this.name} took longer than ${this.#limitMs} ms`),
    );
  }

  #turn(nowMs: number): void {
    if (this.#running === undefined) this.#start(nowMs);
    else this.skipped++;
    const { periodMs } = this.#options;
    // A late process catches up with one run, not with all it missed.
    this.#dueMs += periodMs * (1 + Math.floor((nowMs - this.#dueMs) / periodMs));
  }

  /** No further run; the one under way is told through its signal and its result dropped. Idempotent. */
  readonly stop = (): void => {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#scheduler.cancel(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.stop);
    this.#finish = undefined;
    this.#running?.abort();
  };

  #start(startedMs: number): void {
    const controller = new AbortController();
    this.#running = controller;
    this.#limitAtMs = startedMs + this.#limitMs;
    let isSettled = false;
    const settle = (error?: unknown): void => {
      if (isSettled || this.#isStopped) return;
      isSettled = true;
      this.#settle(startedMs, error);
    };
    this.#finish = (error) => {
      controller.abort(error);
      settle(error);
    };
    const ended = (error?: unknown): void => {
      this.#running = undefined;
      this.#limitAtMs = Infinity;
      settle(error);
    };
    new Promise((resolve) => resolve(this.#options.run(controller.signal))).then(
      (value) =>
        ended(value === false ? new WirebeatError('HB_ERR_PROBE_FAILED', `${this.name} said no`) : undefined),
      (error: unknown) => ended(error ?? new WirebeatError('HB_ERR_PROBE_FAILED', `${this.name} failed`)),
    );
  }

  #settle(startedMs: number, error: unknown): void {
    const ok = error === undefined;
    const failures = ok ? 0 : (this.last?.failures ?? 0) + 1;
    const durationMs = this.#scheduler.now() - startedMs;
    this.last = { name: this.name, ok, startedMs, durationMs, failures, ...(ok ? {} : { error }) };
    this.#options.onResult?.(this.last);
  }
}
