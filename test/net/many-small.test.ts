/** Many small host frames in one chunk: their answers leave together, in order, and the other links get their turn. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Flag } from '../../src/wire/constants.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

const TINY = lengthPrefixedFrame(Buffer.alloc(0));

interface Echo {
  readonly link: Link;
  readonly peer: RawPeer;
  /** Sizes of what was handed to the socket. */
  readonly writes: number[];
}

async function echo(
  onFrame: (link: Link, bytes: Uint8Array) => void = (link, bytes) => void link.write(bytes),
  options: AttachOptions = {},
): Promise<Echo> {
  const { accepted, connected } = await socketPair();
  const peer = new RawPeer(connected);
  const writes: number[] = [];
  const write = accepted.write;
  accepted.write = ((bytes: Uint8Array, ...rest: []) => {
    writes.push(bytes.length);
    return write.call(accepted, bytes, ...rest);
  }) as typeof accepted.write;
  const { host } = recordingHost({ onFrame });
  return { link: new HubLog().hub.attach(accepted, { host, firstPhase: 0.9, ...options }), peer, writes };
}

test('ten thousand answers to one chunk leave in order, with the answers to pings between, in few writes', async () => {
  const { link, peer, writes } = await echo();
  const numbered = Array.from({ length: 10_000 }, (_, index) => {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(index);
    return lengthPrefixedFrame(payload);
  });
  const chunk = numbered.flatMap((frame, index) =>
    index % 1_000 === 999 ? [frame, peer.frame(Flag.AckRequest)] : [frame],
  );
  let received = Buffer.alloc(0);
  peer.socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
  });
  link.socket.emit('data', Buffer.concat(chunk));
  const bytes = numbered.length * 6 + 10 * 16;
  await eventually(() => received.length === bytes, 'all answers');
  const pongs = Array.from({ length: 10 }, (_, index) => (index + 1) * 6_000 + index * 16);
  for (const at of pongs) expect(received.subarray(at, at + 4).toString('hex')).toBe('48420104');
  const host = Buffer.concat(
    [0, ...pongs.map((at) => at + 16)].map((at, index) => received.subarray(at, pongs[index])),
  );
  expect(host.equals(Buffer.concat(numbered))).toBe(true);
  expect(writes.length).toBeLessThanOrEqual(4);
});

test('what was written goes out before the host ends or destroys the connection in the same call', async () => {
  for (const end of [(link: Link) => void link.socket.end(), (link: Link) => link.destroy()]) {
    let frames = 0;
    const { link, peer } = await echo((own, bytes) => {
      own.write(bytes);
      if (++frames === 3) end(own);
    });
    let received = '';
    peer.socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('hex');
    });
    const closed = new Promise((resolve) => peer.socket.once('close', resolve));
    link.socket.emit('data', Buffer.concat([TINY, TINY, TINY]));
    await closed;
    expect(received).toBe('00000000'.repeat(3));
  }
});

test('the own `end` of a socket is called, and is its own again after detach', async () => {
  const { accepted } = await socketPair();
  const calls: string[] = [];
  const end = ((...args: []) => {
    calls.push('end');
    return Object.getPrototypeOf(accepted).end.apply(accepted, args);
  }) as typeof accepted.end;
  accepted.end = end;
  const { socket } = new HubLog().hub.attach(accepted).detach();
  expect(socket.end).toBe(end);
  new HubLog().hub.attach(accepted);
  accepted.end();
  expect(calls).toEqual(['end']);
  const plain = (await socketPair()).accepted;
  new HubLog().hub.attach(plain).detach();
  expect(Object.hasOwn(plain, 'end')).toBe(false);
});

test('a chunk of many frames is enough for one turn: the socket rests, unless paused by the host', async () => {
  const { link } = await echo(() => {});
  const chunk = Buffer.concat(Array.from({ length: 1_025 }, () => TINY));
  link.socket.emit('data', chunk.subarray(TINY.length));
  expect(link.socket.isPaused()).toBe(false);
  link.socket.emit('data', chunk);
  expect(link.socket.isPaused()).toBe(true);
  expect(link.state).toBe('up'); // not a pause of the host's
  await turn();
  await turn();
  expect(link.socket.isPaused()).toBe(false);
  link.socket.emit('data', chunk);
  link.pause();
  await turn();
  await turn();
  expect(link.socket.isPaused()).toBe(true);
  link.resume();
  expect(link.socket.isPaused()).toBe(false);
});

test('back-pressure is told to a host that answers within a chunk', async () => {
  const told: boolean[] = [];
  const { link, peer } = await echo((own, bytes) => void told.push(own.write(bytes)));
  peer.socket.pause();
  const chunk = Buffer.concat(Array.from({ length: 16 }, () => lengthPrefixedFrame(Buffer.alloc(4_000))));
  for (let count = 0; count < 1_000 && !told.includes(false); count++) link.socket.emit('data', chunk);
  expect(told).toContain(false);
  expect(link.socket.writableNeedDrain).toBe(true);
});

test.each(['setDegraded', 'leave', 'read'] as const)(
  'another link that is made to %s while answers wait here keeps its frames to itself',
  async (what) => {
    const log = new HubLog();
    const [one, other] = [await socketPair(), await socketPair()];
    const otherPeer = new RawPeer(other.connected);
    const second = log.hub.attach(other.accepted, { firstPhase: 0.9 });
    const { host } = recordingHost({
      onFrame: () => {
        if (what === 'setDegraded') second.setDegraded(true);
        else if (what === 'leave') void second.leave({ drainMs: 0 });
        else second.socket.emit('data', otherPeer.frame(Flag.AckRequest, 77));
      },
    });
    const first = log.hub.attach(one.accepted, { host, firstPhase: 0.9 });
    const peer = new RawPeer(one.connected);
    const pings = [peer.frame(Flag.AckRequest, 1), peer.frame(Flag.AckRequest, 2)];
    first.socket.emit('data', Buffer.concat([...pings, TINY, peer.frame(Flag.AckRequest, 3)]));
    await peer.seen(3, Flag.Ack);
    expect(peer.frames.map(({ flags, timestamp }) => [flags, timestamp])).toEqual(
      [1, 2, 3].map((at) => [Flag.Ack, at]),
    );
    await eventually(() => otherPeer.frames.length > 0, 'its own frame');
    const expected = { setDegraded: Flag.Degraded, leave: Flag.GoAway, read: Flag.Ack }[what];
    expect(otherPeer.frames[0]!.flags & expected).toBe(expected);
  },
);

test('a write when the link is over tells its callback', async () => {
  const { accepted } = await socketPair();
  const { host } = recordingHost({ outboundFrameLength: () => 1 });
  const link = new HubLog().hub.attach(accepted, { host });
  accepted.emit('data', Buffer.from('HB is no host frame and no heartbeat'));
  const [error] = await new Promise<unknown[]>((resolve) => {
    expect(accepted.write('x', (...told) => resolve(told))).toBe(false);
  });
  expect(error).toMatchObject({ code: 'HB_ERR_CLOSED' });
  link.destroy();
  expect((await link.whenClosed()).cause).toBe('protocol-error');
});
