/** The fault proxy on real sockets: what each setting does to bytes, ends and resets, and that nothing stays. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FaultProxy } from '../../src/testing/fault-proxy.ts';

/** Long enough for loopback on a busy machine, when something must not happen. */
const QUIET_MS = 60;

let server: Server;
let proxy: FaultProxy;
let accepted: Socket[];
let clients: Socket[];

beforeEach(async () => {
  accepted = [];
  clients = [];
  server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => {});
    accepted.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await new FaultProxy({ targetPort: (server.address() as AddressInfo).port }).listen();
});

afterEach(async () => {
  forget();
  await proxy.close();
  await new Promise((resolve) => server.close(resolve));
});

function forget(): void {
  for (const socket of [...accepted, ...clients]) socket.destroy();
  accepted = [];
  clients = [];
}

async function until(condition: () => boolean): Promise<void> {
  const untilMs = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > untilMs) throw new Error(`not within 5 s: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, QUIET_MS));

/** A connection through the proxy: the client's socket, the server's, and what each heard. */
async function connect(): Promise<{ client: Socket; peer: Socket; atClient: string[]; atPeer: string[] }> {
  const client = createConnection({
    port: proxy.port,
    host: '127.0.0.1',
    noDelay: true,
    allowHalfOpen: true,
  });
  clients.push(client);
  await until(() => accepted.length === clients.length && proxy.connections === clients.length);
  const peer = accepted.at(-1) as Socket;
  return { client, peer, atClient: listen(client), atPeer: listen(peer) };
}

function listen(socket: Socket): string[] {
  const heard: string[] = [];
  socket.on('data', (bytes) => heard.push(bytes.toString()));
  socket.on('end', () => heard.push('<end>'));
  socket.on('error', (error: NodeJS.ErrnoException) => heard.push(`<${error.code}>`));
  return heard;
}

describe('fault proxy', () => {
  test('passes bytes and half-closes through in both directions', async () => {
    const { client, peer, atClient, atPeer } = await connect();
    client.end('question');
    await until(() => atPeer.includes('<end>'));
    peer.end('answer');
    await until(() => atClient.includes('<end>'));
    expect([atPeer, atClient]).toEqual([
      ['question', '<end>'],
      ['answer', '<end>'],
    ]);
    await until(() => proxy.connections === 0);
    expect(proxy.accepted).toBe(1);
  });

  test('delays one direction, the end of the stream included, and not the other', async () => {
    const { client, peer, atClient, atPeer } = await connect();
    proxy.set('there', { delayMs: 150 });
    const startMs = performance.now();
    client.end('slow');
    peer.write('fast');
    await until(() => atClient.length > 0);
    expect(atPeer).toEqual([]);
    await until(() => atPeer.length > 0);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(150);
    await until(() => atPeer.length === 2);
    expect(atPeer).toEqual(['slow', '<end>']);
  });

  test('stall holds bytes and gives them later; black-hole throws them away, ends too', async () => {
    const { client, atPeer } = await connect();
    proxy.set('there', { mode: 'stall' });
    client.write('held ');
    await quiet();
    expect(atPeer).toEqual([]);
    proxy.heal();
    await until(() => atPeer.length > 0);
    proxy.set('there', { mode: 'black-hole' });
    client.end('lost');
    await quiet();
    proxy.heal();
    await quiet();
    expect(atPeer).toEqual(['held ']);
  });

  test('a stalled direction stops reading, so that its sender feels it', async () => {
    const { client } = await connect();
    proxy.set('there', { mode: 'stall' });
    let taken = 0;
    proxy.set('there', { damage: (bytes) => (taken += bytes.length) });
    client.write(Buffer.alloc(64 * 2 ** 20));
    for (let seen = -1; seen !== taken || taken === 0; await quiet()) seen = taken;
    expect(taken).toBeLessThan(4 * 2 ** 20);
    proxy.heal();
    await until(() => client.writableLength === 0);
  });

  test('throttles to the bytes per second asked for', async () => {
    const { client, peer } = await connect();
    proxy.set('there', { bytesPerSecond: 100_000 });
    let read = 0;
    peer.on('data', (bytes) => (read += bytes.length));
    const startMs = performance.now();
    client.write(Buffer.alloc(20_000));
    await until(() => read === 20_000);
    // The last piece need not wait for its own time on the wire.
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(175);
  });

  test('splits into pieces and merges chunks', async () => {
    const { client, atPeer } = await connect();
    proxy.set('there', { pieceBytes: 1 });
    client.write('abcdef');
    await until(() => atPeer.join('') === 'abcdef');
    expect(atPeer.length).toBeGreaterThan(1);
    atPeer.length = 0;
    proxy.heal();
    proxy.set('there', { mergeMs: 200 });
    // Right behind an edge of the slots, so that both chunks fall into one.
    await until(() => performance.now() % 200 < 20);
    client.write('one ');
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.write('two');
    await until(() => atPeer.length > 0);
    expect(atPeer).toEqual(['one two']);
  });

  test('damages what passes', async () => {
    const { client, atPeer } = await connect();
    proxy.set('there', {
      damage: (bytes) => {
        bytes[0] = 0x58;
      },
    });
    client.write('abc');
    await until(() => atPeer.length > 0);
    expect(atPeer).toEqual(['Xbc']);
  });

  test('cut ends both sides, reset resets both, and a reset of one side reaches the other', async () => {
    const first = await connect();
    proxy.cut();
    await until(() => first.atClient.length > 0 && first.atPeer.length > 0);
    expect([first.atClient, first.atPeer]).toEqual([['<end>'], ['<end>']]);
    forget();
    await until(() => proxy.connections === 0);

    const second = await connect();
    proxy.reset();
    await until(() => second.atClient.length > 0 && second.atPeer.length > 0);
    expect([second.atClient, second.atPeer]).toEqual([['<ECONNRESET>'], ['<ECONNRESET>']]);
    forget();

    const third = await connect();
    third.client.resetAndDestroy();
    await until(() => third.atPeer.length > 0);
    expect(third.atPeer).toEqual(['<ECONNRESET>']);
  });

  test('a server that is not there resets the client', async () => {
    await using other = await new FaultProxy({ targetPort: 1 }).listen();
    const client = createConnection({ port: other.port, host: '127.0.0.1' });
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNRESET');
  });

  test('closes with connections open and bytes held, twice', async () => {
    const { client, atClient } = await connect();
    proxy.set('both', { delayMs: 60_000 });
    client.write('never');
    await quiet();
    await Promise.all([proxy.close(), proxy.close()]);
    await until(() => atClient.length > 0);
    expect([proxy.connections, atClient]).toEqual([0, ['<ECONNRESET>']]);
  });

  test.each([
    [{ mode: 'gone' }, /^mode must be/],
    [{ delayMs: -1 }, /^delayMs must be/],
    [{ bytesPerSecond: 0 }, /^bytesPerSecond must be/],
    [{ pieceBytes: 0 }, /^pieceBytes must be/],
    [{ mergeMs: Number.NaN }, /^mergeMs must be/],
    [{ delay: 1 }, /^settings\.delay is no option/],
  ])('refuses the setting %j', (settings, message) => {
    expect(() => proxy.set('both', settings as never)).toThrow(message);
  });

  test('refuses options that are wrong, naming them', () => {
    expect(() => new FaultProxy({ targetPort: 0 })).toThrow(/^targetPort must be/);
    expect(() => new FaultProxy({ targetPort: 80, port: 65_536 })).toThrow(/^port must be/);
  });
});
