/** How late this process's event loop was at most: a timer that asks to be woken often and looks at the clock. */
const PERIOD_MS = 10;

export class LagMeter {
  maxMs = 0;
  readonly #timer: NodeJS.Timeout;
  #expectedMs = performance.now() + PERIOD_MS;

  constructor() {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.maxMs = Math.max(this.maxMs, nowMs - this.#expectedMs);
      this.#expectedMs = nowMs + PERIOD_MS;
    }, PERIOD_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
