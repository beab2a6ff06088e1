/** Coming back after GOAWAY: a program that connects in a loop obeys by itself. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { connectHeartbeat } from '../../src/client/connect.ts';
import { Returns, type ReturnsOptions, type ReturnWait } from '../../src/client/returns.ts';
import { HeartbeatHub } from '../../src/net/hub.ts';
import type { Link } from '../../src/net/types.ts';
import { createEchoServer, type EchoServer } from '../../src/server/echo-server.ts';
import type { EchoServerOptions } from '../../src/server/options.ts';
import { goAwayWord } from '../../src/session/goaway.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { nodeTimerHost } from '../../src/time/scheduler.ts';
import { Flag, GoAwayReason, Param } from '../../src/wire/constants.ts';
import { encodeFrame } from '../../src/wire/frame.ts';
import { makeParam } from '../../src/wire/param.ts';
import { HubLog } from '../support/hub-log.ts';
import { settle } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, later, listening, tame } from '../support/sockets.ts';

afterEach(closeAll);

const half = { next: () => 0.5, u32: () => 0 };

/** A server whose every connection is a raw peer; it says GOAWAY when told to. */
async function rawServer() {
  const peers: RawPeer[] = [];
  const server = createServer((socket: Socket) => {
    peers.push(new RawPeer(tame(socket)));
  });
  const { port } = (await listening(server, 'tcp')) as { port: number };
  const sendAway = (peer: RawPeer, reason: number, retryAfterMs: number, requiredMinRxMs?: number): void => {
    if (requiredMinRxMs !== undefined) {
      peer.send(Flag.Param, makeParam(Param.RequiredMinRx, requiredMinRxMs));
    }
    peer.send(Flag.GoAway | Flag.Param, goAwayWord(reason, retryAfterMs));
    peer.socket.end();
  };
  return { port, peers, sendAway };
}

/** Virtual time for the waits; sockets are real. */
function waiting(options: ReturnsOptions = {}) {
  const clock = new VirtualClock();
  const waits: ReturnWait[] = [];
  const returns = new Returns({
    clock,
    timers: clock,
    random: half,
    onWait: (wait) => waits.push(wait),
    ...options,
  });
  return { clock, waits, returns };
}

