/**
 * The writing side: no heartbeat inside a host frame whatever the timing, bounded memory when the peer does not read,
 * and what is held comes out when the socket drains. On plain TCP and on TLS, where every write completes later.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { kernelTakenBytes } from '../../src/net/handle.ts';
import { Outbound } from '../../src/net/outbound.ts';
import { OutboundFraming } from '../../src/net/outbound-framing.ts';
import { SharedMemory } from '../../src/net/shared-memory.ts';
import type { Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame, lengthPrefixedFrameLength } from '../../src/server/length-prefix.ts';
import { Sent } from '../../src/session/port.ts';
import { Flag } from '../../src/wire/constants.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime, settle } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import {
  closeAll,
  eventually,
  type Kind,
  listening,
  newSocket,
  socketPair,
  tame,
} from '../support/sockets.ts';

afterEach(closeAll);

const frameOf = (bytes: number): Buffer => lengthPrefixedFrame(Buffer.alloc(bytes, bytes % 251));
const pieces = { outboundFrameLength: lengthPrefixedFrameLength };
const KINDS = ['tcp', 'tls'] as const satisfies Kind[];

async function virtualLink(kind: Kind, host = recordingHost(pieces).host) {
  const { accepted, connected } = await socketPair(kind);
  const time = new ManualTime();
  const log = new HubLog({ clock: time, timers: time });
  const link = log.hub.attach(accepted, { intervalMs: 1_000, firstPhase: 0, host });
  return { time, log, link, peer: new RawPeer(connected) };
}

/** Write more than both kernels take; how many bytes that was. */
async function stuff(link: Link, bytes = 24_000_000): Promise<number> {
  const frame = frameOf(250_000);
  let written = 0;
  for (; written < bytes; written += frame.length) link.write(frame);
  await settle(200);
  expect(link.socket.writableLength).toBeGreaterThan(1_000_000);
  return written;
}

describe('a host that writes in pieces', () => {
  test.each(KINDS)(
    'F65: header and body apart, the wheel firing between: no heartbeat inside, %s',
    async (kind) => {
      const { time, link, peer } = await virtualLink(kind);
      await time.pass(1_500);
      const before = peer.frames.length;
      expect(before).toBeGreaterThan(0);
      const frame = frameOf(10);
      for (let cut = 1; cut < frame.length; cut++) {
        link.socket.write(frame.subarray(0, cut));
        await time.pass(1_400); // a beat falls due inside the open frame
        expect(peer.frames).toHaveLength(before + cut - 1);
        link.socket.write(frame.subarray(cut)); // and leaves behind it
        await eventually(() => peer.frames.length === before + cut, 'the held beat');
        await eventually(() => peer.hostBytes === cut * frame.length, 'the frame');
        expect(peer.host.subarray(-frame.length)).toEqual(frame);
      }
      expect(link.stats().skipped).toBeGreaterThan(0);
      expect(link.state).toBe('up');
    },
  );

  test('F65: a pong due inside an open host frame waits for its end, and only the newest survives', async () => {
    const { link, peer } = await virtualLink('tcp');
    await settle();
    link.socket.write(frameOf(4).subarray(0, 5));
    for (const seq of [11, 12, 13]) {
      peer.send(Flag.AckRequest, seq * 10, seq);
      await settle();
    }
    expect(peer.pongs).toEqual([]);
    link.socket.write(frameOf(4).subarray(5));
    expect(await peer.seen(1, Flag.Ack)).toEqual([{ flags: Flag.Ack, seq: 13, timestamp: 130 }]);
    expect(link.stats()).toMatchObject({ pongsCoalesced: 2, pongsSent: 1 });
  });

  test('strings, encodings and callbacks work as on a plain socket', async () => {
    const { link, peer } = await virtualLink('tcp');
    const order: string[] = [];
    const { socket } = link;
    socket.write('00000003', 'hex', () => order.push('header'));
    socket.write('a\u00e9', () => order.push('body'));
    socket.write(Buffer.from([0, 0, 0, 0]), () => order.push('empty frame'));
    await eventually(() => order.length === 3, 'three callbacks');
    expect(order).toEqual(['header', 'body', 'empty frame']);
    await eventually(() => peer.hostBytes === 11, 'the bytes');
    expect(peer.host.toString('hex')).toBe('0000000361c3a900000000');
    expect(() => socket.write(7 as never)).toThrow(/^chunk must be .* got 7$/);
  });

  test('link.write may come in pieces too, several frames at once', async () => {
    const { link, peer } = await virtualLink('tcp');
    const stream = Buffer.concat([frameOf(0), frameOf(100), frameOf(3)]);
    link.write(stream.subarray(0, 50));
    link.write(stream.subarray(50));
    await eventually(() => peer.hostBytes === stream.length, 'the bytes');
    expect(peer.host).toEqual(stream);
  });

  test('HB_ERR_HOST_FRAMING and HB_ERR_HOST_MAGIC write nothing and leave the framing as it was', async () => {
    const { link, peer } = await virtualLink('tcp');
    const frame = frameOf(6);
    link.socket.write(frame.subarray(0, 2));
    // Completes the frame, then breaks the framing: refused as a whole.
    const broken = Buffer.concat([frame.subarray(2), Buffer.from([0xff])]);
    expect(() => link.socket.write(broken)).toThrow(expect.objectContaining({ code: 'HB_ERR_HOST_FRAMING' }));
    const magic = Buffer.concat([frame.subarray(2), Buffer.from('HB')]);
    expect(() => link.socket.write(magic)).toThrow(expect.objectContaining({ code: 'HB_ERR_HOST_MAGIC' }));
    link.socket.write(frame.subarray(2)); // the honest rest still fits
    await eventually(() => peer.hostBytes === frame.length, 'the frame');
    expect(peer.host).toEqual(frame);
    peer.send(Flag.AckRequest, 9, 9);
    expect(await peer.seen(1, Flag.Ack)).toHaveLength(1); // the boundary is known to be free
  });
});

