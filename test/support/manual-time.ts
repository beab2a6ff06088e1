/**
 * Virtual time for links on real sockets: a hub's clock and timers move only when a test says so, while bytes travel
 * over loopback in real time. Between two timers the event loop gets some turns, so that what was written is read
 * before time goes on: verdicts can then be checked to the millisecond.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { HostTimer, TimerHost } from '../../src/time/scheduler.ts';

/** Turns of the event loop that carry bytes written on loopback to the other side, and the answer back. */
const SETTLE_TURNS = 8;
const IGNORED: Pick<HostTimer, 'ref' | 'unref'> = { ref: () => {}, unref: () => {} };

interface Sleeper extends HostTimer {
  readonly atMs: number;
  readonly callback: () => void;
}

export class ManualTime implements Clock, TimerHost {
  nowMs = 1_000;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.nowMs;
  }

  setTimeout(callback: () => void, delayMs: number): HostTimer {
    const sleeper: Sleeper = { ...IGNORED, atMs: this.nowMs + delayMs, callback };
    this.#sleepers.add(sleeper);
    return sleeper;
  }

  clearTimeout(timer: HostTimer): void {
    this.#sleepers.delete(timer as Sleeper);
  }

  setImmediate(callback: () => void): HostTimer {
    return setImmediate(callback);
  }

  clearImmediate(timer: HostTimer): void {
    clearImmediate(timer as NodeJS.Immediate);
  }

  /** The loop is blocked for `ms`; then, as Node does it, timers run before any socket is read. */
  block(ms: number): void {
    this.nowMs += ms;
    for (const sleeper of [...this.#sleepers]) {
      if (sleeper.atMs > this.nowMs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.callback();
    }
  }

  /** Let `ms` pass, timer by timer. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await settle();
    for (;;) {
      const next = [...this.#sleepers].sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#sleepers.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.callback();
      await settle();
    }
    this.nowMs = untilMs;
  }

  /** Let time pass in steps of `stepMs` until `happened`; false when it did not within `limitMs`. */
  async passUntil(happened: () => boolean, limitMs: number, stepMs = 1): Promise<boolean> {
    for (let passedMs = 0; passedMs < limitMs && !happened(); passedMs += stepMs) await this.pass(stepMs);
    return happened();
  }
}

/** Let the event loop read and write what is ready. */
export async function settle(turns = SETTLE_TURNS): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
