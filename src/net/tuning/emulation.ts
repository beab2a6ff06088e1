/**
 * A user time-out in user space, for where the kernel's is out of reach: a socket whose queue does not move for that
 * long is destroyed with ETIMEDOUT. One timer looks at all of them, every eighth of the shortest limit (50 ms to 1 s);
 * a verdict is late by two looks at most. It does not keep the process alive.
 *
 * Caveat: only the queue in this process is seen. What the kernel has taken (up to its send buffer, often megabytes)
 * may lie there unacknowledged for as long as the kernel likes. Our own stalls never count: two periods per look.
 */
import type { Socket } from 'node:net';
import { kernelTakenBytes, untakenBytes } from '../handle.ts';

interface Watched {
  readonly limitMs: number;
  takenBytes: number;
  stuckMs: number;
}

/** As much of Node's timers as is used; tests bring their own. */
export interface EmulationTimers {
  setTimeout(callback: () => void, delayMs: number): { unref(): unknown };
  now(): number;
}

const LOOKS_PER_LIMIT = 8;
const MIN_PERIOD_MS = 50;
const MAX_PERIOD_MS = 1_000;

export class UserTimeouts {
  readonly #timers: EmulationTimers;
  readonly #watched = new Map<Socket, Watched>();
  #isRunning = false;
  #lastMs = 0;

  constructor(timers: EmulationTimers = { setTimeout, now: () => performance.now() }) {
    this.#timers = timers;
  }

  /** Watch a socket from now on, or with another limit; false: no more. */
  set(socket: Socket, limitMs: number | false): void {
    if (limitMs === false) this.#watched.delete(socket);
    else this.#watched.set(socket, { limitMs, takenBytes: kernelTakenBytes(socket), stuckMs: 0 });
    if (!this.#isRunning) this.#run();
  }

  /** The limit this socket is watched with; false: it is not. */
  limitMs(socket: Socket): number | false {
    return this.#watched.get(socket)?.limitMs ?? false;
  }

  /** Sockets that are watched. */
  get size(): number {
    return this.#watched.size;
  }

  #run(): void {
    this.#isRunning = this.#watched.size > 0;
    if (!this.#isRunning) return;
    this.#lastMs = this.#timers.now();
    const periodMs = this.#periodMs();
    this.#timers.setTimeout(() => this.#look(periodMs), periodMs).unref();
  }

  #periodMs(): number {
    let shortestMs = Infinity;
    for (const { limitMs } of this.#watched.values()) shortestMs = Math.min(shortestMs, limitMs);
    return Math.min(MAX_PERIOD_MS, Math.max(MIN_PERIOD_MS, shortestMs / LOOKS_PER_LIMIT));
  }

  #look(periodMs: number): void {
    const passedMs = Math.min(this.#timers.now() - this.#lastMs, 2 * periodMs);
    for (const [socket, watched] of this.#watched) {
      if (socket.destroyed) {
        this.#watched.delete(socket);
        continue;
      }
      const takenBytes = kernelTakenBytes(socket);
      if (untakenBytes(socket) === 0 || takenBytes !== watched.takenBytes) {
        watched.takenBytes = takenBytes;
        watched.stuckMs = 0;
        continue;
      }
      watched.stuckMs += passedMs;
      if (watched.stuckMs < watched.limitMs) continue;
      this.#watched.delete(socket);
      socket.destroy(timedOut(watched.limitMs));
    }
    this.#run();
  }
}

/** As the kernel's own: who handles one handles both. */
function timedOut(limitMs: number): NodeJS.ErrnoException {
  const error = new Error(
    `write ETIMEDOUT: no queued byte was taken for ${limitMs} ms (user time-out, emulated)`,
  );
  return Object.assign(error, { code: 'ETIMEDOUT', syscall: 'write' });
}

/** The process's own. */
export const emulation = new UserTimeouts();
