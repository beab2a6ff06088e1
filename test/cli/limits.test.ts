/** The limits of `serve` as flags: each is changed, and what it does is seen. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Flag } from '../../src/wire/constants.ts';
import { encodeFrame } from '../../src/wire/frame.ts';
import { proxyV1 } from '../support/proxy-headers.ts';
import { CommandUnderTest, objectsOf } from './command.ts';

const command = new CommandUnderTest();
const sockets: Socket[] = [];
beforeAll(() => command.build());
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await command.dispose();
});

async function open(address: string): Promise<Socket> {
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host);
  sockets.push(socket);
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  return socket;
}

const ping = (seq: number): Buffer => encodeFrame({ flags: Flag.AckRequest, seq, timestamp: 0 });
const withPadding = (frame: Buffer): Buffer => Buffer.concat([frame.subarray(0, 15), Buffer.of(7)]);
const beats = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, (_, seq) => ping(seq)));

/** Send these bytes on a connection each; what `serve` says about the last one, and its summary. */
async function told(flags: string[], ...connections: Buffer[]): Promise<string> {
  const { server, address } = await command.serve('--drain', '0', '--json', ...flags);
  const own: Socket[] = [];
  for (const bytes of connections) {
    const socket = await open(address);
    own.push(socket);
    // Of several, each is let in or sent away before the next one comes.
    const decided = connections.length > 1 && Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.write(bytes);
    await decided;
  }
  await server.saying(/"type":"(closed|up)"(.|\n)*$/);
  for (const socket of own) if (socket.writable) socket.end();
  await new Promise((resolve) => setTimeout(resolve, 300));
  server.child.kill('SIGTERM');
  return (await server.ended).stdout;
}

describe.concurrent('serve', () => {
  test.each<[flags: string, bytes: Buffer, says: RegExp]>([
    ['--reserved strict', withPadding(ping(1)), /HB_ERR_RESERVED/],
    ['--reserved ignore', withPadding(ping(1)), /"closed":\{"peer-closed":1\}/],
    ['--max-payload 10', lengthPrefixedFrame(Buffer.alloc(10)), /"closed":\{"peer-closed":1\}/],
    ['--max-payload 10', lengthPrefixedFrame(Buffer.alloc(11)), /HB_ERR_HOST_TOO_LARGE/],
    ['--max-frames-per-second 5', beats(10), /"closed":\{"peer-closed":1\}/],
    ['--max-frames-per-second 5', beats(11), /HB_ERR_FRAME_RATE/],
    ['--first-life 100ms', Buffer.alloc(0), /HB_ERR_SILENT/],
  ])('%s, %#', async (flags, bytes, says) => {
    expect(await told(flags.split(' '), bytes)).toMatch(says);
  });

  test('--max-queued: a peer that does not read its echoes is no longer read itself, sooner or later', async () => {
    const takenBytes = async (limit: string): Promise<number> => {
      const { server, address } = await command.serve('--drain', '0', '-q', '--max-queued', limit);
      const socket = await open(address);
      socket.pause();
      const frame = lengthPrefixedFrame(Buffer.alloc(65_532));
      let idle = 0;
      for (let before = -1; idle < 10; before = socket.bytesWritten - socket.writableLength) {
        while (socket.writableLength < 2 ** 20) socket.write(frame);
        await new Promise((resolve) => setTimeout(resolve, 20));
        idle = socket.bytesWritten - socket.writableLength === before ? idle + 1 : 0;
      }
      const taken = socket.bytesWritten - socket.writableLength;
      socket.destroy();
      server.child.kill('SIGTERM');
      await server.ended;
      return taken;
    };
    const [little, much] = [await takenBytes('1'), await takenBytes(String(2 ** 25))];
    expect(much - little).toBeGreaterThan(2 ** 24);
  });

  test('--max-links-per-address, --proxy-protocol, --trusted-proxies: the client named counts', async () => {
    const flags = [
      '--max-links-per-address',
      '1',
      '--proxy-protocol',
      '--trusted-proxies',
      '10.0.0.0/8,127.0.0.1',
    ];
    const from = (address: string): Buffer => Buffer.concat([proxyV1(address), ping(1)]);
    const stdout = await told(flags, from('192.0.2.1'), from('192.0.2.1'), from('192.0.2.2'), ping(1));
    expect(objectsOf(stdout).at(-1)).toMatchObject({
      served: 2,
      refused: { HB_ERR_TOO_MANY_LINKS: 0, HB_ERR_TOO_MANY_FROM_ADDRESS: 1, HB_ERR_PROXY_HEADER: 1 },
    });
  });
});