describe('OutboundFraming', () => {
  const code = (expected: string) => expect.objectContaining({ code: expected });

  test('knows at each byte whether a frame is open, however the bytes are cut', () => {
    const stream = Buffer.concat([frameOf(0), frameOf(5), frameOf(1)]);
    const boundaries = new Set([0, 4, 13, 18]);
    const framing = new OutboundFraming(lengthPrefixedFrameLength);
    for (const [at, byte] of stream.entries()) {
      expect(framing.isOpen).toBe(!boundaries.has(at));
      framing.accept(Buffer.of(byte));
    }
    expect(framing.isOpen).toBe(false);
    for (let cut = 0; cut <= stream.length; cut++) {
      const other = new OutboundFraming(lengthPrefixedFrameLength);
      other.accept(stream.subarray(0, cut));
      expect(other.isOpen).toBe(!boundaries.has(cut));
    }
  });

  test('a header of 63 undecided bytes may go on, one of 64 may not', () => {
    const undecided = new OutboundFraming(() => 0);
    undecided.accept(Buffer.alloc(63, 1));
    expect(undecided.isOpen).toBe(true);
    expect(() => undecided.accept(Buffer.of(1))).toThrow(code('HB_ERR_HOST_FRAMING'));
    expect(undecided.isOpen).toBe(true);
  });

  test.each([-1, 1.5, Number.NaN, 2])('a length of %d after two undecided bytes is no length', (length) => {
    const framing = new OutboundFraming((_bytes, start, end) => (end - start < 3 ? 0 : length));
    framing.accept(Buffer.of(1, 2));
    expect(() => framing.accept(Buffer.of(3))).toThrow(code('HB_ERR_HOST_FRAMING'));
  });

  test('a lone 48 waits for its second byte, which decides', () => {
    const lines = (bytes: Uint8Array, start: number, end: number): number =>
      bytes.subarray(start, end).indexOf(10) + 1;
    const framing = new OutboundFraming(lines);
    framing.accept(Buffer.from('H'));
    expect(framing.isOpen).toBe(true);
    expect(() => framing.accept(Buffer.from('B\n'))).toThrow(code('HB_ERR_HOST_MAGIC'));
    framing.accept(Buffer.from('i\n'));
    expect(framing.isOpen).toBe(false);
    const fixed = new OutboundFraming(() => 3); // would decide at the first byte
    fixed.accept(Buffer.from('H'));
    expect(() => fixed.accept(Buffer.from('Bx'))).toThrow(code('HB_ERR_HOST_MAGIC'));
    fixed.accept(Buffer.from('ix'));
    expect(fixed.isOpen).toBe(false);
  });

  test('a host function that throws changes nothing', () => {
    let fails = false;
    const framing = new OutboundFraming((bytes, start, end) => {
      if (fails && bytes[start] === 9) throw new Error('the host is confused');
      return end - start < 2 ? 0 : (bytes[start + 1] as number);
    });
    framing.accept(Buffer.of(1));
    fails = true;
    expect(() => framing.accept(Buffer.of(2, 9, 9))).toThrow('the host is confused');
    framing.accept(Buffer.of(3)); // 1 3: a frame of three bytes, as the first byte was kept
    expect(framing.isOpen).toBe(true);
    framing.accept(Buffer.of(0));
    expect(framing.isOpen).toBe(false);
  });
});

