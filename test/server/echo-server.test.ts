/** The reference server: echoes and answers, its limits at the limit and one past it, and its end. */

import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { HeartbeatHub } from '../../src/net/hub.ts';
import { createEchoServer, type EchoServer } from '../../src/server/echo-server.ts';
import { lengthPrefixedFrame, lengthPrefixedFrameLength } from '../../src/server/length-prefix.ts';
import type { EchoServerOptions } from '../../src/server/options.ts';
import { Flag, GoAwayReason } from '../../src/wire/constants.ts';
import { goAwayReason } from '../../src/wire/param.ts';
import { FrameSplitter } from '../../src/wire/splitter.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, later, tame, tlsClient } from '../support/sockets.ts';

afterEach(closeAll);

async function serving(options: EchoServerOptions = {}): Promise<{ server: EchoServer; port: number }> {
  const server = createEchoServer(options);
  later(() => server.close());
  const { port } = (await server.listen()) as AddressInfo;
  return { server, port };
}

async function client(port: number): Promise<Socket> {
  const socket = tame(connect(port, '127.0.0.1'));
  await once(socket, 'connect');
  return socket;
}

const frameOf = (bytes: number): Buffer => lengthPrefixedFrame(Buffer.alloc(bytes, 7));

/** Talk on until the other side is found to be gone: a half-open end learns that from its own writes only. */
async function cutWhileTalking(socket: Socket): Promise<void> {
  await eventually(() => {
    if (!socket.destroyed) socket.write('x');
    return socket.destroyed;
  }, 'the cut');
}

/** The first `closed` of the server. */
async function closed(server: EchoServer): Promise<Record<string, unknown>> {
  const [, detail] = await once(server.hub as never, 'closed');
  return detail;
}

describe('echo', () => {
  test('mixed: frames come back and pings are answered on the same connection', async () => {
    const { port, server } = await serving();
    const peer = new RawPeer(await client(port));
    const frames = [frameOf(0), frameOf(1), frameOf(70_000)];
    peer.socket.write(
      Buffer.concat([peer.frame(Flag.AckRequest, 9), ...frames, peer.frame(Flag.AckRequest, 10)]),
    );
    await eventually(() => peer.hostBytes === 70_013 && peer.pongs.length === 2, 'echoes and answers');
    expect(peer.host.equals(Buffer.concat(frames))).toBe(true);
    expect(server.links).toBe(1);
  });

  test('heartbeat mode echoes nothing', async () => {
    const { port } = await serving({ mode: 'heartbeat' });
    const peer = new RawPeer(await client(port));
    peer.socket.write(Buffer.concat([frameOf(20), peer.frame(Flag.AckRequest)]));
    await peer.seen(1, Flag.Ack);
    expect(peer.hostBytes).toBe(0);
  });

  test('TLS', async () => {
    const { port } = await serving({ tls: TEST_TLS.server });
    const socket = tlsClient({ port });
    await once(socket, 'secureConnect');
    const peer = new RawPeer(socket);
    socket.write(Buffer.concat([frameOf(5_000), peer.frame(Flag.AckRequest)]));
    await eventually(() => peer.hostBytes === 5_004 && peer.pongs.length === 1, 'echo and answer');
  });

  test('session options reach the links', async () => {
    const { port, server } = await serving({
      intervalMs: 200,
      deadAfter: 5,
      role: 'responder',
      ask: 'always',
    });
    const peer = new RawPeer(await client(port));
    peer.send(Flag.AckRequest);
    await peer.seen(1, Flag.Ack);
    const [link] = server.hub.links();
    expect(link?.detectionTimeMs).toBe(1_400); // 2 x 200 + the first RTO, as no RTT is known
    expect(peer.pings).toEqual([]);
  });

  test('reserved ignore takes dirty padding', async () => {
    const { port } = await serving({ reserved: 'ignore' });
    const peer = new RawPeer(await client(port));
    const frame = peer.frame(Flag.AckRequest);
    frame[15] = 1;
    peer.socket.write(frame);
    expect(await peer.seen(1, Flag.Ack)).toHaveLength(1);
  });
});

