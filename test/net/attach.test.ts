/** Which sockets a hub takes, in which states, and what it refuses with which words. */
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { HeartbeatHub } from '../../src/net/hub.ts';
import { Flag } from '../../src/wire/constants.ts';
import { encodeFrame } from '../../src/wire/frame.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { RawPeer } from '../support/raw-peer.ts';
import {
  closeAll,
  eventually,
  type Kind,
  listening,
  newSocket,
  socketPair,
  tame,
  tlsClient,
} from '../support/sockets.ts';

afterEach(closeAll);

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

describe('sockets that carry a link', () => {
  for (const kind of ['tcp', 'tcp6', 'unix', 'tls'] as const satisfies Kind[]) {
    const lacks = kind === 'tcp6' && !hasIpv6;
    test.skipIf(lacks)(`connected, ${kind}${lacks ? ' [needs IPv6: not on this machine]' : ''}`, async () => {
      const { accepted, connected } = await socketPair(kind);
      const log = new HubLog();
      const peer = new RawPeer(connected);
      const link = log.hub.attach(accepted, { firstPhase: 0 });
      expect(link.socket).toBe(accepted);
      await log.next('up', link);
      expect(peer.pings).toHaveLength(1);
      await eventually(() => link.stats().pongsMatched === 1, 'our ping is answered');
      peer.send(Flag.AckRequest, 77, 5);
      expect(await peer.seen(1, Flag.Ack)).toEqual([{ flags: Flag.Ack, seq: 5, timestamp: 77 }]);
    });
  }

  test('still connecting: the clocks start when the connection stands', async () => {
    const server = createServer((socket) => new RawPeer(tame(socket)));
    const where = await listening(server, 'tcp');
    const log = new HubLog();
    const socket = newSocket();
    socket.connect({ ...where });
    expect(socket.connecting).toBe(true);
    const link = log.hub.attach(socket, { firstPhase: 0 });
    expect(log.hub.scheduler.size).toBe(0);
    expect(link.state).toBe('opening');
    await log.next('up', link);
    expect(log.hub.scheduler.size).toBe(1);
  });

  test('a connection that never comes about is closed with the system code, without a verdict', async () => {
    const server = createServer();
    const where = await listening(server, 'tcp');
    await new Promise((resolve) => server.close(resolve));
    const log = new HubLog();
    const socket = newSocket();
    socket.connect({ ...where });
    const link = log.hub.attach(socket);
    expect(await log.closed(link)).toMatchObject({ cause: 'peer-unreachable', code: 'ECONNREFUSED' });
    expect(log.names(link)).toEqual(['closed']);
  });

  test('accepted with pauseOnConnect: reading starts, and nothing that came meanwhile is lost', async () => {
    const { accepted, connected } = await socketPair('tcp', { pauseOnConnect: true });
    const peer = new RawPeer(connected);
    peer.send(Flag.AckRequest, 1, 41);
    const log = new HubLog();
    log.hub.attach(accepted);
    expect((await peer.seen(1, Flag.Ack))[0]?.seq).toBe(41);
  });

  test('a TLS client in its handshake: beats begin after it', async () => {
    const server = createTlsServer(TEST_TLS.server, (socket) => new RawPeer(tame(socket)));
    const where = await listening(server, 'tls');
    const log = new HubLog();
    const socket = tlsClient(where as { port: number });
    const link = log.hub.attach(socket, { firstPhase: 0 });
    expect(log.hub.scheduler.size).toBe(0); // no clock runs yet
    await once(socket, 'secureConnect');
    expect(link.state).toBe('opening');
    await log.next('up', link);
    expect(link.stats().pingsSent).toBe(1);
  });

  test('a TLS client whose server is not trusted closes with the reason and never sends a beat', async () => {
    const server = createTlsServer(TEST_TLS.server, (socket) => tame(socket));
    const where = await listening(server, 'tls');
    const log = new HubLog();
    const link = log.hub.attach(tlsClient(where as { port: number }, { ca: [] }), { firstPhase: 0 });
    const detail = await log.closed(link);
    expect(detail.code).toMatch(/CERT|SIGNED|VERIFY/);
    expect(link.stats().framesSent).toBe(0);
    expect(log.hub.scheduler.size).toBe(0);
  });

  test('bytes of `head` come first, then what the socket holds, then what is on its way', async () => {
    const { accepted, connected } = await socketPair('tcp', { pauseOnConnect: true });
    const peer = new RawPeer(connected);
    const bytes = Buffer.concat([1, 2, 3].map((timestamp) => peer.frame(Flag.AckRequest, timestamp)));
    accepted.unshift(bytes.subarray(7, 29));
    connected.write(bytes.subarray(29));
    new HubLog().hub.attach(accepted, { head: bytes.subarray(0, 7) });
    expect((await peer.seen(3, Flag.Ack)).map(({ timestamp }) => timestamp)).toEqual([1, 2, 3]);
  });

  test('damage in `head` before the connection stands ends the link and leaves no timer', async () => {
    const server = createServer((socket) => tame(socket));
    const where = await listening(server, 'tcp');
    const log = new HubLog();
    const socket = newSocket();
    socket.connect({ ...where });
    const { host } = recordingHost();
    const link = log.hub.attach(socket, { host, head: Buffer.from('GET / HTTP/1.1') });
    expect(await log.closed(link)).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_DESYNC' });
    expect(log.hub.scheduler.size).toBe(0);
  });
});

