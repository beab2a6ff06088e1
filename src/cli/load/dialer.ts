/**
 * Opens many connections at a bounded pace: at most so many a second, at most so many under way, so that neither
 * this process nor the other's queue of connections to accept is flooded. One timer; never throws.
 */
const SLICE_MS = 10;

export interface DialerOptions {
  readonly count: number;
  readonly perSecond: number;
  readonly inFlight: number;
  /** Open number `index`; resolves either way when it is settled. */
  dial(index: number): Promise<void>;
}

export class Dialer {
  readonly #options: DialerOptions;
  readonly #startMs = performance.now();
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

  get settled(): number {
    return this.#settled;
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
    // The pace counts from the start: what the bound on those under way held back is made up for.
    const elapsedMs = performance.now() - this.#startMs + SLICE_MS;
    const allowed = Math.min(count, Math.ceil((elapsedMs * perSecond) / 1_000));
    while (this.#started < allowed && this.underWay < inFlight) {
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
