/**
 * The kernel's patience on a link: with unacknowledged data it waits for our verdict, and one interval longer (HB1,
 * closing), so that it is the safety net and not the judge. A shorter time of the caller's own makes it the judge.
 */
import type { Socket } from 'node:net';
import { socketFd } from '../handle.ts';
import { emulation } from './emulation.ts';
import { currentKernel, type Kernel } from './kernel.ts';
import { MAX_USER_TIMEOUT_MS } from './options.ts';

/**
 * Set TCP_USER_TIMEOUT, or watch the queue in this process where the kernel is out of reach. One native call. false:
 * the kernel's own rule, and no watching. More than the kernel's number can hold is cut there: wrapped around, it would
 * be a few milliseconds, or negative.
 */
export function setUserTimeout(
  socket: Socket,
  askedMs: number | false,
  kernel: Kernel | undefined,
): 'kernel' | 'emulated' {
  const timeoutMs = askedMs === false ? false : Math.min(askedMs, MAX_USER_TIMEOUT_MS);
  const fd = socketFd(socket);
  if (kernel !== undefined && fd !== undefined) {
    const { tcpLevel, userTimeout, userTimeoutUnitMs } = kernel.platform.numbers;
    const value = Math.ceil(Number(timeoutMs) / userTimeoutUnitMs);
    if (kernel.sockets.setInt(fd, tcpLevel, userTimeout, value) === 0) return 'kernel';
  }
  emulation.set(socket, timeoutMs);
  return 'emulated';
}

/** What one link asked for; made only where something was. */
export class KernelPatience {
  readonly #socket: Socket;
  readonly #asked: 'follow' | number;

  constructor(socket: Socket, asked: 'follow' | number) {
    this.#socket = socket;
    this.#asked = asked;
  }

  /** The connection stands, or the verdict comes at another time from now on. */
  set(followMs: number): void {
    setUserTimeout(this.#socket, this.#asked === 'follow' ? followMs : this.#asked, currentKernel());
  }

  /** The socket goes back to its host. */
  release(): void {
    setUserTimeout(this.#socket, false, currentKernel());
  }
}