describe('sockets that are refused with HB_ERR_SOCKET_STATE', () => {
  const refused = (socket: Socket, why: RegExp): void => {
    const { hub } = new HubLog();
    expect(() => hub.attach(socket)).toThrow(
      expect.objectContaining({ code: 'HB_ERR_SOCKET_STATE', message: expect.stringMatching(why) }),
    );
    expect(hub.stats().links).toBe(0);
    expect(hub.scheduler.size).toBe(0);
  };

  test('destroyed', async () => {
    const { accepted } = await socketPair();
    accepted.destroy();
    refused(accepted, /destroyed/);
  });

  test('half-open by us: the writing side was ended', async () => {
    const { accepted } = await socketPair('tcp', { allowHalfOpen: true });
    accepted.end();
    refused(accepted, /writing side/);
  });

  test('half-open by the peer: its side was ended', async () => {
    const { accepted, connected } = await socketPair('tcp', { allowHalfOpen: true });
    accepted.resume();
    connected.end();
    await once(accepted, 'end');
    refused(accepted, /peer has ended/);
  });

  test('attached already, on this hub or another', async () => {
    const { accepted } = await socketPair();
    const { hub } = new HubLog();
    hub.attach(accepted);
    expect(() => hub.attach(accepted)).toThrow(expect.objectContaining({ code: 'HB_ERR_SOCKET_STATE' }));
    expect(hub.stats().links).toBe(1);
    refused(accepted, /has a link already/);
  });

  test('somebody else reads it', async () => {
    const { accepted } = await socketPair();
    accepted.on('data', () => {});
    refused(accepted, /somebody else reads/);
    accepted.removeAllListeners('data');
    accepted.on('readable', () => {});
    refused(accepted, /somebody else reads/);
  });

  test('its bytes are decoded as text', async () => {
    const { accepted } = await socketPair();
    accepted.setEncoding('utf8');
    refused(accepted, /setEncoding/);
  });

  test('nor can it be told to from then on, until it is given back', async () => {
    const { accepted } = await socketPair();
    const link = new HubLog().hub.attach(accepted);
    expect(() => accepted.setEncoding('utf8')).toThrow(
      expect.objectContaining({ code: 'HB_ERR_SOCKET_STATE', message: expect.stringMatching(/setEncoding/) }),
    );
    link.detach();
    expect(Object.hasOwn(accepted, 'setEncoding')).toBe(false);
    accepted.setEncoding('utf8');
  });

  test('a hub that is closed takes nothing, with HB_ERR_CLOSED', async () => {
    const { accepted } = await socketPair();
    const { hub } = new HubLog();
    await hub.close();
    expect(() => hub.attach(accepted)).toThrow(expect.objectContaining({ code: 'HB_ERR_CLOSED' }));
    expect(accepted.listenerCount('data')).toBe(0);
  });
});