describe('a loop of connectHeartbeat and whenClosed', () => {
  test('waits as long as it was told, times 1.25 here, and comes back at the pace it was told', async () => {
    const { port, peers, sendAway } = await rawServer();
    const { clock, waits, returns } = waiting();
    const { hub } = new HubLog();
    const links: Link[] = [];
    let isStopped = false;
    const loop = (async () => {
      while (!isStopped) {
        const link = await connectHeartbeat({ port, hub, intervalMs: 1_000, returns });
        links.push(link);
        await link.whenClosed();
      }
    })();
    await eventually(() => links.length === 1, 'the first link');
    sendAway(peers[0]!, GoAwayReason.TooFast, 30_000, 5_000);
    await eventually(() => waits.length === 1, 'the wait');
    expect(waits).toEqual([{ destination: `127.0.0.1:${port}`, waitMs: 37_500, intervalMs: 5_000 }]);
    clock.advance(37_499);
    await settle();
    expect(peers).toHaveLength(1);
    clock.advance(1);
    await eventually(() => links.length === 2, 'the second link');
    expect(links.map((link) => link.stats().txIntervalMs)).toEqual([1_000, 5_000]);
    isStopped = true;
    for (const link of links) link.destroy();
    await loop;
  });

  test('told too fast again it is slower still; told so for another reason it is not', async () => {
    const { port, peers, sendAway } = await rawServer();
    const { clock, waits, returns } = waiting({ backoffMs: 0 });
    const { hub } = new HubLog();
    const intervals: number[] = [];
    for (const reason of [GoAwayReason.TooFast, GoAwayReason.TooFast, GoAwayReason.Rotate, 0]) {
      const link = await connectHeartbeat({ port, hub, intervalMs: 1_000, returns });
      intervals.push(link.stats().txIntervalMs);
      sendAway(peers.at(-1)!, reason, 0);
      await link.whenClosed();
    }
    expect(intervals).toEqual([1_000, 2_000, 4_000, 4_000]);
    expect([waits, clock.pending]).toEqual([[], 0]);
  });

  test('a preset is slowed as well, and another destination is not', async () => {
    const one = await rawServer();
    const other = await rawServer();
    const { returns } = waiting({ backoffMs: 0 });
    const { hub } = new HubLog();
    const link = await connectHeartbeat({ port: one.port, hub, preset: 'lan', returns });
    one.sendAway(one.peers[0]!, GoAwayReason.TooFast, 0);
    await link.whenClosed();
    const again = await connectHeartbeat({ port: one.port, hub, preset: 'lan', returns });
    const elsewhere = await connectHeartbeat({ port: other.port, hub, preset: 'lan', returns });
    expect([again.stats().txIntervalMs, elsewhere.stats().txIntervalMs]).toEqual([20_000, 10_000]);
    expect([again.stats().multiplier, elsewhere.stats().multiplier]).toEqual([3, 3]);
  });

  test('who left of its own accord waits for nothing', async () => {
    const { port } = await rawServer();
    const { returns, waits } = waiting();
    const options = { port, hub: new HubLog().hub, returns };
    const link = await connectHeartbeat(options);
    await link.leave({ drainMs: 0, retryAfterMs: 60_000 });
    expect((await connectHeartbeat(options)).state).toBe('up');
    expect(waits).toEqual([]);
  });

  test('without `returns` nobody waits', async () => {
    const { port, peers, sendAway } = await rawServer();
    const { hub } = new HubLog();
    const link = await connectHeartbeat({ port, hub });
    sendAway(peers[0]!, GoAwayReason.Leaving, 300_000);
    await link.whenClosed();
    expect((await connectHeartbeat({ port, hub })).state).toBe('up');
  });
});

