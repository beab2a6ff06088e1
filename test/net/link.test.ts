/** What a link tells and can be told while it lives: pause, DEGRADED, answers with RTT, counters that add up. */
import { afterEach, describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Flag } from '../../src/wire/constants.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

async function virtual(options: AttachOptions = {}) {
  const time = new ManualTime();
  const log = new HubLog({ clock: time, timers: time, random: seededRandom(5) });
  const { accepted, connected } = await socketPair();
  const peer = new RawPeer(connected);
  const link = log.hub.attach(accepted, { intervalMs: 1_000, firstPhase: 0, ...options });
  return { time, log, link, peer };
}

/** Two links, one at each end. */
async function couple(options: AttachOptions = {}): Promise<{ log: HubLog; ours: Link; theirs: Link }> {
  const { accepted, connected } = await socketPair();
  const log = new HubLog();
  const ours = log.hub.attach(accepted, { firstPhase: 0, ...options });
  const theirs = log.hub.attach(connected, { firstPhase: 0.5, ...options });
  await Promise.all([log.next('up', ours), log.next('up', theirs)]);
  return { log, ours, theirs };
}

describe('pause', () => {
  test.each(['full', 'responder'] as const)(
    '%s: longer than maxReadPausedMs is told, once, in time',
    async (role) => {
      const { time, log, link, peer } = await virtual({ role, maxReadPausedMs: 330 });
      await time.pass(1_000);
      link.pause();
      await time.pass(300);
      expect(log.of('read-paused', link)).toEqual([]);
      await time.pass(50);
      const [told] = log.of('read-paused', link);
      expect(told?.detail.pausedMs).toBeGreaterThanOrEqual(330);
      expect(told?.detail.pausedMs).toBeLessThanOrEqual(350);
      await time.pass(5_000);
      link.resume();
      await time.pass(200);
      link.pause();
      await time.pass(200);
      expect(log.of('read-paused', link)).toHaveLength(1);
      peer.socket.destroy();
    },
  );

  test('F63: while we do not read, nobody dies and our beats go on; afterwards the window is fresh', async () => {
    const { time, log, link, peer } = await virtual();
    await time.pass(2_000);
    link.pause();
    expect(link.state).toBe('unobserved');
    const received = link.stats().framesReceived;
    const frames = peer.frames.length;
    await time.pass(12_000);
    expect(link.stats().framesReceived).toBe(received);
    expect(peer.frames.length).toBeGreaterThanOrEqual(frames + 12);
    link.resume();
    await time.pass(5_000);
    expect(link.state).toBe('up');
    expect(log.names(link)).toEqual(['up']);
    expect(link.stats().framesReceived).toBeGreaterThan(received);
  });

  test('a peer that died meanwhile is found one detection time after the resume', async () => {
    const { time, log, link, peer } = await virtual();
    await time.pass(2_000);
    link.pause();
    peer.answers = false;
    await time.pass(9_000);
    link.resume();
    const resumedMs = time.nowMs;
    await time.pass(5_000);
    const [dead] = log.of('dead', link);
    expect(dead!.atMs - resumedMs).toBeGreaterThanOrEqual(3_000);
    expect(dead!.atMs - resumedMs).toBeLessThanOrEqual(link.detectionTimeMs + 20);
  });
});

describe('degraded', () => {
  test('a change is told at once and seen by the peer, both ways', async () => {
    const { log, ours, theirs } = await couple({ intervalMs: 60_000 });
    ours.setDegraded(true);
    expect((await log.next('degraded', theirs)).detail).toEqual({ degraded: true });
    expect(theirs.stats().peerDegraded).toBe(true);
    ours.setDegraded(true);
    ours.setDegraded(false);
    await eventually(() => log.of('degraded', theirs).length === 2, 'the second change');
    expect(log.of('degraded', theirs)[1]?.detail).toEqual({ degraded: false });
    expect(ours.stats().peerDegraded).toBe(false);
    expect(() => ours.setDegraded(1 as never)).toThrow(/^value must be/);
  });

  test('answers carry it as well', async () => {
    const { link, peer, time } = await virtual();
    await time.pass(10);
    link.setDegraded(true);
    peer.send(Flag.AckRequest);
    expect((await peer.seen(1, Flag.Ack))[0]?.flags).toBe(Flag.Ack | Flag.Degraded);
  });
});