describe('options', () => {
  const { host } = recordingHost();
  const wrong: [name: string, options: object, shown: string][] = [
    ['intervalMs', { intervalMs: 99 }, '99'],
    ['intervalMs', { intervalMs: 16_777_216 }, '16777216'],
    ['intervalMs', { intervalMs: Number.NaN }, 'NaN'],
    ['intervalMs', { intervalMs: Infinity }, 'Infinity'],
    ['intervalMs', { intervalMs: '100' }, '"100"'],
    ['deadAfter', { deadAfter: 0 }, '0'],
    ['deadAfter', { deadAfter: 256 }, '256'],
    ['suspectAfter', { suspectAfter: 3.5 }, '3.5'],
    ['role', { role: 'observer' }, '"observer"'],
    ['ask', { ask: 'never' }, '"never"'],
    ['preciseRtt', { preciseRtt: 1 }, '1'],
    ['firstLifeMs', { firstLifeMs: 0 }, '0'],
    ['firstLifeMs', { firstLifeMs: -Infinity }, '-Infinity'],
    ['firstPhase', { firstPhase: 1 }, '1'],
    ['firstPhase', { firstPhase: -0.1 }, '-0.1'],
    ['reserved', { reserved: 'lax' }, '"lax"'],
    ['noDelay', { noDelay: 'yes' }, '"yes"'],
    ['head', { head: 'text' }, '"text"'],
    ['onPong', { onPong: {} }, 'an object'],
    ['host', { host: 7 }, '7'],
    ['host.frameLength', { host: { ...host, frameLength: 4 } }, '4'],
    ['host.onFrame', { host: { ...host, onFrame: null } }, 'null'],
    ['host.delivery', { host: { ...host, delivery: 'half' } }, '"half"'],
    ['host.maxFrameBytes', { host: { ...host, maxFrameBytes: 0 } }, '0'],
    ['host.outboundFrameLength', { host: { ...host, outboundFrameLength: 1 } }, '1'],
    ['options.interval', { interval: 100 }, 'is no option'],
    ['host.frame', { host: { ...host, frame: 1 } }, 'is no option'],
  ];

  test.each(wrong)('%s: %o is refused by name and value', async (name, options, shown) => {
    const { accepted } = await socketPair();
    const { hub } = new HubLog();
    // A link with good options first: what is kept for equal options must not let bad ones pass.
    hub.attach((await socketPair()).accepted);
    const attach = () => hub.attach(accepted, options as never);
    expect(attach).toThrow(expect.objectContaining({ name: expect.stringMatching(/^(Type|Range)Error$/) }));
    expect(attach).toThrow(new RegExp(`^${name.replace('.', '\\.')} .*${shown.replace('.', '\\.')}`));
    expect(accepted.listenerCount('data')).toBe(0);
    expect(Object.hasOwn(accepted, 'write')).toBe(false);
  });

  test('things that are no sockets and no options are refused', async () => {
    const { hub } = new HubLog();
    expect(() => hub.attach(null as never)).toThrow(/^socket must be/);
    expect(() => hub.attach({ write() {} } as never)).toThrow(/^socket must be/);
    expect(() => hub.attach({} as never, null as never)).toThrow(/^options must be/);
    expect(() => new HeartbeatHub({ tickMs: 0 })).toThrow(/^tickMs .*0$/);
    expect(() => new HeartbeatHub({ tick: 1 } as never)).toThrow(/^options\.tick /);
  });

  test('a tick above a tenth of the interval is refused', async () => {
    const { accepted } = await socketPair();
    const { hub } = new HubLog({ tickMs: 11 });
    expect(() => hub.attach(accepted, { intervalMs: 109 })).toThrow(/^tickMs .*109.* got 11$/);
    expect(hub.attach(accepted, { intervalMs: 110 }).state).toBe('opening');
  });

  test('links with equal options share the policy and nothing else', async () => {
    const log = new HubLog();
    const attach = async (options: object) => log.hub.attach((await socketPair()).accepted, options);
    const policyOf = (link: object) => (link as { session: { policy: object } }).session.policy;
    const a = await attach({ intervalMs: 200, context: 'a' });
    const b = await attach({ intervalMs: 200, context: 'b' });
    const c = await attach({ intervalMs: 200, firstLifeMs: 300 });
    const others = [
      await attach({ intervalMs: 300 }),
      await attach({ intervalMs: 200, deadAfter: 4 }),
      await attach({ intervalMs: 200, suspectAfter: 1.5 }),
      await attach({ intervalMs: 200, role: 'responder' }),
      await attach({ intervalMs: 200, ask: 'always' }),
      await attach({ intervalMs: 200, preciseRtt: true }),
    ];
    expect(policyOf(b)).toBe(policyOf(a));
    expect(new Set([a, c, ...others].map(policyOf)).size).toBe(2 + others.length);
    expect([a.context, b.context]).toEqual(['a', 'b']);
    expect(new Set([a, b, c, ...others].map(({ id }) => id)).size).toBe(3 + others.length);
    a.setDegraded(true);
    a.destroy();
    expect([a.state, b.state]).toEqual(['closed', 'opening']);
    expect((await log.closed(c)).code).toBe('HB_ERR_SILENT'); // only the link that asked for it
    expect(b.state).not.toBe('closed');
  });

  test('noDelay: Nagle is off unless asked to stay', async () => {
    const calls: boolean[] = [];
    const spied = async (): Promise<Socket> => {
      const { accepted } = await socketPair();
      const original = accepted.setNoDelay;
      accepted.setNoDelay = (value) => {
        calls.push(value === true);
        return original.call(accepted, value);
      };
      return accepted;
    };
    const { hub } = new HubLog();
    hub.attach(await spied(), { noDelay: false });
    expect(calls).toEqual([]);
    hub.attach(await spied());
    expect(calls).toEqual([true]);
  });
});