describe('the wait', () => {
  async function sentAway(retryAfterMs: number, options: ReturnsOptions = {}) {
    const server = await rawServer();
    const { hub } = new HubLog();
    const it = waiting(options);
    const connect = { port: server.port, hub, returns: it.returns };
    const links = await Promise.all([connectHeartbeat(connect), connectHeartbeat(connect)]);
    server.sendAway(server.peers[0]!, GoAwayReason.Leaving, retryAfterMs);
    await Promise.race(links.map((link) => link.whenClosed()));
    return { ...it, ...server, connect, links };
  }

  test('left to us: backoffMs, 1 000 unless told otherwise', async () => {
    for (const [backoffMs, expected] of [
      [undefined, 1_250],
      [8_000, 10_000],
    ] as const) {
      const { waits, connect } = await sentAway(0, backoffMs === undefined ? {} : { backoffMs });
      void connectHeartbeat({ ...connect, signal: abortedLater() }).catch(() => {});
      expect(waits).toMatchObject([{ waitMs: expected }]);
    }
  });

  test('the abort signal ends it, with its reason, and nothing is left or opened', async () => {
    const { connect, clock, peers } = await sentAway(30_000);
    const controller = new AbortController();
    const connecting = connectHeartbeat({ ...connect, signal: controller.signal });
    expect(clock.pending).toBe(1);
    controller.abort(new Error('enough'));
    await expect(connecting).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
    expect(peers).toHaveLength(2);
  });

  test('is no part of timeoutMs, which begins when it is over', async () => {
    const { connect, clock } = await sentAway(30_000);
    const connecting = connectHeartbeat({ ...connect, timeoutMs: 50 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    clock.advance(37_500);
    expect((await connecting).state).toBe('up');
  });

  test('a bad option is refused before it', async () => {
    const { connect, clock } = await sentAway(30_000);
    await expect(connectHeartbeat({ ...connect, intervalMs: 1 })).rejects.toThrow(/^intervalMs/);
    expect(clock.pending).toBe(0);
  });

  test('of two links told differently the longer wait holds; each connection draws its own', async () => {
    const draws = [0, 0, 0.2, 0.8];
    const random = { next: () => draws.shift() ?? 0, u32: () => 0 };
    const { connect, peers, sendAway, waits, links } = await sentAway(30_000, { random });
    const stayed = peers.find(({ hasEnded }) => !hasEnded)!;
    sendAway(stayed, GoAwayReason.Leaving, 10_000);
    await Promise.all(links.map((link) => link.whenClosed()));
    const signal = abortedLater();
    for (let index = 0; index < 2; index++) {
      void connectHeartbeat({ ...connect, signal }).catch(() => {});
    }
    expect(waits.map(({ waitMs }) => waitMs)).toEqual([33_000, 42_000]);
  });

  test('after it nobody waits any more', async () => {
    const { connect, clock, waits } = await sentAway(30_000);
    clock.advance(45_000);
    expect((await connectHeartbeat(connect)).state).toBe('up');
    expect(waits).toEqual([]);
  });

  test('an abort inside onWait ends it, and one before it as well', async () => {
    const controller = new AbortController();
    const { returns } = waiting();
    await expect(returns.wait('nobody:1', AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    const { connect, clock, peers } = await sentAway(30_000, {
      onWait: () => controller.abort(new Error('inside')),
    });
    const connecting = connectHeartbeat({ ...connect, signal: controller.signal });
    await expect(connecting).rejects.toThrow('inside');
    expect([clock.pending, peers.length]).toEqual([0, 2]);
  });

  test('an abort between the end of the wait and the connection: nothing is opened', async () => {
    const { connect, clock, peers, port, returns } = await sentAway(30_000);
    const controller = new AbortController();
    const { signal } = controller;
    const connecting = connectHeartbeat({ ...connect, signal });
    const waited = returns.wait(`127.0.0.1:${port}`, signal);
    clock.advance(37_500);
    controller.abort(new Error('late'));
    await expect(waited).rejects.toThrow('late');
    await expect(connecting).rejects.toThrow('late');
    await settle();
    expect(peers).toHaveLength(2);
  });

  test.each([
    ['a longer time is waited for as well', 60_000, [37_500, 47_500]],
    ['a shorter one changes nothing', 10_000, [37_500]],
  ])('what is told meanwhile counts: %s', async (_what, retryAfterMs, expected) => {
    const { connect, clock, peers, sendAway, waits, links } = await sentAway(30_000);
    let isUp = false;
    const connecting = connectHeartbeat(connect).then(() => {
      isUp = true;
    });
    clock.advance(10_000);
    sendAway(peers.find(({ hasEnded }) => !hasEnded)!, GoAwayReason.Leaving, retryAfterMs);
    await Promise.all(links.map((link) => link.whenClosed()));
    clock.advance(27_500);
    await settle();
    expect(waits.map(({ waitMs }) => waitMs)).toEqual(expected);
    expect(clock.pending).toBe(expected.length - 1);
    if (expected.length > 1) expect(isUp).toBe(false);
    clock.advance(47_500);
    await connecting;
  });

  /** For connections that are to wait for the rest of the test. */
  function abortedLater(): AbortSignal {
    const controller = new AbortController();
    later(() => controller.abort());
    return controller.signal;
  }
});

describe('do not return', () => {
  async function refused(options: ReturnsOptions) {
    const { port, peers, sendAway } = await rawServer();
    const it = waiting(options);
    const link = await connectHeartbeat({ port, hub: new HubLog().hub, returns: it.returns });
    sendAway(peers[0]!, GoAwayReason.ParametersRefused, Infinity);
    await link.whenClosed();
    return { port, ...it };
  }

  test('is told once, with what was said, and waited for five minutes', async () => {
    const told: object[] = [];
    const { port, waits, returns } = await refused({ onAlert: (detail) => told.push(detail) });
    expect(told).toMatchObject([
      {
        destination: `127.0.0.1:${port}`,
        reason: GoAwayReason.ParametersRefused,
        retryAfterMs: Infinity,
        intervalMs: 15_000,
      },
    ]);
    const controller = new AbortController();
    const waiting = returns.wait(`127.0.0.1:${port}`, controller.signal);
    expect(waits).toMatchObject([{ waitMs: 300_000 }]);
    controller.abort();
    await expect(waiting).rejects.toThrow();
  });

  test('a throwing onAlert is heard of later, and keeps `leaving` from nobody', async () => {
    const hub = new HeartbeatHub();
    later(() => hub.close());
    const { returns } = waiting({
      onAlert: () => {
        throw new Error('of the alert');
      },
    });
    const link = {} as Link;
    returns.watch(hub, link, 'host:1', 1_000);
    const heard: string[] = [];
    hub.on('leaving', () => heard.push('listener'));
    const thrown: unknown[] = [];
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', (error) => thrown.push(error));
    const detail = { by: 'peer', reason: GoAwayReason.ParametersRefused, retryAfterMs: Infinity } as const;
    hub.tell('leaving', link as never, detail);
    expect(heard).toEqual(['listener']);
    await new Promise((resolve) => setImmediate(resolve));
    process.removeAllListeners('uncaughtException');
    for (const listener of before) process.on('uncaughtException', listener);
    expect(thrown).toMatchObject([{ message: 'of the alert' }]);
  });

  test('is a process warning where nobody asked to be told', async () => {
    const warned = once(process, 'warning');
    const { port } = await refused({});
    const [warning] = (await warned) as [Error];
    expect(warning.message).toContain(`127.0.0.1:${port} told us not to return`);
  });
});

describe('memory', () => {
  test('of more than 1 000 destinations the oldest is forgotten', async () => {
    const { returns } = waiting();
    const hub = new HeartbeatHub();
    later(() => hub.close());
    const tell = (destination: string): void => {
      const link = {} as Link;
      returns.watch(hub, link, destination, 1_000);
      for (const observer of hub.observers) {
        observer('leaving', link, { by: 'peer', reason: GoAwayReason.TooFast, retryAfterMs: 0 });
      }
    };
    for (let index = 0; index <= 1_000; index++) tell(`host-${index}:1`);
    expect(returns.intervalMs('host-0:1', 1_000)).toBe(1_000);
    expect(returns.intervalMs('host-1:1', 1_000)).toBe(2_000);
  });

  test('one observer per hub, however many links', async () => {
    const { port } = await rawServer();
    const { returns } = waiting();
    const { hub } = new HubLog();
    await Promise.all([1, 2, 3].map(() => connectHeartbeat({ port, hub, returns })));
    expect(hub.observers.size).toBe(1);
  });

  test('a hub holds on to nobody whose links are all closed, and asks again when there is one', async () => {
    const { port } = await rawServer();
    const { returns } = waiting();
    const { hub } = new HubLog();
    const connect = () => connectHeartbeat({ port, hub, returns });
    const [one, other] = await Promise.all([connect(), connect()]);
    one.destroy();
    expect(hub.observers.size).toBe(1);
    other.detach().socket.destroy();
    expect(hub.observers.size).toBe(0);
    (await connect()).destroy();
    await expect(connectHeartbeat({ port: 1, hub, returns })).rejects.toThrow('ECONNREFUSED');
    expect(hub.observers.size).toBe(0);
    await connect();
    expect(hub.observers.size).toBe(1);
  });
});

test.each([
  [{ backoffMs: -1 }, /^backoffMs .*-1/],
  [{ backoffMs: 300_001 }, /^backoffMs .*300001/],
  [{ onAlert: 1 }, /^onAlert must be a function/],
  [{ onWait: 1 }, /^onWait must be a function/],
  [{ backoff: 1 }, /^options\.backoff is no option/],
])('%o is refused by name and value', (options, message) => {
  expect(() => new Returns(options as never)).toThrow(message);
});

test('returns must be a Returns', async () => {
  await expect(connectHeartbeat({ port: 1, returns: {} as never })).rejects.toThrow(
    'returns must be a Returns, got an object',
  );
});

describe('against a server that holds its peers to their rate', () => {
  let waitedMs = 0;
  /** Time passes by waiting only, and then a thousand times as fast. */
  const hasty = {
    clock: { now: () => waitedMs },
    timers: {
      ...nodeTimerHost,
      setTimeout: (run: () => void, delayMs: number) =>
        nodeTimerHost.setTimeout(() => {
          waitedMs += delayMs;
          run();
        }, delayMs / 1_000),
    },
  };

  async function serving(options: EchoServerOptions): Promise<{ server: EchoServer; port: number }> {
    const server = createEchoServer(options);
    later(() => server.close());
    return { server, port: ((await server.listen()) as AddressInfo).port };
  }

  test('who ran wild is reminded, told, waits, returns at the allowed rate, and is not told again', async () => {
    const { server, port } = await serving({ intervalMs: 200, negotiate: true, requiredMinRxMs: 250 });
    const log = new HubLog();
    const waits: ReturnWait[] = [];
    const returns = new Returns({ ...hasty, onWait: (wait) => waits.push(wait) });
    const options = { port, hub: log.hub, intervalMs: 100, negotiate: true, returns };

    const wild = await connectHeartbeat(options);
    await eventually(() => wild.stats().negotiated, 'the agreement');
    let seq = 0x4000_0000;
    const write = (Object.getPrototypeOf(wild.socket) as Socket).write;
    const running = setInterval(() => {
      if (!wild.socket.writable) return;
      write.call(wild.socket, encodeFrame({ flags: 0, seq: seq++, timestamp: 0 }));
    }, 25);
    const told = await log.next('leaving', wild);
    clearInterval(running);
    expect(told.detail).toMatchObject({
      by: 'peer',
      reason: GoAwayReason.TooFast,
      retryAfterMs: 30_000,
      requiredMinRxMs: 250,
    });
    await wild.whenClosed();
    await eventually(() => server.links === 0, 'the server has closed it');
    expect(server.hub.stats().closed).toEqual({ policy: 1 });

    const link = await connectHeartbeat(options);
    expect(waits).toHaveLength(1);
    expect(waits[0]!.waitMs).toBeGreaterThanOrEqual(30_000);
    expect(waits[0]!.waitMs).toBeLessThanOrEqual(45_000);
    expect(waits[0]!.intervalMs).toBe(250);
    await eventually(() => link.stats().negotiated, 'the agreement');
    expect(link.stats().txIntervalMs).toBe(250);
    await new Promise((resolve) => setTimeout(resolve, 5 * link.detectionTimeMs));
    expect([link.state, log.of('leaving', link), server.links]).toEqual(['up', [], 1]);
  });

  test('the hard cap tells no rate: twice our interval then', async () => {
    const { port } = await serving({ intervalMs: 1_000, maxFramesPerSecond: 5 });
    const { hub } = new HubLog();
    const returns = new Returns(hasty);
    const link = await connectHeartbeat({ port, hub, intervalMs: 100, returns });
    for (let index = 0; index < 11; index++) {
      const frame = encodeFrame({ flags: 0, seq: 0x4000_0000 + index, timestamp: 0 });
      (Object.getPrototypeOf(link.socket) as Socket).write.call(link.socket, frame);
    }
    await link.whenClosed();
    const again = await connectHeartbeat({ port, hub, intervalMs: 100, returns });
    expect(again.stats().txIntervalMs).toBe(200);
  });
});