describe('answers', () => {
  test('onPong tells each with its number and RTT; fractional with preciseRtt, whole without', async () => {
    for (const preciseRtt of [true, false]) {
      const told: { link: Link; seq: number; rttMs: number }[] = [];
      const { accepted, connected } = await socketPair();
      const peer = new RawPeer(connected);
      const startMs = performance.now();
      const link = new HubLog().hub.attach(accepted, {
        intervalMs: 100,
        firstPhase: 0,
        ask: 'always',
        preciseRtt,
        onPong: (of, seq, rttMs) => told.push({ link: of, seq, rttMs }),
      });
      await eventually(() => told.length >= 4, 'four answers');
      const elapsedMs = performance.now() - startMs;
      expect(told.map(({ seq }) => seq)).toEqual(peer.pings.slice(0, told.length).map(({ seq }) => seq));
      for (const { link: of, rttMs } of told) {
        expect(of).toBe(link);
        expect(rttMs).toBeGreaterThanOrEqual(0);
        expect(rttMs).toBeLessThan(elapsedMs);
      }
      expect(told.some(({ rttMs }) => !Number.isInteger(rttMs))).toBe(preciseRtt);
      const { rttMs, rttMinMs, rttMaxMs, rttLatestMs } = link.stats();
      expect(rttMinMs).toBe(Math.min(...told.map((pong) => pong.rttMs)));
      expect(rttMaxMs).toBe(Math.max(...told.map((pong) => pong.rttMs)));
      expect(rttLatestMs).toBe(told.at(-1)?.rttMs);
      expect(rttMs).toBeGreaterThanOrEqual(rttMinMs);
      expect(rttMs).toBeLessThanOrEqual(rttMaxMs);
      link.destroy();
    }
  });

  test('64 and more pings in one chunk are all answered, in order', async () => {
    const { link, peer } = await virtual({ maxFramesPerSecond: Infinity });
    const pings = Array.from({ length: 150 }, (_, index) => peer.frame(Flag.AckRequest, index));
    link.socket.emit('data', Buffer.concat(pings));
    const pongs = await peer.seen(150, Flag.Ack);
    expect(pongs.map(({ timestamp }) => timestamp)).toEqual(pings.map((_, index) => index));
    expect(link.stats().pongsSent).toBe(150);
  });

  test('on TLS too, where every write completes later, and answers of one chunk leave together', async () => {
    const { accepted, connected } = await socketPair('tls');
    const peer = new RawPeer(connected);
    const link = new HubLog().hub.attach(accepted, { firstPhase: 0.9, maxFramesPerSecond: Infinity });
    for (let round = 0; round < 5; round++) {
      const pings = Array.from({ length: 100 }, (_, index) =>
        peer.frame(Flag.AckRequest, 100 * round + index),
      );
      peer.socket.write(Buffer.concat(pings));
      await peer.seen(peer.pongs.length + 1, Flag.Ack);
      await eventually(() => link.socket.writableLength === 0, 'a drained socket');
    }
    const { pongsSent, pongsCoalesced } = link.stats();
    expect(pongsSent + pongsCoalesced).toBe(500);
    await peer.seen(pongsSent, Flag.Ack);
    expect(peer.pongs.at(-1)?.timestamp).toBe(499); // the newest is never the one that is dropped
  });
});