test('head is delivered after attach has returned, also on a socket that flows already', async () => {
  const { accepted } = await socketPair();
  accepted.resume();
  const hub = new HeartbeatHub();
  let attached = false;
  const seen: boolean[] = [];
  hub.on('up', (link) => {
    seen.push(attached);
    link.destroy();
  });
  hub.attach(accepted, { head: encodeFrame({ flags: 0, seq: 1, timestamp: 1 }) });
  attached = true;
  await new Promise((resolve) => hub.once('closed', resolve));
  expect([seen, hub.stats().links]).toEqual([[true], 0]);
  await hub.close();
});

test('what waits from a pause comes before what is read after it', async () => {
  const { accepted } = await socketPair();
  const link = new HubLog().hub.attach(accepted);
  const frame = encodeFrame({ flags: 0, seq: 1, timestamp: 1 });
  accepted.pause();
  accepted.push(frame.subarray(0, 5));
  accepted.resume();
  accepted.push(frame.subarray(5));
  await eventually(() => link.stats().framesReceived === 1, 'the beat, whole');
  expect(link.stats().resyncBytes).toBe(0);
});

test("a socket with a `push` of its own keeps it, during the link's time and after", async () => {
  const { accepted, connected } = await socketPair();
  const pushed: unknown[] = [];
  const own: Socket['push'] = function (this: Socket, chunk, encoding) {
    pushed.push(chunk);
    return Socket.prototype.push.call(this, chunk, encoding);
  };
  accepted.push = own;
  const link = new HubLog().hub.attach(accepted);
  connected.write(encodeFrame({ flags: 0, seq: 1, timestamp: 1 }));
  await eventually(() => link.stats().framesReceived === 1, 'the beat');
  expect(pushed).toHaveLength(1);
  link.detach();
  expect(accepted.push).toBe(own);
});

test('who reads beside us later sees what comes from then on; so does the link', async () => {
  for (const event of ['data', 'readable'] as const) {
    const { accepted, connected } = await socketPair();
    const link = new HubLog().hub.attach(accepted);
    connected.write(encodeFrame({ flags: 0, seq: 1, timestamp: 1 }));
    await eventually(() => link.stats().framesReceived === 1, 'the first beat');
    const seen: Buffer[] = [];
    if (event === 'data') accepted.on('data', (chunk: Buffer) => seen.push(chunk));
    else accepted.on('readable', () => seen.push(accepted.read() as Buffer));
    connected.write(encodeFrame({ flags: 0, seq: 2, timestamp: 2 }));
    await eventually(() => link.stats().framesReceived === 2, 'the second beat');
    expect(seen.map((chunk) => chunk.length)).toEqual([16]);
  }
});
