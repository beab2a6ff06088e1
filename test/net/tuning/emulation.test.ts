/** The user time-out this process keeps itself: under fake time, against sockets made of numbers, and once for real. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { emulation, UserTimeouts } from '../../../src/net/tuning/emulation.ts';
import { tuneServerWith } from '../../../src/net/tuning/tune-server.ts';
import { tuneSocketWith } from '../../../src/net/tuning/tune-socket.ts';
import { closeAll, listening, newSocket, socketPair } from '../../support/sockets.ts';

afterEach(closeAll);

/** A clock that is moved by hand, and the one timer on it. */
class HandTimers {
  nowMs = 0;
  #due: { callback: () => void; atMs: number } | undefined;

  now(): number {
    return this.nowMs;
  }

  setTimeout(callback: () => void, delayMs: number): { unref(): void } {
    this.#due = { callback, atMs: this.nowMs + delayMs };
    return { unref: () => {} };
  }

  get dueInMs(): number | undefined {
    return this.#due === undefined ? undefined : this.#due.atMs - this.nowMs;
  }

  /** On time, timer by timer, until `ms` are over. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.#due !== undefined && this.#due.atMs <= untilMs) this.#fire(this.#due.atMs);
    this.nowMs = untilMs;
  }

  /** The loop stood still for `ms`; then whatever is due, once. */
  stall(ms: number): void {
    this.#fire(this.nowMs + ms);
  }

  #fire(atMs: number): void {
    const due = this.#due;
    this.#due = undefined;
    this.nowMs = atMs;
    due?.callback();
  }
}

/** A socket whose queue is two numbers. */
function numbers() {
  const handle = { bytesWritten: 0, writeQueueSize: 0 };
  const socket = {
    _handle: handle,
    destroyed: false,
    error: undefined as NodeJS.ErrnoException | undefined,
    destroy(error: NodeJS.ErrnoException) {
      socket.destroyed = true;
      socket.error = error;
    },
  };
  return {
    socket: socket as unknown as Socket & { error: NodeJS.ErrnoException | undefined },
    write(bytes: number) {
      handle.bytesWritten += bytes;
      handle.writeQueueSize += bytes;
    },
    take(bytes: number) {
      handle.writeQueueSize -= bytes;
    },
  };
}

function watched(limitMs: number) {
  const timers = new HandTimers();
  const timeouts = new UserTimeouts(timers);
  const peer = numbers();
  timeouts.set(peer.socket, limitMs);
  return { timers, timeouts, ...peer };
}

describe('a queue that does not move', () => {
  test('for the limit: the socket is destroyed with ETIMEDOUT, two looks late at most, and watched no more', () => {
    const { timers, timeouts, socket, write } = watched(800);
    write(10);
    timers.pass(799);
    expect(socket.destroyed).toBe(false);
    timers.pass(201);
    expect(socket.error).toMatchObject({ code: 'ETIMEDOUT', syscall: 'write' });
    expect(socket.error?.message).toMatch(/800 ms \(user time-out, emulated\)/);
    expect(timeouts.size).toBe(0);
    expect(timers.dueInMs).toBeUndefined();
  });

  test('moves by one byte before the limit: it lives, and counts anew', () => {
    const { timers, socket, write, take } = watched(800);
    write(10);
    for (let byte = 0; byte < 8; byte++) {
      timers.pass(700);
      take(1);
    }
    expect(socket.destroyed).toBe(false);
    timers.pass(1_000);
    expect(socket.destroyed).toBe(true);
  });

  test('is empty: it may rest for ever', () => {
    const { timers, socket, write, take } = watched(800);
    write(10);
    take(10);
    timers.pass(100_000);
    expect(socket.destroyed).toBe(false);
  });

  test('though more is written: waiting longer is not moving', () => {
    const { timers, socket, write } = watched(800);
    write(10);
    for (let more = 0; more < 9; more++) {
      timers.pass(100);
      write(1);
    }
    timers.pass(100);
    expect(socket.destroyed).toBe(true);
  });

  test('while this process stood still: our stall is not the peer standing still', () => {
    const { timers, socket, write, take } = watched(800);
    write(10);
    timers.pass(100);
    timers.stall(60_000); // the looks come before the sockets are served
    expect(socket.destroyed).toBe(false);
    take(10);
    timers.pass(5_000);
    expect(socket.destroyed).toBe(false);
  });
});