test('a frame that Node keeps is not overwritten by the next one that uses the scratch memory', async () => {
  const server = createServer();
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const where = await listening(server, 'tcp');
  const socket = newSocket();
  socket.connect({ ...where }); // until it stands, every write is kept
  const memory = new SharedMemory();
  const outbound = new Outbound(socket, { onFlushed() {}, onFree() {} }, memory, undefined);
  expect(outbound.send(Flag.AckRequest, 7, 8)).toBe(Sent.Queued);
  memory.lone.put(0, 0, 1, 1);
  const peer = new RawPeer(tame((await accepting)[0]));
  expect(await peer.seen(1)).toEqual([{ flags: Flag.AckRequest, seq: 7, timestamp: 8 }]);
});

describe('a peer that does not read', () => {
  test.each(KINDS)('beats are skipped and counted, and the queue stays bounded, %s', async (kind) => {
    const { time, link, peer } = await virtualLink(kind);
    await time.pass(100);
    peer.socket.pause();
    const written = await stuff(link);
    const queued = link.socket.writableLength;
    await time.pass(1_900);
    // At most one flight of heartbeats stands behind the host's data.
    expect(link.socket.writableLength - queued).toBeLessThanOrEqual(16);
    expect(link.stats().skipped).toBeGreaterThan(0);
    const sent = link.stats().framesSent;
    for (let n = 1; n <= 100; n++) link.socket.emit('data', peer.frame(Flag.AckRequest, n));
    expect(link.socket.writableLength - queued).toBeLessThanOrEqual(16);
    expect(link.stats().framesSent).toBe(sent);
    expect(link.stats().pongsCoalesced).toBe(99);
    peer.socket.resume();
    await eventually(() => peer.hostBytes === written, 'everything the host wrote');
    expect((await peer.seen(1, Flag.Ack)).map(({ timestamp }) => timestamp)).toEqual([100]); // the newest, and only it
    expect(link.stats().pongsSent).toBe(1);
    await eventually(() => link.socket.writableLength === 0, 'an empty queue');
  });

  test.each(KINDS)(
    'write-stall is told once, after a whole detection time, and names its length, %s',
    async (kind) => {
      const { time, log, link, peer } = await virtualLink(kind);
      await time.pass(100);
      peer.socket.pause();
      await stuff(link);
      await settle(50);
      const fromMs = time.nowMs;
      // The peer still talks, so that no verdict interferes.
      await time.passUntil(
        () => {
          if (time.nowMs % 500 === 0) link.socket.emit('data', peer.frame(0));
          return log.of('write-stall').length > 0;
        },
        6_000,
        10,
      );
      const [stall] = log.of('write-stall');
      expect(stall?.detail.stalledMs).toBeGreaterThanOrEqual(3_000);
      const lateMs = (stall?.atMs ?? Infinity) - fromMs - 3_000;
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThanOrEqual(3_000 / 8 + 1_000); // a look, and the beat that first found it blocked
      for (let more = 0; more < 8; more++) {
        link.socket.emit('data', peer.frame(0));
        await time.pass(1_000);
      }
      expect(log.of('write-stall')).toHaveLength(1);
      expect(link.state).toBe('up');
    },
  );

  test('write-stall is seen by a responder too', async () => {
    const { accepted, connected } = await socketPair();
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { host } = recordingHost();
    const link = log.hub.attach(accepted, { intervalMs: 1_000, role: 'responder', host });
    connected.pause();
    await stuff(link);
    expect(await time.passUntil(() => log.of('write-stall').length > 0, 6_000, 50)).toBe(true);
  });

  test.each(KINDS)('kernelTakenBytes moves during one large write, %s', async (kind) => {
    const { accepted, connected } = await socketPair(kind);
    const total = 40_000_000;
    const seen = new Set<number>();
    let read = 0;
    accepted.write(Buffer.alloc(total));
    connected.on('data', (chunk) => {
      read += chunk.length;
      seen.add(kernelTakenBytes(accepted));
    });
    await eventually(() => read === total, 'the large write');
    expect(seen.size).toBeGreaterThan(3);
    expect(Math.max(...seen)).toBeGreaterThan(total / 2);
    expect([...seen]).toEqual([...seen].sort((a, b) => a - b)); // never back
  });

  test('kernelTakenBytes without the handle falls back to the documented counters', () => {
    expect(kernelTakenBytes({ bytesWritten: 100, writableLength: 30 } as never)).toBe(70);
    expect(
      kernelTakenBytes({ bytesWritten: 9, writableLength: 2, _handle: { bytesWritten: 5 } } as never),
    ).toBe(7);
  });
});
