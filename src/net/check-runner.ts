/**
 * Runs the application's own checks for the links that are asked PROBE. Ten thousand links must not attack the
 * application's database: per check one run is under way at a time, and its result serves everybody who asks within
 * the next second. A run that outlasts its limit is told so through its signal and counts as failed, and the next
 * starts only when it has really ended.
 */

import type { WheelEntry } from '../time/probes.ts';
import type { Scheduler } from '../time/scheduler.ts';

/** Is the application well? False, a rejection or an exception: no. */
export type Check = (signal: AbortSignal) => boolean | Promise<boolean>;
export type CheckAnswer = (passed: boolean) => void;

/** How long a result is good for, ms. */
const REUSE_MS = 1_000;

class CheckRun implements WheelEntry {
  readonly #scheduler: Scheduler<WheelEntry>;
  readonly #check: Check;
  readonly #limitMs: number;
  #waiting: CheckAnswer[] = [];
  #running: AbortController | undefined;
  #passed = false;
  #answeredMs = -Infinity;
  #timer = 0;

  constructor(scheduler: Scheduler<WheelEntry>, check: Check, limitMs: number) {
    this.#scheduler = scheduler;
    this.#check = check;
    this.#limitMs = limitMs;
  }

  ask(answer: CheckAnswer): void {
    const isFresh = this.#scheduler.now() - this.#answeredMs <= REUSE_MS;
    if (isFresh || (this.#running !== undefined && this.#timer === 0)) {
      answer(isFresh && this.#passed); // a run beyond its limit is still under way: not well
      return;
    }
    this.#waiting.push(answer);
    if (this.#running === undefined) this.#start();
  }

  /** The limit has come. */
  wake(): void {
    this.#settle(false);
    this.#running?.abort();
  }

  #start(): void {
    const controller = new AbortController();
    this.#running = controller;
    this.#timer = this.#scheduler.arm(this.#scheduler.now() + this.#limitMs, this);
    const end = (passed: boolean): void => {
      this.#running = undefined;
      if (this.#timer !== 0) this.#settle(passed);
    };
    new Promise<boolean>((resolve) => resolve(this.#check(controller.signal))).then(
      (passed) => end(passed === true),
      () => end(false),
    );
  }

  #settle(passed: boolean): void {
    this.#scheduler.cancel(this.#timer);
    this.#timer = 0;
    this.#passed = passed;
    this.#answeredMs = this.#scheduler.now();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const answer of waiting) answer(passed);
  }
}

export class CheckRunner {
  readonly #scheduler: Scheduler<WheelEntry>;
  readonly #runs = new WeakMap<Check, CheckRun>();

  constructor(scheduler: Scheduler<WheelEntry>) {
    this.#scheduler = scheduler;
  }

  /** Ask `check`; the answer comes at once or later, exactly once. `limitMs` counts at the check's first use. */
  ask(check: Check, limitMs: number, answer: CheckAnswer): void {
    let run = this.#runs.get(check);
    if (run === undefined) {
      run = new CheckRun(this.#scheduler, check, limitMs);
      this.#runs.set(check, run);
    }
    run.ask(answer);
  }
}