describe('watching', () => {
  test('ends with false, and when the socket is gone', () => {
    const { timers, timeouts, socket, write } = watched(800);
    expect(timeouts.limitMs(socket)).toBe(800);
    timeouts.set(socket, false);
    expect(timeouts.limitMs(socket)).toBe(false);
    write(10);
    timers.pass(10_000);
    expect(socket.destroyed).toBe(false);
    timeouts.set(socket, 800);
    socket.destroy();
    timers.pass(1_000);
    expect(timeouts.size).toBe(0);
  });

  test.each([
    [100, 50],
    [400, 50],
    [800, 100],
    [8_000, 1_000],
    [2 ** 31 - 1, 1_000],
  ])('a limit of %i ms is looked at every %i ms', (limitMs, periodMs) => {
    expect(watched(limitMs).timers.dueInMs).toBe(periodMs);
  });

  test('one timer for all, paced by the shortest limit', () => {
    const { timers, timeouts } = watched(8_000);
    const hasty = numbers();
    timeouts.set(hasty.socket, 400);
    timers.pass(1_000);
    expect(timers.dueInMs).toBe(50);
    timeouts.set(hasty.socket, false);
    timers.pass(50);
    expect(timers.dueInMs).toBe(1_000);
  });
});

describe('real sockets', () => {
  test('a peer that does not read is given up, and the report says what that rests on', async () => {
    const { accepted, connected } = await socketPair();
    connected.pause();
    const { settings, notes, read } = tuneSocketWith(undefined, accepted, { userTimeoutMs: 200 });
    expect(settings.userTimeoutMs).toEqual({
      asked: 200,
      inForce: 200,
      status: 'emulated',
      note: 'watched from this process: data that the kernel has taken is not seen',
    });
    expect(notes).toEqual([]); // the kernel's keepalive knows nothing of it
    const failing = once(accepted, 'error').catch((error: unknown) => [error]);
    accepted.write(Buffer.alloc(2 ** 25));
    const [error] = (await failing) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ETIMEDOUT');
    expect(read().settings.userTimeoutMs?.status).toBe('unsupported');
  });

  test('tuned again with false: watched no more, and nobody can tell what the kernel does', async () => {
    const { accepted } = await socketPair();
    tuneSocketWith(undefined, accepted, { userTimeoutMs: 200 });
    expect(emulation.limitMs(accepted)).toBe(200);
    const { settings } = tuneSocketWith(undefined, accepted, { userTimeoutMs: false });
    expect(emulation.limitMs(accepted)).toBe(false);
    expect(settings.userTimeoutMs).toEqual({ asked: false, inForce: undefined, status: 'unknown' });
  });

  test('every socket a server accepts', async () => {
    const server = createServer();
    const report = tuneServerWith(undefined, server, { userTimeoutMs: 5_000 });
    expect(report.settings.userTimeoutMs).toMatchObject({ inForce: 5_000, status: 'emulated' });
    const where = await listening(server, 'tcp');
    const accepting = once(server, 'connection');
    newSocket().connect({ ...(where as { port: number }) });
    const [socket] = (await accepting) as [Socket];
    expect(emulation.limitMs(socket)).toBe(5_000);
  });

  test.each(['0', '99', '1.5', '2147483648', 'true', '"1s"', 'null', '-1'])(
    'userTimeoutMs %s is refused',
    async (text) => {
      const { accepted } = await socketPair();
      const options = { userTimeoutMs: JSON.parse(text) };
      expect(() => tuneSocketWith(undefined, accepted, options)).toThrow(/^userTimeoutMs must be /);
    },
  );

  test('0 is refused with what to say instead', async () => {
    const { accepted } = await socketPair();
    const zero = { userTimeoutMs: 0 };
    expect(() => tuneSocketWith(undefined, accepted, zero)).toThrow(/false for the kernel's own rule/);
  });
});
