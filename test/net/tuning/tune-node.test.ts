/**
 * Tuning without access to the kernel: what Node is asked for, what can be reported on its word, what is refused, and
 * the user time-out that this process then watches itself.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { emulation } from '../../../src/net/tuning/emulation.ts';
import { TUNE_DEFAULTS } from '../../../src/net/tuning/options.ts';
import { tuneServerWith } from '../../../src/net/tuning/tune-server.ts';
import { tuneSocketWith } from '../../../src/net/tuning/tune-socket.ts';
import { closeAll, listening, socketPair, tame } from '../../support/sockets.ts';

afterEach(closeAll);

const takesAll = Socket.prototype.setKeepAlive.length >= 4;

const PROC_TCP = '/proc/net/tcp';
const lacksProc = existsSync(PROC_TCP) ? '' : ` [needs ${PROC_TCP}: not on this system]`;
/** Field `tr` of the kernel's table: a keepalive timer is running. */
const KEEPALIVE_TIMER = 2;

/** The kernel's own timer of a connection between two IPv4 ends: which kind, and when it fires. */
function kernelTimer(socket: Socket): { kind: number; inMs: number } {
  const hexPort = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0');
  const [local, remote] = [`:${hexPort(socket.localPort)}`, `:${hexPort(socket.remotePort)}`];
  const rows = readFileSync(PROC_TCP, 'latin1')
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  const row = rows.find((fields) => fields[1]?.endsWith(local) && fields[2]?.endsWith(remote));
  const [kind, ticks] = (row?.[5] ?? ':').split(':').map((hex) => Number.parseInt(hex, 16)) as [
    number,
    number,
  ];
  return { kind, inMs: ticks * 10 };
}

/** Records what is asked of a socket, and asks it. */
function spied(socket: Socket): { socket: Socket; calls: unknown[][] } {
  const calls: unknown[][] = [];
  for (const name of ['setNoDelay', 'setKeepAlive'] as const) {
    const original = socket[name] as (...values: unknown[]) => Socket;
    socket[name] = ((...values: unknown[]) => {
      calls.push([name, ...values]);
      return original.apply(socket, values);
    }) as never;
  }
  return { socket, calls };
}