describe('numbers', () => {
  test('what one end sends the other receives; the hub’s sums are those of its links', async () => {
    const { log, ours, theirs } = await couple({ intervalMs: 100, host: recordingHost().host });
    ours.write(lengthPrefixedFrame(Buffer.alloc(1_000)));
    await eventually(() => ours.stats().pongsMatched >= 3 && theirs.stats().pongsMatched >= 1, 'some beats');
    ours.pause();
    const sent = ours.stats().framesSent;
    await eventually(() => theirs.stats().framesReceived === sent, 'all frames');
    const [a, b] = [ours.stats(), theirs.stats()];
    expect(b.bytesReceived).toBe(16 * b.framesReceived + 1_004);
    expect(a.bytesReceived).toBe(16 * a.framesReceived);
    expect(b.pongsSent).toBeGreaterThanOrEqual(a.pongsMatched);
    expect(a.framesSent).toBeGreaterThanOrEqual(a.pingsSent + a.pongsSent);
    const sums = log.hub.stats();
    for (const name of [
      'framesSent',
      'framesReceived',
      'pingsSent',
      'pongsSent',
      'pongsMatched',
      'bytesReceived',
    ] as const) {
      expect(sums[name]).toBe(ours.stats()[name] + theirs.stats()[name]);
    }
    expect(sums).toMatchObject({
      links: 2,
      dead: 0,
      closed: {},
      states: { up: 1, unobserved: 1, closed: 0 },
    });
    theirs.destroy();
    const after = log.hub.stats();
    expect(after.links).toBe(1);
    expect(after.closed).toEqual({ local: 1 });
    expect(after.framesSent).toBeGreaterThanOrEqual(sums.framesSent); // ended links stay in the sums
    expect([...log.hub.links()]).toEqual([ours]);
  });

  test('a link tells its state, ages, context and published times', async () => {
    const context = { name: 'mine' };
    const { time, link, peer } = await virtual({ context, firstPhase: 0.2 });
    expect(link.context).toBe(context);
    expect(link.stats()).toMatchObject({ state: 'opening', rttMs: Number.NaN, framesSent: 0, silentMs: 0 });
    expect(link.detectionTimeMs).toBe(3_000);
    expect(link.detectionBoundMs).toBe(3_000 + 2 * 1_000 + 10);
    await time.pass(250);
    expect(peer.pings).toHaveLength(1);
    await time.pass(300);
    expect(link.stats()).toMatchObject({ state: 'up', unanswered: 0, skipped: 0, suspicions: 0 });
    expect(link.stats().silentMs).toBeGreaterThan(0);
    expect(link.stats().quietMs).toBeGreaterThan(0);
    expect(await link.whenUp()).toBe(true);
  });

  test('first beats are spread evenly over the interval, and sequence numbers begin anywhere', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time, random: seededRandom(9) });
    const peers: RawPeer[] = [];
    for (let index = 0; index < 20; index++) {
      const { accepted, connected } = await socketPair();
      peers.push(new RawPeer(connected));
      log.hub.attach(accepted, { intervalMs: 1_000 });
    }
    const perTenth: number[] = [];
    for (let tenth = 0; tenth < 10; tenth++) {
      const before = peers.filter(({ frames }) => frames.length > 0).length;
      await time.pass(100);
      perTenth.push(peers.filter(({ frames }) => frames.length > 0).length - before);
    }
    expect(perTenth.reduce((sum, count) => sum + count)).toBe(20);
    expect(Math.max(...perTenth)).toBeLessThanOrEqual(4); // twice the mean of two
    expect(new Set(peers.map(({ frames }) => frames[0]?.seq)).size).toBe(20);
  });

  test('role responder: answers, sends nothing of its own, judges nobody', async () => {
    const { time, log, link, peer } = await virtual({ role: 'responder' });
    await time.pass(20_000);
    expect(peer.frames).toEqual([]);
    peer.send(Flag.AckRequest, 1, 1);
    expect(await peer.seen(1, Flag.Ack)).toHaveLength(1);
    await time.pass(20_000);
    expect(log.names(link)).toEqual(['up']);
  });
});
