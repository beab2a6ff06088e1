/**
 * Opens many connections at a bounded pace: at most so many a second, at most so many under way, so that neither
 * this process nor the other's queue of connections to accept is flooded. One timer; never throws.
 */
const SLICE_MS = 10;
/** What a late timer missed is made up for, but no more: the pace is a bound, not an average. */
const CATCH_UP_MS = 50;

export interface DialerOptions {
  readonly count: number;
  readonly perSecond: number;
  readonly inFlight: number;
  /** Open number `index`; resolves either way when it is settled. */
  dial(index: number): Promise<void>;
}

export class Dialer {
  readonly #options: DialerOptions;
  /** When the next connection may be opened. */
  #nextMs = performance.now();
  #started = 0;
  #settled = 0;
  #timer: NodeJS.Timeout | undefined;
  #resolve: () => void = () => {};
  /** Resolves when all are settled, or those under way after `stop`. */
  readonly done: Promise<void>;

  constructor(options: DialerOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#timer = setInterval(() => this.#pump(), SLICE_MS);
    this.#pump();
  }

  get underWay(): number {
    return this.#started - this.#settled;
  }

  /** Open no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.underWay === 0) this.#resolve();
  }

  #pump(): void {
    const { count, perSecond, inFlight, dial } = this.#options;
    const nowMs = performance.now();
    this.#nextMs = Math.max(this.#nextMs, nowMs - CATCH_UP_MS);
    while (this.#started < count && this.underWay < inFlight && this.#nextMs <= nowMs) {
      this.#nextMs += 1_000 / perSecond;
      void dial(this.#started++).then(() => this.#onSettled());
    }
    if (this.#started === count) this.stop();
  }

  #onSettled(): void {
    this.#settled++;
    if (this.#timer !== undefined) this.#pump();
    else if (this.underWay === 0) this.#resolve();
  }
}
