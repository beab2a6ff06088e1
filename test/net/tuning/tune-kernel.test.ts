/**
 * Tuning with access to the kernel: what is asked is read back from it, on sockets and on what a listener accepts, and
 * how many calls that takes.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type NativeSockets, socketFd } from '../../../src/net/native/native.ts';
import { currentKernel, type Kernel } from '../../../src/net/tuning/kernel.ts';
import { takesIntervalAndCount } from '../../../src/net/tuning/node-offers.ts';
import type { TuneOptions } from '../../../src/net/tuning/options.ts';
import { tuneServer, tuneServerWith } from '../../../src/net/tuning/tune-server.ts';
import { tuneSocket, tuneSocketWith } from '../../../src/net/tuning/tune-socket.ts';
import { closeAll, type Kind, later, listening, newSocket, socketPair, tame } from '../../support/sockets.ts';

afterEach(closeAll);

const real = currentKernel();
const isTested = process.platform === 'linux' && real !== undefined;
const lacks = isTested ? '' : ' [needs Linux and koffi]';

/** Counts the calls, and lets them through. */
function counted(kernel: Kernel): { kernel: Kernel; calls: string[] } {
  const calls: string[] = [];
  const { sockets } = kernel;
  const counting: NativeSockets = {
    setInt(...values) {
      calls.push(`set ${values}`);
      return sockets.setInt(...values);
    },
    getInt(...values) {
      calls.push(`get ${values}`);
      return sockets.getInt(...values);
    },
    getBytes: () => {
      throw new Error('tuning asks for numbers only');
    },
  };
  return { kernel: { ...kernel, sockets: counting }, calls };
}

/** The options of a socket as the kernel holds them: Nagle off, keepalive, idle, interval, count, user time-out. */
function held(socket: Socket | Server): (number | undefined)[] {
  const { sockets, platform } = real as Kernel;
  const { tcpLevel, socketLevel, ...names } = platform.numbers;
  const fd = socketFd(socket) as number;
  return [
    sockets.getInt(fd, tcpLevel, names.noDelay),
    sockets.getInt(fd, socketLevel, names.keepAlive),
    sockets.getInt(fd, tcpLevel, names.keepAliveIdle),
    sockets.getInt(fd, tcpLevel, names.keepAliveInterval),
    sockets.getInt(fd, tcpLevel, names.keepAliveCount),
    sockets.getInt(fd, tcpLevel, names.userTimeout),
  ];
}

const ASKED: TuneOptions = {
  keepAlive: { idleMs: 7_000, intervalMs: 2_000, count: 4 },
  userTimeoutMs: 12_345,
};
const HELD = [1, 1, 7, 2, 4, 12_345];

/** One connection of this server's. */
async function accepted(server: Server, where: object): Promise<Socket> {
  const accepting = once(server, 'connection');
  tame(connect({ ...(where as { port: number }) }));
  const [socket] = (await accepting) as [Socket];
  return tame(socket);
}

