/** A server behind load balancers: whose connection it is, who counts by address, and headers that do not come. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { createEchoServer, type EchoServer } from '../../src/server/echo-server.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import type { EchoServerOptions } from '../../src/server/options.ts';
import { Flag } from '../../src/wire/constants.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { proxyV1, proxyV2 } from '../support/proxy-headers.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, later, tame } from '../support/sockets.ts';

afterEach(closeAll);

const PROXIED: EchoServerOptions = { trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'], proxyProtocol: true };
const NOTHING_REFUSED = { HB_ERR_TOO_MANY_LINKS: 0, HB_ERR_TOO_MANY_FROM_ADDRESS: 0, HB_ERR_PROXY_HEADER: 0 };

async function serving(options: EchoServerOptions): Promise<{ server: EchoServer; port: number }> {
  const server = createEchoServer(options);
  later(() => server.close());
  return { server, port: ((await server.listen()) as AddressInfo).port };
}

async function client(port: number, header?: Buffer): Promise<Socket> {
  const socket = tame(connect(port, '127.0.0.1'));
  await once(socket, 'connect');
  if (header !== undefined) socket.write(header);
  return socket;
}

/** Heartbeats and echo work on this connection. */
async function isServed(socket: Socket): Promise<RawPeer> {
  const peer = new RawPeer(socket);
  socket.write(Buffer.concat([peer.frame(Flag.AckRequest, 5), lengthPrefixedFrame(Buffer.from('hello'))]));
  await eventually(() => peer.pongs.length === 1 && peer.hostBytes === 9, 'answer and echo');
  return peer;
}

const HEADERS: [string, Buffer][] = [
  ['version 1', proxyV1('192.0.2.7')],
  ['version 2', proxyV2(0x21, 0x11, 'c0000207 0a090909 8000 1cf0')],
];

describe.each(HEADERS)('a PROXY header, %s', (_version, header) => {
  test('cut anywhere, with the first frames in the same bytes or not: the link is served', async () => {
    const { port, server } = await serving(PROXIED);
    const ping = Buffer.from('48420101feffffff78563412168a0000', 'hex');
    const bytes = Buffer.concat([header, ping]);
    await Promise.all(
      Array.from({ length: bytes.length }, async (_, cut) => {
        const socket = await client(port);
        socket.setNoDelay(true);
        const peer = new RawPeer(socket);
        socket.write(bytes.subarray(0, cut));
        await new Promise((resolve) => setTimeout(resolve, 5));
        socket.write(bytes.subarray(cut));
        await peer.seen(1, Flag.Ack);
      }),
    );
    expect(server.links).toBe(bytes.length);
    expect(server.refused).toEqual(NOTHING_REFUSED);
  });

  test('under TLS, the hello in the same bytes as the header', async () => {
    const { port, server } = await serving({ ...PROXIED, tls: TEST_TLS.server });
    const raw = await client(port);
    raw.cork();
    raw.write(header);
    const socket = tame(connectTls({ socket: raw, ca: TEST_TLS.ca, servername: 'localhost' }));
    process.nextTick(() => raw.uncork());
    await once(socket, 'secureConnect');
    await isServed(socket);
    expect(server.links).toBe(1);
    await server.close();
  });
});