describe('limits', () => {
  test('maxLinks: the last one is served, one more is told GOAWAY overloaded and ended; then room again', async () => {
    const { port, server } = await serving({ maxLinks: 2 });
    const first = new RawPeer(await client(port));
    const second = new RawPeer(await client(port));
    for (const peer of [first, second]) peer.send(Flag.AckRequest);
    await Promise.all([first.seen(1, Flag.Ack), second.seen(1, Flag.Ack)]);
    const third = new RawPeer(await client(port));
    third.send(Flag.AckRequest); // thrown away, and does not turn the goodbye into a reset
    await third.ended();
    expect(third.frames).toHaveLength(1);
    expect(third.frames[0]?.flags).toBe(Flag.GoAway | Flag.Param);
    expect(goAwayReason(third.frames[0]!.timestamp)).toBe(GoAwayReason.Overloaded);
    expect(server.refused).toMatchObject({ HB_ERR_TOO_MANY_LINKS: 1, HB_ERR_TOO_MANY_FROM_ADDRESS: 0 });
    first.socket.end();
    await eventually(() => server.links === 1, 'room');
    const fourth = new RawPeer(await client(port));
    fourth.send(Flag.AckRequest);
    await fourth.seen(1, Flag.Ack);
  });

  test('a refused connection that never ends its side is cut', async () => {
    const { port } = await serving({ maxLinks: 1 });
    await client(port);
    const refused = tame(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
    refused.resume();
    await once(refused, 'end');
    await cutWhileTalking(refused);
  });

  test('what a refused connection still sends is read and thrown away', async () => {
    const { port } = await serving({ maxLinks: 1 });
    await client(port);
    const refused = tame(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
    // More than both kernels hold: unread, it would be lost to a reset.
    const error = await new Promise((resolve) => refused.write(Buffer.alloc(12_000_000), resolve));
    expect(error ?? undefined).toBeUndefined();
  });

  test('maxLinksPerAddress does not count on loopback', async () => {
    const { port, server } = await serving({ maxLinksPerAddress: 1 });
    for (let index = 0; index < 3; index++) await client(port);
    await eventually(() => server.links === 3, 'three links');
  });

  test('maxPayloadBytes: echoed at the limit, HB_ERR_HOST_TOO_LARGE one past it', async () => {
    const { port, server } = await serving({ maxPayloadBytes: 100 });
    const peer = new RawPeer(await client(port));
    peer.socket.write(frameOf(100));
    await eventually(() => peer.hostBytes === 104, 'the echo');
    const closing = closed(server);
    peer.socket.write(frameOf(101));
    expect(await closing).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_HOST_TOO_LARGE' });
    await peer.ended();
    expect(peer.hostBytes).toBe(104);
  });

  test('firstLifeMs: a silent connection is closed as policy, HB_ERR_SILENT; one that spoke stays', async () => {
    const { port, server } = await serving({ firstLifeMs: 200 });
    const closing = closed(server);
    const speaking = new RawPeer(await client(port));
    speaking.send(0);
    const silent = await client(port);
    silent.resume();
    expect(await closing).toMatchObject({ cause: 'policy', code: 'HB_ERR_SILENT' });
    await once(silent, 'close');
    expect(server.links).toBe(1);
    expect(speaking.hasEnded).toBe(false);
  });

  test('firstLifeMs holds for a TLS handshake that does not come', async () => {
    const { port } = await serving({ tls: TEST_TLS.server, firstLifeMs: 200 });
    const silent = await client(port);
    silent.resume();
    await once(silent, 'close');
    expect(silent.bytesRead).toBe(0);
  });

  test.each([2 ** 20, 1])(
    '20 MB echoed to a slow reader arrive intact, maxQueuedBytes %i',
    async (maxQueuedBytes) => {
      const { port, server } = await serving({ maxQueuedBytes });
      const socket = await client(port);
      const payload = randomFillSync(Buffer.alloc(10_000));
      const frame = lengthPrefixedFrame(payload);
      const frames = 2_000;
      const [sent, got] = [createHash('sha256'), createHash('sha256')];
      let read = 0;
      let peakQueued = 0;
      let peakListeners = 0;
      // The server's own heartbeats may come between the echoes.
      const splitter = new FrameSplitter({
        onFrame() {},
        onHost: (bytes) => {
          got.update(bytes);
          read += bytes.length;
        },
        hostFrameLength: lengthPrefixedFrameLength,
        onError: (code) => expect.fail(code),
      });
      socket.on('data', (chunk) => {
        splitter.push(chunk);
        for (const link of server.hub.links()) {
          peakQueued = Math.max(peakQueued, link.socket.writableLength);
          peakListeners = Math.max(peakListeners, link.socket.listenerCount('drain'));
        }
        if (chunk.length % 7 === 0) {
          socket.pause(); // now and then it stops for a while
          setTimeout(() => socket.resume(), 1);
        }
      });
      for (let count = 0; count < frames; count++) {
        sent.update(frame);
        if (!socket.write(frame)) await once(socket, 'drain');
      }
      await eventually(() => read >= frames * frame.length, 'all of it', 15_000);
      expect(read).toBe(frames * frame.length);
      expect(got.digest('hex')).toBe(sent.digest('hex'));
      expect(peakQueued).toBeLessThan(maxQueuedBytes + 300_000); // what one read may add
      expect(peakListeners).toBeLessThanOrEqual(2);
    },
  );

  test('a peer that never reads is paused, and cut as peer-not-reading after a detection time', async () => {
    const { port, server } = await serving({ intervalMs: 100, maxQueuedBytes: 100_000 });
    const closing = closed(server);
    const socket = await client(port);
    socket.pause();
    const frame = frameOf(500_000);
    for (let count = 0; count < 60; count++) socket.write(frame);
    let peakQueued = 0;
    const watching = setInterval(() => {
      for (const link of server.hub.links()) peakQueued = Math.max(peakQueued, link.socket.writableLength);
    }, 5);
    later(() => clearInterval(watching));
    expect(await closing).toMatchObject({ cause: 'peer-not-reading' });
    expect(peakQueued).toBeLessThan(2_000_000);
    expect(server.links).toBe(0);
  });

  test.each([
    ['mode', { mode: 'both' }, '"both"'],
    ['reserved', { reserved: 'lax' }, '"lax"'],
    ['maxLinks', { maxLinks: 0 }, '0'],
    ['maxLinksPerAddress', { maxLinksPerAddress: 1_000_001 }, '1000001'],
    ['maxPayloadBytes', { maxPayloadBytes: 2 ** 24 }, '16777216'],
    ['maxQueuedBytes', { maxQueuedBytes: 0 }, '0'],
    ['firstLifeMs', { firstLifeMs: 0 }, '0'],
    ['intervalMs', { intervalMs: 50 }, '50'],
    ['hub', { hub: {} }, 'an object'],
    ['keepAlive.idleMs', { tune: { keepAlive: { idleMs: 5 } } }, '5'],
    ['options.maxlinks', { maxlinks: 1 }, 'is no option'],
  ])('%s: %o is refused by name and value, at creation', (name, options, shown) => {
    expect(() => createEchoServer(options as never)).toThrow(new RegExp(`^${name} .*${shown}`));
  });
});

describe('close', () => {
  test('drains: GOAWAY at once, echoes until the time is up, nobody new', async () => {
    const { port, server } = await serving();
    const peer = new RawPeer(await client(port));
    peer.send(Flag.AckRequest);
    await peer.seen(1, Flag.Ack);
    const closing = server.close({ drainMs: 500 });
    const [goAway] = await peer.seen(1, Flag.GoAway);
    expect(goAwayReason(goAway!.timestamp)).toBe(GoAwayReason.Leaving);
    peer.socket.write(frameOf(3));
    await eventually(() => peer.hostBytes === 7, 'an echo while draining');
    const late = tame(connect(port, '127.0.0.1'));
    const [error] = await once(late, 'error');
    expect(error.code).toBe('ECONNREFUSED');
    expect(peer.hasEnded).toBe(false);
    await peer.ended();
    await closing;
    expect(server.hub.stats().links).toBe(0);
    expect(server.address()).toBeNull();
  });

  test('does not wait for TLS handshakes, nor for connections turned away', async () => {
    const { port, server } = await serving({ tls: TEST_TLS.server });
    const silent = await client(port);
    await eventually(
      () => (server.server as never as { _connections: number })._connections === 1,
      'it is accepted',
    );
    const gone = once(silent.resume(), 'close');
    await server.close();
    await gone;
    const full = await serving({ maxLinks: 1 });
    (await client(full.port)).resume();
    const refused = tame(connect({ port: full.port, host: '127.0.0.1', allowHalfOpen: true }));
    refused.resume();
    await once(refused, 'end');
    const started = performance.now();
    await full.server.close();
    expect(performance.now() - started).toBeLessThan(900); // less than a refused one may linger
    await cutWhileTalking(refused);
  });

  test('with a hub of its owner: that hub lives on, and only the server’s links end', async () => {
    const hub = new HeartbeatHub();
    later(() => hub.close());
    const a = await serving({ hub });
    const b = await serving({ hub });
    const [one, other] = [new RawPeer(await client(a.port)), new RawPeer(await client(b.port))];
    for (const peer of [one, other]) peer.send(Flag.AckRequest);
    await Promise.all([one.seen(1, Flag.Ack), other.seen(1, Flag.Ack)]);
    expect([a.server.links, b.server.links, hub.stats().links]).toEqual([1, 1, 2]);
    await a.server.close();
    await one.ended();
    expect(hub.stats().links).toBe(1);
    other.send(Flag.AckRequest);
    await other.seen(2, Flag.Ack);
    expect(hub.observers.size).toBe(1);
  });

  test('a listener of the owner that throws, from before the server, keeps no count wrong', async () => {
    const hub = new HeartbeatHub();
    later(() => hub.close());
    hub.on('closed', () => {
      throw new Error('a listener');
    });
    const thrown: unknown[] = [];
    const onError = (error: unknown): number => thrown.push(error);
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException').on('uncaughtException', onError);
    try {
      const { server, port } = await serving({ hub, maxLinks: 1 });
      const first = new RawPeer(await client(port));
      first.send(Flag.AckRequest);
      await first.seen(1, Flag.Ack);
      first.socket.destroy();
      await eventually(() => server.links === 0, 'the link is counted out');
      const next = new RawPeer(await client(port));
      next.send(Flag.AckRequest);
      await next.seen(1, Flag.Ack);
      expect(thrown).toMatchObject([{ message: 'a listener' }]);
      next.socket.destroy();
      await eventually(() => server.links === 0, 'this one too');
    } finally {
      process.off('uncaughtException', onError);
      for (const listener of before) process.on('uncaughtException', listener);
    }
  });

  test('a connection to a server whose hub was closed by its owner is dropped, and nothing falls', async () => {
    const hub = new HeartbeatHub();
    const { port, server } = await serving({ hub });
    await hub.close();
    const socket = await client(port);
    socket.resume();
    await once(socket, 'close');
    expect(server.links).toBe(0);
  });

  test('closing twice, or before listening, resolves', async () => {
    const server = createEchoServer();
    await server.close();
    await server.close();
    expect(server.hub.scheduler.size).toBe(0);
  });
});