describe.skipIf(!isTested)(`tuneSocket${lacks}`, () => {
  test.each<Kind>(['tcp', 'tcp6', 'tls'])('%s: all of it is set, and read back', async (kind) => {
    const pair = await socketPair(kind);
    const report = tuneSocket(pair.accepted, ASKED);
    expect(held(pair.accepted)).toEqual(HELD);
    const set = (value: number | boolean) => ({
      asked: value,
      inForce: value,
      status: 'set',
      knownFrom: 'kernel',
    });
    expect(report.settings).toEqual({
      noDelay: set(true),
      keepAlive: set(true),
      keepAliveIdleMs: set(7_000),
      keepAliveIntervalMs: set(2_000),
      keepAliveCount: set(4),
      userTimeoutMs: set(12_345),
    });
    expect(report.appliedTo).toBe('socket');
    expect(report.idleDetectionMs).toBe(13_000); // at 7, 9, 11, 13: the first that is not below 12.345
    expect(report.notes).toEqual([
      'userTimeoutMs 12345 replaces keepAliveCount 4: idle connections are given up after 13000 ms instead of 15000',
    ]);
  });

  test('without options: the defaults, and the user time-out is left as it is', async () => {
    const { accepted: socket } = await socketPair();
    real?.sockets.setInt(socketFd(socket)!, 6, 18, 777);
    const report = tuneSocket(socket);
    expect(held(socket)).toEqual([1, 1, 300, 30, 5, 777]);
    expect(report.settings).not.toHaveProperty('userTimeoutMs');
    expect(report.idleDetectionMs).toBe(450_000);
    expect(report.notes).toEqual([]);
  });

  test('false: off, each of them; a user time-out of false is the kernel rule again', async () => {
    const { accepted: socket } = await socketPair();
    tuneSocket(socket, ASKED);
    const report = tuneSocket(socket, { keepAlive: false, noDelay: false, userTimeoutMs: false });
    expect(held(socket)).toEqual([0, 0, 7, 2, 4, 0]);
    expect(report.settings).toEqual({
      noDelay: { asked: false, inForce: false, status: 'set', knownFrom: 'kernel' },
      keepAlive: { asked: false, inForce: false, status: 'set', knownFrom: 'kernel' },
      userTimeoutMs: { asked: false, inForce: false, status: 'set', knownFrom: 'kernel' },
    });
    expect(report.idleDetectionMs).toBe(Infinity);
  });

  test('what was changed since is seen by reading again', async () => {
    const { accepted: socket } = await socketPair();
    const report = tuneSocket(socket, ASKED);
    real?.sockets.setInt(socketFd(socket)!, 6, 6, 9);
    expect(report.read().settings.keepAliveCount).toEqual({
      asked: 4,
      inForce: 9,
      status: 'different',
      knownFrom: 'kernel',
    });
    socket.destroy();
    await once(socket, 'close');
    expect(report.read().settings.keepAliveCount).toEqual({
      asked: 4,
      inForce: undefined,
      status: 'unsupported',
      note: 'the socket is closed',
    });
  });

  test('what the kernel refuses is not called set', async () => {
    const { accepted: socket } = await socketPair();
    const stubborn: NativeSockets = { ...real!.sockets, setInt: () => 22 };
    const report = tuneSocketWith({ ...real!, sockets: stubborn }, socket, {
      keepAlive: { count: 7 },
      userTimeoutMs: 5_000,
    });
    const byNode = { asked: 7, inForce: 7, status: 'set', knownFrom: 'kernel' };
    const note = 'the kernel refused it (errno 22)';
    const byNobody = { asked: 7, inForce: 10, status: 'different', knownFrom: 'kernel', note };
    expect(report.settings.keepAliveCount).toEqual(takesIntervalAndCount ? byNode : byNobody);
    expect(report.settings.userTimeoutMs).toMatchObject({ asked: 5_000, inForce: 5_000, status: 'emulated' });
  });

  test('a socket that still connects: pending, then set', async () => {
    const server = createServer((socket) => tame(socket));
    const where = await listening(server, 'tcp');
    const early = [tame(connect({ ...where })), newSocket()];
    const reports = early.map((socket) => tuneSocket(socket, ASKED));
    for (const report of reports) {
      expect(report.settings.userTimeoutMs).toEqual({ asked: 12_345, inForce: undefined, status: 'pending' });
      expect(report.idleDetectionMs).toBeNaN();
    }
    early[1]?.connect({ ...(where as { port: number }) });
    await Promise.all(early.map((socket) => once(socket, 'connect')));
    for (const socket of early) expect(held(socket)).toEqual(HELD);
    for (const report of reports) expect(report.read().settings.userTimeoutMs?.status).toBe('set');
  });

  test('asked twice while it connects: the newest call is in force, and in its report', async () => {
    const server = createServer((socket) => tame(socket));
    const socket = tame(connect({ ...(await listening(server, 'tcp')) }));
    const older = tuneSocket(socket, { keepAlive: { idleMs: 1_000 }, userTimeoutMs: 5_000 });
    const newer = tuneSocket(socket, ASKED);
    await once(socket, 'connect');
    expect(held(socket)).toEqual(HELD);
    expect(newer.read().settings.keepAliveIdleMs).toMatchObject({ inForce: 7_000, status: 'set' });
    expect(older.read().settings.keepAliveIdleMs).toMatchObject({ inForce: 7_000, status: 'different' });
  });

  test('a unix socket has none of it, and is told so', async () => {
    const { accepted: socket } = await socketPair('unix');
    const { settings } = tuneSocket(socket, { keepAlive: false, noDelay: true });
    expect(settings.noDelay).toMatchObject({ asked: true, inForce: undefined, status: 'unsupported' });
  });
});

