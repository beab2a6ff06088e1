/** The orderly end of a server with links in use: who is told when, and that nothing in flight is lost. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { HeartbeatHub } from '../../src/net/hub.ts';
import { createEchoServer, type EchoServer } from '../../src/server/echo-server.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import type { EchoServerOptions } from '../../src/server/options.ts';
import { inSlots } from '../../src/server/slots.ts';
import { goAwayRetryAfterMs } from '../../src/session/goaway.ts';
import { Flag } from '../../src/wire/constants.ts';
import { proxyV1 } from '../support/proxy-headers.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, later, tame } from '../support/sockets.ts';

afterEach(closeAll);

/** A server with so many links, all up. */
async function serving(
  count: number,
  options: EchoServerOptions = {},
): Promise<{ server: EchoServer; peers: RawPeer[]; goAwayAtMs: number[]; port: number }> {
  const server = createEchoServer(options);
  later(() => server.close());
  const { port } = (await server.listen()) as AddressInfo;
  const goAwayAtMs: number[] = [];
  server.hub.on('leaving', (_link, { by }) => {
    if (by === 'us') goAwayAtMs.push(performance.now());
  });
  const peers = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = tame(connect(port, '127.0.0.1'));
      await once(socket, 'connect');
      const peer = new RawPeer(socket);
      peer.send(Flag.AckRequest);
      await peer.seen(1, Flag.Ack);
      return peer;
    }),
  );
  return { server, peers, goAwayAtMs, port };
}

const echo = lengthPrefixedFrame(Buffer.alloc(1_000, 1));

