/** Limits of one link, each at the limit and one past it: heartbeats per second, and bytes queued by the host. */
import { afterEach, describe, expect, test } from 'vitest';
import type { AttachOptions } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { goAwayRetryAfterMs } from '../../src/session/goaway.ts';
import { Flag, GoAwayReason } from '../../src/wire/constants.ts';
import { goAwayReason } from '../../src/wire/param.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime, settle } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, type Kind, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

async function virtual(options: AttachOptions = {}, kind: Kind = 'tcp') {
  const time = new ManualTime();
  const log = new HubLog({ clock: time, timers: time });
  const { accepted, connected } = await socketPair(kind);
  const peer = new RawPeer(connected);
  const link = log.hub.attach(accepted, { intervalMs: 60_000, firstPhase: 0.9, ...options });
  return { time, log, link, peer };
}

const GOAWAY = Flag.GoAway | Flag.Param;
const flood = (peer: RawPeer, count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => peer.frame(0)));

describe('maxFramesPerSecond', () => {
  test.each<[string, AttachOptions]>([
    ['heartbeat-only', {}],
    ['shared', { host: recordingHost().host }],
  ])('100 at once are taken, one more is told GOAWAY too fast and closed, %s', async (_mode, options) => {
    const { link, peer, log } = await virtual(options);
    link.socket.emit('data', flood(peer, 100));
    await settle();
    expect(link.state).toBe('up');
    expect(link.stats().framesReceived).toBe(100);
    link.socket.emit('data', flood(peer, 1));
    await peer.ended();
    const [goAway] = peer.framesWith(GOAWAY);
    expect(goAwayReason(goAway!.timestamp)).toBe(GoAwayReason.TooFast);
    expect(goAwayRetryAfterMs(goAway!.timestamp)).toBe(30_000);
    peer.socket.end();
    expect(await log.closed(link)).toEqual({
      cause: 'policy',
      code: 'HB_ERR_FRAME_RATE',
      reason: 'more than 50 heartbeats per second',
    });
    expect(link.stats().framesReceived).toBe(100);
  });

  test('nothing of the same chunk is taken after the one too many', async () => {
    const { link, peer } = await virtual({ maxFramesPerSecond: 1 });
    const ping = peer.frame(Flag.AckRequest);
    link.socket.emit('data', Buffer.concat([flood(peer, 3), ping]));
    await peer.ended();
    expect(peer.pongs).toEqual([]);
    expect(link.stats().framesReceived).toBe(2);
  });

  test('F64: a minute of beats that arrive at once after our own stall closes nobody', async () => {
    const { link, peer, time } = await virtual();
    link.socket.emit('data', flood(peer, 100));
    time.nowMs += 60_000;
    link.socket.emit('data', flood(peer, 60 * 14));
    await settle();
    expect(link.state).toBe('up');
  });

  test('another limit, and none', async () => {
    const limited = await virtual({ maxFramesPerSecond: 2 });
    limited.link.socket.emit('data', flood(limited.peer, 5));
    await limited.peer.ended();
    const free = await virtual({ maxFramesPerSecond: Number.POSITIVE_INFINITY });
    free.link.socket.emit('data', flood(free.peer, 5_000));
    await settle();
    expect(free.link.stats().framesReceived).toBe(5_000);
  });
});

describe('maxQueuedBytes', () => {
  const frame = lengthPrefixedFrame(Buffer.alloc(65_532)); // 64 KiB with its prefix

  /** A link whose kernel takes nothing more, so that everything written is queued. */
  async function blocked(maxQueuedBytes: number, kind: Kind) {
    const world = await virtual({ host: recordingHost().host, maxQueuedBytes }, kind);
    world.peer.socket.pause();
    let queued = -1;
    while (world.link.socket.writableLength !== queued || queued === 0) {
      queued = world.link.socket.writableLength;
      while (world.link.socket.writableLength < 2 ** 19) world.link.write(frame);
      await settle();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return world;
  }

  test.each<Kind>(['tcp', 'tls', 'unix'])('so many are kept, one more closes the link, %s', async (kind) => {
    const limit = 2 ** 20;
    const { link, log } = await blocked(limit, kind);
    link.write(lengthPrefixedFrame(Buffer.alloc(limit - link.socket.writableLength - 4)));
    expect(link.socket.writableLength).toBe(limit);
    expect(link.state).not.toBe('closed');
    expect(link.write(Buffer.alloc(1))).toBe(false);
    expect(await log.closed(link)).toEqual({
      cause: 'policy',
      code: 'HB_ERR_QUEUE_LIMIT',
      reason: `${limit + 1} bytes queued for a peer that does not take them, limit ${limit}`,
    });
    expect(link.socket.destroyed).toBe(true);
    expect(link.write(frame)).toBe(false);
  });

  test('what the kernel takes at once is not queued: a limit of 0 lets ordinary frames pass', async () => {
    const { link, peer } = await virtual({ host: recordingHost().host, maxQueuedBytes: 0 });
    for (let count = 0; count < 10; count++) link.write(lengthPrefixedFrame(Buffer.alloc(100)));
    await eventually(() => peer.hostBytes === 1_040, 'all frames');
    expect(link.state).not.toBe('closed');
  });
});

test.each<[AttachOptions, RegExp]>([
  [{ maxFramesPerSecond: 0 }, /^maxFramesPerSecond must be a number in 1/],
  [{ maxFramesPerSecond: Number.NaN }, /^maxFramesPerSecond/],
  [{ maxQueuedBytes: -1 }, /^maxQueuedBytes must be a number in 0/],
  [{ maxQueuedBytes: '1' as never }, /^maxQueuedBytes must be a number/],
])('%j is refused', async (options, message) => {
  const { accepted } = await socketPair();
  expect(() => new HubLog().hub.attach(accepted, options)).toThrow(message);
});