describe('links per address behind a proxy', () => {
  test.each([
    ['plain', {}],
    ['TLS', { tls: TEST_TLS.server }],
  ] as const)('the client it names is limited, not the proxy, %s', async (_name, tls) => {
    const { port, server } = await serving({ ...PROXIED, ...tls, maxLinksPerAddress: 1 });
    const from = async (address: string): Promise<Socket> => {
      const raw = await client(port, proxyV1(address));
      if (!('tls' in tls)) return raw;
      const socket = tame(connectTls({ socket: raw, ca: TEST_TLS.ca, servername: 'localhost' }));
      await once(socket, 'secureConnect');
      return socket;
    };
    const first = await isServed(await from('192.0.2.1'));
    await isServed(await from('192.0.2.2'));
    const second = new RawPeer(await from('192.0.2.1'));
    await second.ended();
    expect(second.framesWith(Flag.GoAway)).toHaveLength(1);
    expect(server.refused).toEqual({ ...NOTHING_REFUSED, HB_ERR_TOO_MANY_FROM_ADDRESS: 1 });
    first.socket.end();
    await eventually(() => server.links === 1, 'room');
    await isServed(await from('192.0.2.1'));
  });

  test('a trusted proxy named by another, or speaking for itself, is not limited', async () => {
    const { port, server } = await serving({ ...PROXIED, maxLinksPerAddress: 1 });
    const headers = [proxyV1('10.1.2.3'), proxyV1('10.1.2.3'), proxyV2(0x20, 0, ''), proxyV2(0x20, 0, '')];
    for (const header of headers) await isServed(await client(port, header));
    expect(server.links).toBe(4);
  });
});

describe('no good header', () => {
  test.each<[string, Buffer | undefined]>([
    ['heartbeats at once', Buffer.from('48420101feffffff78563412168a0000', 'hex')],
    ['a malformed one', Buffer.from('PROXY TCP4 nobody\r\n')],
    ['nothing within firstLifeMs', undefined],
  ])('from a trusted proxy is cut and counted: %s', async (_what, bytes) => {
    const { port, server } = await serving({ ...PROXIED, firstLifeMs: 100 });
    const socket = await client(port, bytes);
    socket.resume();
    await once(socket, 'close');
    expect(server.refused).toEqual({ ...NOTHING_REFUSED, HB_ERR_PROXY_HEADER: 1 });
    expect(server.links).toBe(0);
  });

  test('a proxy that resets or ends in the middle of its header harms nobody', async () => {
    const { port, server } = await serving(PROXIED);
    const ending = await client(port, HEADERS[0]![1].subarray(0, 9));
    ending.end();
    const resetting = await client(port, HEADERS[1]![1].subarray(0, 9));
    await new Promise((resolve) => setTimeout(resolve, 20));
    resetting.resetAndDestroy();
    await eventually(() => server.refused.HB_ERR_PROXY_HEADER === 2, 'both refused');
    await isServed(await client(port, HEADERS[0]![1]));
  });

  test('whom we do not trust is taken at its bytes: without a header served, with one out of sync', async () => {
    const { port, server } = await serving({ trustedProxies: ['192.0.2.0/24'], proxyProtocol: true });
    await isServed(await client(port));
    const closed = once(server.hub as never, 'closed');
    await client(port, proxyV1('192.0.2.7'));
    expect((await closed)[1]).toMatchObject({ code: 'HB_ERR_DESYNC' });
  });

  test('closing the server does not wait for a header that never comes', async () => {
    const { port, server } = await serving(PROXIED);
    const socket = await client(port);
    socket.resume();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([server.close(), once(socket, 'close')]);
  });
});

test.each<[EchoServerOptions, RegExp]>([
  [{ proxyProtocol: true }, /^trustedProxies must be given when proxyProtocol is on/],
  [{ proxyProtocol: 1 as never }, /^proxyProtocol must be true or false/],
  [{ trustedProxies: ['nowhere'] }, /^trustedProxies must be addresses/],
  [{ maxFramesPerSecond: 0 }, /^maxFramesPerSecond must be a number/],
])('%j is refused', (options, message) => {
  expect(() => createEchoServer(options)).toThrow(message);
});

test('maxFramesPerSecond reaches the links', async () => {
  const { port, server } = await serving({ maxFramesPerSecond: 1, intervalMs: 60_000 });
  const peer = new RawPeer(await client(port));
  const closed = once(server.hub as never, 'closed');
  for (let count = 0; count < 3; count++) peer.send(0);
  await peer.ended();
  peer.socket.end();
  expect((await closed)[1]).toMatchObject({ cause: 'policy', code: 'HB_ERR_FRAME_RATE' });
});