describe('inSlots', () => {
  test('each has its turn once, in order, over the time given', async () => {
    const items = Array.from({ length: 300 }, (_, index) => index);
    const seen: number[] = [];
    const startMs = performance.now();
    let halfMs = 0;
    await inSlots(items, 200, (item) => {
      if (seen.push(item) === 150) halfMs = performance.now() - startMs;
    });
    expect(seen).toEqual(items);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(180);
    expect(halfMs).toBeGreaterThanOrEqual(80);
  });

  test('no time: all at once, before anything else runs; no items: nothing', async () => {
    const seen: number[] = [];
    const done = inSlots([1, 2, 3], 0, (item) => seen.push(item));
    expect(seen).toEqual([1, 2, 3]);
    await done;
    await inSlots([], 1_000, () => expect.unreachable());
  });

  test('few items do not wait for the end of a long time', async () => {
    const startMs = performance.now();
    await inSlots([1, 2, 3], 60_000, () => {});
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

describe('close with drain', () => {
  test('GOAWAYs are spread over the time given; until it leaves, each link beats, answers and echoes', async () => {
    const { server, peers, goAwayAtMs } = await serving(40);
    const closing = server.close({ drainMs: 5_000, spreadMs: 300 });
    await eventually(() => peers.every((peer) => peer.framesWith(Flag.GoAway).length === 1), 'all told');
    expect(goAwayAtMs.at(-1)! - goAwayAtMs[0]!).toBeGreaterThanOrEqual(250);
    for (const peer of peers) peer.socket.write(Buffer.concat([echo, peer.frame(Flag.AckRequest)]));
    await eventually(() => peers.every((peer) => peer.hostBytes === echo.length), 'echoes after GOAWAY');
    await Promise.all(peers.map((peer) => peer.seen(2, Flag.Ack)));
    for (const peer of peers) peer.socket.end();
    await closing;
    expect(server.links).toBe(0);
  });

  test.each([
    ['a second, and a millisecond for each of 40 links', {}, 1_100], // GOAWAY counts tenths of a second
    ['what it is told', { retryAfterMs: 7_000 }, 7_000],
    ['as long as they like', { retryAfterMs: 0 }, 0],
    ['for good', { retryAfterMs: Infinity }, Infinity],
  ])('F50: clients are to stay away for %s', async (_title, options, expected) => {
    const { server, peers } = await serving(40);
    const closing = server.close(options);
    await eventually(() => peers.every((peer) => peer.framesWith(Flag.GoAway).length === 1), 'all told');
    for (const peer of peers) {
      const [goAway] = peer.framesWith(Flag.GoAway);
      expect(goAwayRetryAfterMs(goAway!.timestamp)).toBe(expected);
      peer.socket.end();
    }
    await closing;
  });

  test('without a time to drain all are told at once, and ended', async () => {
    const { server, peers, goAwayAtMs } = await serving(20);
    const closing = server.close();
    expect(goAwayAtMs).toHaveLength(20);
    await Promise.all(peers.map((peer) => peer.ended()));
    for (const peer of peers) peer.socket.end();
    await closing;
  });

  test('those who stay are ended when the time is over: it counts from the close, not from their GOAWAY', async () => {
    const { server, peers } = await serving(10);
    const startMs = performance.now();
    const closing = server.close({ drainMs: 400, spreadMs: 300 });
    await Promise.all(peers.map((peer) => peer.ended()));
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThanOrEqual(395);
    expect(tookMs).toBeLessThan(650 + 400); // a machine under load
    for (const peer of peers) peer.socket.end();
    await closing;
  });

  test('one who neither reads nor ends is cut a second after the end', async () => {
    const { server, peers } = await serving(1);
    peers[0]!.socket.pause();
    const startMs = performance.now();
    await server.close({ drainMs: 100 });
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(server.links).toBe(0);
  });

  test('nobody new gets in while it drains, and the hub of somebody else lives on', async () => {
    const hub = new HeartbeatHub();
    later(() => hub.close());
    const { server, peers } = await serving(1, { hub });
    const closing = server.close({ drainMs: 2_000 });
    const socket = tame(connect((peers[0]!.socket.remotePort as number) ?? 0, '127.0.0.1'));
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    peers[0]!.socket.end();
    await closing;
    expect([...hub.links()]).toEqual([]);
  });

  test('who comes through its PROXY header only while it drains is turned away', async () => {
    const hub = new HeartbeatHub(); // not the server's own, which would end what is left
    later(() => hub.close());
    const { server, port, peers } = await serving(0, {
      hub,
      proxyProtocol: true,
      trustedProxies: ['127.0.0.1'],
    });
    expect(peers).toEqual([]);
    const first = new RawPeer(tame(connect(port, '127.0.0.1')));
    first.socket.write(Buffer.concat([proxyV1('192.0.2.1'), first.frame(Flag.AckRequest)]));
    await first.seen(1, Flag.Ack);
    const late = new RawPeer(tame(connect(port, '127.0.0.1')));
    await once(late.socket, 'connect');
    await new Promise((resolve) => setTimeout(resolve, 20));
    const closing = server.close({ drainMs: 5_000 });
    late.socket.write(proxyV1('192.0.2.2'));
    await late.ended();
    expect(late.framesWith(Flag.GoAway)).toHaveLength(1);
    expect(server.links).toBe(1);
    first.socket.end();
    await closing;
    expect([...hub.links()]).toEqual([]);
  });

  test('a listener that throws keeps no link open; what it threw is thrown at the end', async () => {
    const { server, peers } = await serving(3);
    server.hub.once('leaving', () => {
      throw new Error('a listener');
    });
    const closing = server.close({ drainMs: 0 });
    const thrown = expect(closing).rejects.toThrow('a listener');
    await Promise.all(peers.map((peer) => peer.ended()));
    for (const peer of peers) peer.socket.end();
    await thrown;
    expect(server.links).toBe(0);
  });

  test.each([
    [{ drainMs: -1 }, /^drainMs/],
    [{ drainMs: 300_001 }, /^drainMs/],
    [{ drainMs: 100, spreadMs: 101 }, /^spreadMs must be a number in 0\.\.100/],
    [{ spreadMs: 1 }, /^spreadMs/],
    [{ retryAfterMs: -1 }, /^retryAfterMs/],
    [{ drain: 1 } as never, /drain/],
  ])('%j is refused', async (options, message) => {
    const server = createEchoServer();
    await expect(server.close(options)).rejects.toThrow(message);
  });
});