describe('tuneSocket', () => {
  test('without options: the defaults, and a report of what holds', async () => {
    const { socket, calls } = spied((await socketPair()).accepted);
    const report = tuneSocketWith(undefined, socket);
    expect(calls).toEqual([
      ['setNoDelay', true],
      ['setKeepAlive', true, 300_000, 30_000, 5],
    ]);
    expect(report.appliedTo).toBe('socket');
    expect(report.settings).toMatchObject({
      noDelay: { asked: true, inForce: true, status: 'set' },
      keepAlive: { asked: true, inForce: true, status: 'set' },
      keepAliveIdleMs: { asked: 300_000, inForce: 300_000, status: 'set' },
      keepAliveIntervalMs: { asked: 30_000, inForce: takesAll ? 30_000 : 1_000 },
      keepAliveCount: { asked: 5, inForce: takesAll ? 5 : 10 },
    });
    expect(report.settings.keepAliveCount?.status).toBe(takesAll ? 'set' : 'unsupported');
    expect(report.idleDetectionMs).toBe(takesAll ? 450_000 : 310_000);
    expect(Object.isFrozen(TUNE_DEFAULTS)).toBe(true);
  });

  test('each option changes what is asked', async () => {
    const { socket, calls } = spied((await socketPair()).accepted);
    tuneSocketWith(undefined, socket, {
      noDelay: false,
      keepAlive: { idleMs: 1_000, intervalMs: 2_000, count: 127 },
    });
    expect(calls).toEqual([
      ['setNoDelay', false],
      ['setKeepAlive', true, 1_000, 2_000, 127],
    ]);
  });

  test.skipIf(lacksProc !== '')(`the kernel holds the timer that was asked for${lacksProc}`, async () => {
    const { accepted } = await socketPair();
    expect(kernelTimer(accepted).kind).not.toBe(KEEPALIVE_TIMER);
    tuneSocketWith(undefined, accepted, { keepAlive: { idleMs: 60_000 } });
    const { kind, inMs } = kernelTimer(accepted);
    expect(kind).toBe(KEEPALIVE_TIMER);
    expect(inMs).toBeLessThanOrEqual(60_000);
    expect(inMs).toBeGreaterThan(30_000);
    tuneSocketWith(undefined, accepted, { keepAlive: false });
    expect(kernelTimer(accepted).kind).not.toBe(KEEPALIVE_TIMER);
  });

  test('keepAlive false switches it off, and says that nothing is found then', async () => {
    const { socket, calls } = spied((await socketPair()).accepted);
    const report = tuneSocketWith(undefined, socket, { keepAlive: false });
    expect(calls).toContainEqual(['setKeepAlive', false]);
    expect(report.idleDetectionMs).toBe(Infinity);
    expect(Object.keys(report.settings)).toEqual(['noDelay', 'keepAlive']);
    expect(report.settings.keepAlive).toEqual({
      asked: false,
      inForce: false,
      status: 'set',
      knownFrom: 'node',
    });
  });

  test.each([
    ['F23 below a second', { keepAlive: { idleMs: 999 } }, /^keepAlive\.idleMs .*999/],
    ['F23 below a second', { keepAlive: { intervalMs: 500 } }, /^keepAlive\.intervalMs .*500/],
    [
      'F23 fractions of a second',
      { keepAlive: { idleMs: 1_500 } },
      /^keepAlive\.idleMs .*whole seconds.*1500/,
    ],
    ['beyond the kernel', { keepAlive: { idleMs: 32_768_000 } }, /^keepAlive\.idleMs .*32768000/],
    ['no probes', { keepAlive: { count: 0 } }, /^keepAlive\.count .*0/],
    ['too many probes', { keepAlive: { count: 128 } }, /^keepAlive\.count .*128/],
    ['true', { keepAlive: true }, /^keepAlive must be .*true/],
    ['text', { noDelay: 'yes' }, /^noDelay must be .*"yes"/],
    ['null', { keepAlive: null }, /^keepAlive must be .*null$/],
    ['null', { keepAlive: { count: null } }, /^keepAlive\.count must be .*null$/],
    ['null', { noDelay: null }, /^noDelay must be .*null$/],
    ['a misspelt option', { keepalive: false }, /^options\.keepalive /],
    ['a misspelt part', { keepAlive: { idle: 1 } }, /^keepAlive\.idle /],
  ])('refuses %s: %o, and changes nothing', async (_why, options, message) => {
    const { socket, calls } = spied((await socketPair()).accepted);
    expect(() => tuneSocketWith(undefined, socket, options as never)).toThrow(message);
    expect(calls).toEqual([]);
  });

  test('asked twice before it is connected: the newest call holds, even one from a listener', async () => {
    const server = createServer((socket) => tame(socket));
    const where = await listening(server, 'tcp');
    for (const isLate of [false, true]) {
      const { socket, calls } = spied(tame(connect({ ...where })));
      tuneSocketWith(undefined, socket, { keepAlive: { idleMs: 1_000 }, userTimeoutMs: 5_000 });
      const again = () => tuneSocketWith(undefined, socket, { keepAlive: { idleMs: 2_000 } });
      if (isLate) socket.prependOnceListener('connect', again);
      else again();
      await once(socket, 'connect');
      const idles = calls.filter(([name]) => name === 'setKeepAlive').map((values) => values[2]);
      expect(idles).toEqual([1_000, 2_000]);
      expect(emulation.limitMs(socket)).toBe(5_000); // the newest did not speak of it
    }
  });

  test('asked twice: the older report goes by a word that no longer holds, and says so', async () => {
    const { accepted } = await socketPair();
    const older = tuneSocketWith(undefined, accepted, { keepAlive: { idleMs: 60_000 } });
    expect(older.settings.keepAliveIdleMs).toMatchObject({ inForce: 60_000, status: 'set' });
    const newer = tuneSocketWith(undefined, accepted, { keepAlive: false });
    const { settings, idleDetectionMs } = older.read();
    expect(settings.keepAliveIdleMs).toEqual({
      asked: 60_000,
      inForce: undefined,
      status: 'unknown',
      note: 'a later call took its place',
    });
    expect(idleDetectionMs).toBeNaN();
    expect(newer.read().settings.keepAlive).toMatchObject({ inForce: false, status: 'set' });
  });

  test('a unix socket has none of it, whatever Node says when asked', async () => {
    const { accepted } = await socketPair('unix');
    const { settings, idleDetectionMs } = tuneSocketWith(undefined, accepted);
    for (const setting of Object.values(settings)) {
      expect(setting).toMatchObject({ inForce: undefined, status: 'unsupported', note: 'not a TCP socket' });
    }
    expect(idleDetectionMs).toBeNaN();
  });

  test('what is no socket is refused', () => {
    expect(() => tuneSocketWith(undefined, {} as never)).toThrow(/^socket must be/);
    expect(() => tuneServerWith(undefined, {} as never)).toThrow(/^server must be/);
  });
});