describe.skipIf(!isTested)(`tuneServer${lacks}`, () => {
  test('on the listening socket: read back on every accepted one, with not one call for it', async () => {
    const { kernel, calls } = counted(real!);
    const server = createServer();
    const where = await listening(server, 'tcp');
    const report = tuneServerWith(kernel, server, ASKED);
    expect(report.appliedTo).toBe('listener');
    expect(Object.values(report.settings).map(({ status }) => status)).toEqual(Array(6).fill('set'));
    expect(held(server)).toEqual(HELD);
    calls.length = 0;
    for (let connection = 0; connection < 5; connection++) {
      expect(held(await accepted(server, where))).toEqual(HELD);
    }
    expect(calls).toEqual([]);
    expect(report.read().settings).toEqual(report.settings);
  });

  test('a server that listens later, and again on another socket', async () => {
    const server = createServer();
    const report = tuneServer(server, ASKED);
    expect(report).toMatchObject({ appliedTo: 'listener', settings: { keepAlive: { status: 'pending' } } });
    const first = await accepted(server, await listening(server, 'tcp'));
    expect(held(first)).toEqual(HELD);
    expect(report.read().settings.keepAlive?.status).toBe('set');
    first.destroy();
    server.close();
    await once(server, 'close');
    expect(report.read().settings.keepAlive?.status).toBe('pending');
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    later(() => server.close());
    expect(held(await accepted(server, server.address() as object))).toEqual(HELD);
  });

  test('asked twice: the newest call holds, on the next listening socket too', async () => {
    const server = createServer();
    tuneServer(server, { keepAlive: { idleMs: 1_000 }, userTimeoutMs: 12_345 });
    const report = tuneServer(server, { keepAlive: ASKED.keepAlive! }); // leaves the user time-out as it is
    const first = await accepted(server, await listening(server, 'tcp'));
    expect(held(first)).toEqual(HELD);
    first.destroy();
    server.close();
    await once(server, 'close');
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    later(() => server.close());
    expect(held(await accepted(server, server.address() as object))).toEqual(HELD);
    expect(report.read().settings.keepAliveIdleMs).toMatchObject({ inForce: 7_000, status: 'set' });
  });

  test('a kernel that hands nothing on: each socket as it is accepted, before anybody sees it', async () => {
    const { kernel, calls } = counted({ ...real!, platform: { ...real!.platform, listenerHandsOn: false } });
    const server = createServer();
    let seen: unknown;
    server.on('connection', (socket: Socket) => {
      seen = held(socket);
    });
    const report = tuneServerWith(kernel, server, ASKED);
    expect(report).toMatchObject({
      appliedTo: 'each accepted socket',
      settings: { userTimeoutMs: { status: 'pending' } },
    });
    await accepted(server, await listening(server, 'tcp'));
    expect(seen).toEqual(HELD);
    expect(calls.length).toBeGreaterThan(0);
  });

  test('a listener without a descriptor (a cluster worker): each socket', async () => {
    const server = createServer();
    const where = await listening(server, 'tcp');
    const { _handle: handle } = server as unknown as { _handle: object };
    Object.defineProperty(handle, 'fd', { value: undefined, configurable: true });
    const report = tuneServer(server, ASKED);
    expect(report.appliedTo).toBe('each accepted socket');
    expect(held(await accepted(server, where))).toEqual(HELD);
  });

  test('on a unix path nothing can be set, and nothing is claimed', async () => {
    const server = createServer();
    const where = await listening(server, 'unix');
    const report = tuneServer(server, { keepAlive: { idleMs: 7_000 } });
    expect(report.settings.keepAliveIdleMs).toEqual({
      asked: 7_000,
      inForce: undefined,
      status: 'unsupported',
      note: 'not a TCP socket',
    });
    const socket = await accepted(server, where);
    expect(socket.destroyed).toBe(false);
    const listeners = server.listenerCount('connection');
    server.emit('listening'); // it listens again
    expect(server.listenerCount('connection')).toBe(listeners);
  });
});
