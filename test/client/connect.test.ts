/** Connecting: what counts as connected, over every kind of socket, and every way in which it can fail. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { type ConnectOptions, connectHeartbeat } from '../../src/client/connect.ts';
import { createEchoServer } from '../../src/server/echo-server.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import type { EchoServerOptions } from '../../src/server/options.ts';
import { Authority, TEST_TLS } from '../support/certificates.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, later, listening, tame, temporaryFolder } from '../support/sockets.ts';

afterEach(closeAll);

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

async function echo(options: EchoServerOptions = {}, where: object = {}): Promise<{ port: number }> {
  const server = createEchoServer(options);
  later(() => server.close());
  const address = await server.listen(where);
  return { port: (address as AddressInfo).port };
}

/** A server that does with each connection what it is told; the sockets it has. */
async function rawServer(
  onSocket: (socket: Socket) => void = () => {},
): Promise<{ port: number; sockets: Socket[]; server: Server }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(tame(socket));
    onSocket(socket);
    socket.resume(); // so that it sees the other end go
  });
  const { port } = (await listening(server, 'tcp')) as { port: number };
  return { port, sockets, server };
}

/** A port nobody listens on. */
async function closedPort(): Promise<number> {
  const { port, server } = await rawServer();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const handles = (): number =>
  process
    .getActiveResourcesInfo()
    .filter((name) => /TCPSocket|PipeWrap|Timeout|GetAddrInfo|TCPConnect/.test(name)).length;

/** The attempt must fail like this and leave nothing: no link, no timer, no handle. */
async function fails(options: ConnectOptions, expected: object): Promise<void> {
  const log = new HubLog();
  const before = handles();
  await expect(connectHeartbeat({ hub: log.hub, ...options })).rejects.toMatchObject(expected);
  expect(log.hub.stats().links).toBe(0);
  expect(log.hub.scheduler.size).toBe(0);
  await eventually(() => handles() <= before, `no handles left (${process.getActiveResourcesInfo()})`);
}

describe('connects', () => {
  test('over TCP: the link is up and measured', async () => {
    const { hub } = new HubLog();
    const link = await connectHeartbeat({ ...(await echo()), hub, context: 'c' });
    expect(link.state).toBe('up');
    expect(link.context).toBe('c');
    expect(link.stats()).toMatchObject({ pingsSent: 1, pongsMatched: 1 });
    expect([...hub.links()]).toEqual([link]);
  });

  test.skipIf(!hasIpv6)(`over IPv6${hasIpv6 ? '' : ' [needs IPv6: not on this machine]'}`, async () => {
    const { port } = await echo({}, { host: '::1' });
    expect((await connectHeartbeat({ port, host: '::1', hub: new HubLog().hub })).state).toBe('up');
  });

  test('over a unix socket', async () => {
    const path = join(temporaryFolder(), 's');
    await echo({}, { path });
    expect((await connectHeartbeat({ path, hub: new HubLog().hub })).state).toBe('up');
  });

  test('over TLS: by name, and by address with the name to be checked', async () => {
    const where = await echo({ tls: TEST_TLS.server });
    const { hub } = new HubLog();
    const { ca } = TEST_TLS;
    const named = await connectHeartbeat({ ...where, hub, host: 'localhost', tls: { ca } });
    const addressed = await connectHeartbeat({ ...where, hub, tls: { ca, servername: 'localhost' } });
    const byAddress = await connectHeartbeat({ ...where, hub, tls: { ca } });
    expect([named.state, addressed.state, byAddress.state]).toEqual(['up', 'up', 'up']);
  });

  test('over TLS with a certificate of its own, which the server demands', async () => {
    const demanding = { ...TEST_TLS.server, ca: TEST_TLS.ca, requestCert: true, rejectUnauthorized: true };
    const where = await echo({ tls: demanding });
    const tls = { ca: TEST_TLS.ca, ...TEST_TLS.client };
    expect((await connectHeartbeat({ ...where, hub: new HubLog().hub, tls })).state).toBe('up');
    const refused = connectHeartbeat({ ...where, hub: new HubLog().hub, tls: { ca: TEST_TLS.ca } });
    await expect(refused).rejects.toMatchObject({ name: 'WirebeatError' });
  });

  test('shared with a host protocol', async () => {
    const { host, got } = recordingHost();
    const link = await connectHeartbeat({ ...(await echo()), hub: new HubLog().hub, protocol: host });
    const frame = lengthPrefixedFrame(Buffer.from('hello'));
    link.write(frame);
    await eventually(() => got.length === 1, 'the echo');
    expect(got[0]).toEqual(frame);
  });

  test('waitFor connect: resolves though the peer says nothing; plain and TLS', async () => {
    const { port } = await rawServer();
    const { hub } = new HubLog();
    const link = await connectHeartbeat({ port, hub, waitFor: 'connect' });
    expect([link.state, link.stats().framesReceived]).toEqual(['opening', 0]);
    const server = createTlsServer(TEST_TLS.server, (socket) => tame(socket));
    const where = (await listening(server, 'tls')) as { port: number };
    const tls = { ca: TEST_TLS.ca };
    const secure = await connectHeartbeat({ ...where, hub, waitFor: 'connect', tls });
    expect(secure.state).toBe('opening');
    expect((secure.socket as unknown as { authorized: boolean }).authorized).toBe(true);
  });

  test('leaves nothing behind on the signal, and no timer', async () => {
    const controller = new AbortController();
    const where = await echo();
    const before = handles();
    const { hub } = new HubLog();
    const link = await connectHeartbeat({ ...where, hub, signal: controller.signal });
    controller.abort();
    expect(link.state).toBe('up');
    link.destroy();
    await eventually(() => handles() <= before, 'no handles left');
  });
});

describe('fails', () => {
  test('refused: ECONNREFUSED, and where', async () => {
    const port = await closedPort();
    await fails({ port }, { code: 'ECONNREFUSED', message: expect.stringContaining(`127.0.0.1:${port}`) });
    await fails({ port, waitFor: 'connect' }, { code: 'ECONNREFUSED' });
    if (hasIpv6) await fails({ port, host: '::1' }, { message: expect.stringContaining(`[::1]:${port}`) });
  });

  test('no such unix socket', async () => {
    const path = join(temporaryFolder(), 'none');
    const why = `unix:${path} closed before the link was up (peer-unreachable: ENOENT: there is no socket ${path})`;
    await fails({ path }, { code: 'ENOENT', message: why });
  });

  test('a name that does not resolve', async () => {
    // Where no resolver answers at all, the system says EAI_AGAIN instead.
    await fails(
      { port: 1, host: 'no-such-host.invalid' },
      {
        code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
        message: expect.stringMatching(/^no-such-host\.invalid:1 .*\(name-unresolved: /),
      },
    );
  });

  test('a server that accepts and says nothing: HB_ERR_TIMEOUT when that comes first', async () => {
    const { port, sockets } = await rawServer();
    await fails(
      { port, timeoutMs: 100 },
      { code: 'HB_ERR_TIMEOUT', message: expect.stringContaining('100 ms') },
    );
    await eventually(() => sockets.every((socket) => socket.destroyed), 'the other side sees the end');
  });

  test('F20: a server that accepts and says nothing: HB_ERR_NEVER_ANSWERED when the verdict comes first', async () => {
    const { port } = await rawServer();
    await fails({ port, intervalMs: 100 }, { code: 'HB_ERR_NEVER_ANSWERED' });
  });

  test('a server that says nothing and closes, and one that resets', async () => {
    const closing = await rawServer((socket) => socket.end());
    await fails(
      { port: closing.port },
      { code: 'HB_ERR_CLOSED', message: expect.stringContaining('peer-closed') },
    );
    const resetting = await rawServer((socket) => socket.resetAndDestroy());
    await fails({ port: resetting.port }, { code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) });
  });

  test('a server that speaks something else: the code of the damage', async () => {
    const { port } = await rawServer((socket) => socket.write('SSH-2.0-other\r\n'.repeat(80)));
    await fails({ port }, { code: 'HB_ERR_RESYNC' });
    await fails({ port, protocol: recordingHost().host }, { code: 'HB_ERR_DESYNC' });
  });

  test('a server that is full, plain or shared: HB_ERR_CLOSED, and that it left us', async () => {
    const where = await echo({ maxLinks: 1 });
    await connectHeartbeat({ ...where, hub: new HubLog().hub });
    const left = { code: 'HB_ERR_CLOSED', message: expect.stringContaining('(left)') };
    await fails(where, left);
    await fails({ ...where, protocol: recordingHost().host }, left);
  });

  test('TLS: an authority we do not know, a name that is not in the certificate, no TLS at all', async () => {
    const where = await echo({ tls: TEST_TLS.server });
    const stranger = new Authority('somebody else').cert;
    await fails(
      { ...where, tls: true },
      {
        code: expect.stringMatching(/CERT|SIGNATURE|SIGNED/),
        message: expect.stringContaining('(untrusted: '),
      },
    );
    await fails(
      { ...where, tls: { ca: stranger } },
      {
        code: expect.stringMatching(/CERT|SIGNATURE|SIGNED/),
        message: expect.stringMatching(/certificate|signature/),
      },
    );
    await fails(
      { ...where, tls: { ca: TEST_TLS.ca, servername: 'other.example' } },
      { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    );
    const speaker = await rawServer((socket) => socket.write('hello, plainly\r\n'.repeat(9)));
    await fails(
      { port: speaker.port, tls: { ca: TEST_TLS.ca } },
      {
        message: expect.stringMatching(/\(protocol-error: ERR_SSL_\w+: the other side does not speak TLS\)$/),
      },
    );
    await fails({ ...(await echo()), tls: { ca: TEST_TLS.ca }, timeoutMs: 3_000 }, { name: 'WirebeatError' });
  });

  test('aborted before: nothing is opened', async () => {
    const { port, sockets } = await rawServer();
    const reason = new Error('changed my mind');
    await fails({ port, signal: AbortSignal.abort(reason) }, { message: 'changed my mind' });
    expect(sockets).toEqual([]);
  });

  test('aborted during: the signal’s reason', async () => {
    const { port, sockets } = await rawServer();
    const controller = new AbortController();
    const failing = fails({ port, signal: controller.signal }, { message: 'enough' });
    await eventually(() => sockets.length === 1, 'the connection');
    controller.abort(new Error('enough'));
    await failing;
    await eventually(() => sockets[0]!.destroyed, 'the other side sees the end');
  });

  test.each([
    ['port', {}, 'undefined'],
    ['port', { port: 0 }, '0'],
    ['port', { port: 65_536 }, '65536'],
    ['port', { port: '80' }, '"80"'],
    ['host', { port: 1, host: '' }, '""'],
    ['path', { path: '' }, '""'],
    ['timeoutMs', { port: 1, timeoutMs: 0 }, '0'],
    ['timeoutMs', { port: 1, timeoutMs: 2 ** 31 }, '2147483648'],
    ['waitFor', { port: 1, waitFor: 'ever' }, '"ever"'],
    ['intervalMs', { port: 1, intervalMs: 1 }, '1'],
    ['options.prot', { port: 1, prot: 2 }, 'is no option'],
  ])('%s: %o is refused by name and value, and nothing stays open', async (name, options, shown) => {
    await fails(options as never, { message: expect.stringMatching(new RegExp(`^${name} .*${shown}`)) });
  });

  test('a peer that answers once and is silent then is found by the link’s own verdict', async () => {
    const { port } = await rawServer((socket) => {
      const peer = new RawPeer(socket);
      socket.once('data', () => {
        peer.answers = false;
      });
    });
    const log = new HubLog();
    const link = await connectHeartbeat({ port, hub: log.hub, intervalMs: 100 });
    expect(await log.closed(link)).toMatchObject({ cause: 'process-hung' });
  });
});
