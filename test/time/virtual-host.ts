/**
 * A virtual event loop for the scheduler's tests: timers, then one poll of the sockets, then immediates, like
 * Node's. Time passes only where a test says so.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { HostTimer, TimerHost } from '../../src/time/index.ts';

interface Pending extends HostTimer {
  callback: () => void;
  atMs: number;
  referenced: boolean;
}

export class VirtualHost implements TimerHost, Clock {
  nowMs = 1000;
  timeouts: Pending[] = [];
  immediates: Pending[] = [];
  /** Every delay `setTimeout` was asked for. */
  readonly delaysMs: number[] = [];
  /** Bytes waiting in sockets: run in the poll phase. */
  readonly sockets: (() => void)[] = [];

  now(): number {
    return this.nowMs;
  }

  setTimeout(callback: () => void, delayMs: number): HostTimer {
    this.delaysMs.push(delayMs);
    // As Node does it: fractions are cut off, what is out of range becomes 1.
    const wholeMs = delayMs >= 1 && delayMs <= 2 ** 31 - 1 ? Math.trunc(delayMs) : 1;
    return add(this.timeouts, callback, this.nowMs + wholeMs);
  }

  clearTimeout(timer: HostTimer): void {
    this.timeouts = this.timeouts.filter((pending) => pending !== timer);
  }

  setImmediate(callback: () => void): HostTimer {
    return add(this.immediates, callback, this.nowMs);
  }

  clearImmediate(timer: HostTimer): void {
    this.immediates = this.immediates.filter((pending) => pending !== timer);
  }

  /** Whether something keeps the process alive. */
  get alive(): boolean {
    return [...this.timeouts, ...this.immediates].some((pending) => pending.referenced);
  }

  /** One turn of the loop at the present time. */
  turn(): void {
    for (const timer of this.timeouts.filter(({ atMs }) => atMs <= this.nowMs)) {
      this.clearTimeout(timer);
      timer.callback();
    }
    for (const read of this.sockets.splice(0)) read();
    for (const immediate of this.immediates.slice()) {
      if (!this.immediates.includes(immediate)) continue;
      this.clearImmediate(immediate);
      immediate.callback();
    }
  }

  /** Let time pass, turning whenever something is due, until `untilMs`. How many turns that took. */
  runUntil(untilMs: number): number {
    for (let turns = 0; ; turns++) {
      const nextMs = Math.min(...this.timeouts.map(({ atMs }) => atMs));
      if (this.immediates.length === 0 && nextMs > untilMs) {
        this.nowMs = untilMs;
        return turns;
      }
      if (this.immediates.length === 0) this.nowMs = Math.max(this.nowMs, nextMs);
      this.turn();
    }
  }
}

function add(list: Pending[], callback: () => void, atMs: number): Pending {
  const pending: Pending = {
    callback,
    atMs,
    referenced: true,
    ref: () => (pending.referenced = true),
    unref: () => (pending.referenced = false),
  };
  list.push(pending);
  return pending;
}