describe('tuneServer', () => {
  test('every socket accepted from now on, before anybody else sees it', async () => {
    const server = createServer();
    const order: string[] = [];
    server.on('connection', (socket: Socket) => {
      tame(socket);
      order.push('host');
    });
    server.prependListener('connection', (socket: Socket) => {
      spied(socket);
    });
    const report = tuneServerWith(undefined, server, { keepAlive: { idleMs: 7_000 } });
    server.on('connection', () => order.push('late'));
    server.prependListener('connection', (socket: Socket) => {
      const { setKeepAlive } = socket;
      socket.setKeepAlive = (...values) => {
        order.push(`keepalive ${values[1]}`);
        return setKeepAlive.apply(socket, values);
      };
    });
    expect(report.appliedTo).toBe('each accepted socket');
    const where = await listening(server, 'tcp');
    const client = tame(connect({ ...where }));
    await once(client, 'connect');
    while (order.length < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual(['keepalive 7000', 'host', 'late']);
  });

  test('asked twice: the newest call alone holds, and the older report claims nothing', async () => {
    const server = createServer();
    const older = tuneServerWith(undefined, server, { keepAlive: { idleMs: 1_000 }, userTimeoutMs: 5_000 });
    const newer = tuneServerWith(undefined, server, { keepAlive: { idleMs: 2_000 } });
    expect(newer.settings.keepAliveIdleMs).toMatchObject({ asked: 2_000, inForce: 2_000 });
    expect(older.read().settings.keepAliveIdleMs).toMatchObject({ asked: 1_000, status: 'unknown' });
    let calls: unknown[][] = [];
    server.prependListener('connection', (socket: Socket) => {
      calls = spied(tame(socket)).calls;
    });
    const where = await listening(server, 'tcp');
    for (let round = 0; round < 2; round++) {
      const accepting = once(server, 'connection');
      tame(connect({ ...where }));
      const [socket] = (await accepting) as [Socket];
      expect(calls).toEqual([
        ['setNoDelay', true],
        ['setKeepAlive', true, 2_000, 30_000, 5],
      ]);
      expect(emulation.limitMs(socket)).toBe(5_000);
    }
  });

  test('refuses before it touches the server', () => {
    const server = createServer();
    expect(() => tuneServerWith(undefined, server, { keepAlive: { idleMs: 1 } })).toThrow(
      /^keepAlive\.idleMs/,
    );
    expect(server.listenerCount('connection')).toBe(0);
  });
});
