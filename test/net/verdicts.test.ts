/**
 * Verdicts on real sockets whose peers fall silent: never before D, never after the published detection time and a
 * tick, one `dead`, one `closed`, nothing left behind. Most run on virtual time, so that the bounds are exact.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Flag } from '../../src/wire/constants.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime, settle } from '../support/manual-time.ts';
import { programFrom, removePrograms } from '../support/programs.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, type Kind, later, socketPair } from '../support/sockets.ts';

afterEach(closeAll);
afterAll(removePrograms);

const TICK_MS = 10;
const OPTIONS: AttachOptions = { intervalMs: 1_000, firstPhase: 0 };

class World {
  readonly time = new ManualTime();
  readonly log = new HubLog({ clock: this.time, timers: this.time });

  async link(options: AttachOptions = OPTIONS, kind: Kind = 'tcp'): Promise<{ link: Link; peer: RawPeer }> {
    const { accepted, connected } = await socketPair(kind);
    return { link: this.log.hub.attach(accepted, options), peer: new RawPeer(connected) };
  }

  /** When the link last heard something. */
  lastLifeMs(link: Link): number {
    return this.time.nowMs - link.stats().silentMs;
  }
}

describe('a peer that is silenced, its socket left open', () => {
  test.each(['tcp', 'tls'] as const)(
    'dies not before D and not after the detection time and a tick, %s',
    async (kind) => {
      const world = new World();
      const { time, log } = world;
      const links = [
        await world.link(OPTIONS, kind),
        await world.link({ ...OPTIONS, firstPhase: 0.4 }, kind),
      ];
      await time.pass(5_000);
      for (const { link, peer } of links) {
        expect(link.state).toBe('up');
        expect(link.detectionTimeMs).toBe(3_000);
        peer.answers = false;
      }
      await time.pass(400);
      const lifeMs = links.map(({ link }) => world.lastLifeMs(link));
      await time.pass(4_000);
      for (const [index, { link, peer }] of links.entries()) {
        expect(log.names(link)).toEqual(['up', 'suspect', 'dead', 'closed']);
        const [dead] = log.of('dead', link);
        const afterMs = (dead?.atMs ?? Infinity) - lifeMs[index]!;
        expect(afterMs).toBeGreaterThanOrEqual(3_000);
        expect(afterMs).toBeLessThanOrEqual(link.detectionTimeMs + TICK_MS);
        expect(dead?.detail).toMatchObject({ cause: 'link-dead', limitMs: 3_000 });
        expect(dead?.detail.silentMs).toBeGreaterThanOrEqual(3_000);
        expect(await log.closed(link)).toMatchObject({ cause: 'link-dead' });
        expect(link.socket.destroyed).toBe(true);
        expect(peer.pings.length).toBeGreaterThanOrEqual(3); // it was asked
      }
      expect(log.hub.stats()).toMatchObject({ links: 0, dead: 2, closed: { 'link-dead': 2 } });
      expect(log.hub.scheduler.size).toBe(0);
    },
  );

  test('in real time as well, with slack for a loaded machine', async () => {
    const log = new HubLog();
    const { accepted, connected } = await socketPair();
    const peer = new RawPeer(connected);
    const link = log.hub.attach(accepted, { intervalMs: 100, firstPhase: 0 });
    await peer.seen(3, Flag.AckRequest);
    const boundMs = link.detectionTimeMs + TICK_MS;
    peer.answers = false;
    const lastMs = log.hub.now() - link.stats().silentMs;
    await log.next('closed', link);
    const [dead] = log.of('dead', link);
    expect(dead!.atMs - lastMs).toBeGreaterThanOrEqual(300);
    expect(dead!.atMs - lastMs).toBeLessThanOrEqual(4 * boundMs);
  });

  test('suspect comes at its own limit, and any life refutes it', async () => {
    const world = new World();
    const { link, peer } = await world.link();
    await world.time.pass(2_000);
    peer.answers = false;
    await world.time.pass(100);
    const lifeMs = world.lastLifeMs(link);
    await world.time.passUntil(() => link.state === 'suspect', 4_000);
    const [suspect] = world.log.of('suspect', link);
    expect(suspect!.atMs - lifeMs).toBeGreaterThanOrEqual(2_000);
    expect(suspect!.atMs - lifeMs).toBeLessThanOrEqual(2_000 + TICK_MS);
    peer.send(0);
    await world.time.pass(10);
    expect(link.state).toBe('up');
    expect(world.log.of('recovered', link)[0]?.detail.silentMs).toBeGreaterThanOrEqual(2_000);
    peer.answers = true;
    await world.time.pass(6_000);
    expect(world.log.names(link)).toEqual(['up', 'suspect', 'recovered']);
  });

  test('never heard at all: never-answered, within (M + 1) intervals', async () => {
    const world = new World();
    const { accepted, connected } = await socketPair();
    new RawPeer(connected, { answers: false });
    const startMs = world.time.nowMs;
    const link = world.log.hub.attach(accepted, { intervalMs: 1_000, firstPhase: 0.99 });
    await world.time.pass(5_000);
    expect(world.log.names(link)).toEqual(['suspect', 'dead', 'closed']);
    const [dead] = world.log.of('dead', link);
    expect(dead?.detail.cause).toBe('never-answered');
    expect(dead!.atMs - startMs).toBeGreaterThanOrEqual(3_000);
    expect(dead!.atMs - startMs).toBeLessThanOrEqual(4_000 + TICK_MS);
  });

  test('life that waits in the socket when the time is up is read first: no verdict', async () => {
    const world = new World();
    const { link, peer } = await world.link();
    await world.time.pass(2_000);
    peer.answers = false;
    await world.time.pass(100);
    const lifeMs = world.lastLifeMs(link);
    await world.time.pass(lifeMs + 2_900 - world.time.nowMs);
    peer.send(0); // sent, and not read before the clock jumps
    world.time.nowMs = lifeMs + 3_500;
    await world.time.pass(0);
    expect(world.log.of('dead', link)).toEqual([]);
    expect(link.state).toBe('up');
  });

  test('one interval of patience: dead without suspicion', async () => {
    const world = new World();
    const { link, peer } = await world.link({ ...OPTIONS, deadAfter: 1 });
    await world.time.pass(3_000);
    peer.answers = false;
    await world.time.pass(4_000);
    expect(world.log.names(link)).toEqual(['up', 'dead', 'closed']);
  });

  test('firstLifeMs: a silent new link is policy, HB_ERR_SILENT, at its limit and not before', async () => {
    const world = new World();
    const { accepted, connected } = await socketPair();
    new RawPeer(connected, { answers: false });
    const link = world.log.hub.attach(accepted, { intervalMs: 10_000, firstLifeMs: 500 });
    await world.time.pass(499);
    expect(link.state).toBe('opening');
    await world.time.pass(1 + TICK_MS);
    expect(await world.log.closed(link)).toMatchObject({ cause: 'policy', code: 'HB_ERR_SILENT' });
    const heard = await world.link({ intervalMs: 10_000, firstLifeMs: 500 });
    heard.peer.send(0);
    await world.time.pass(1_000);
    expect(heard.link.state).toBe('up');
  });
});

describe('teardown', () => {
  test('F24: a dead peer with a full write buffer is destroyed within a tick of the verdict, closed once', async () => {
    const world = new World();
    const { time, log } = world;
    const { link, peer } = await world.link({ ...OPTIONS, host: recordingHost().host });
    await time.pass(2_000);
    peer.socket.pause();
    for (let frame = 0; frame < 100; frame++) link.write(lengthPrefixedFrame(Buffer.alloc(250_000)));
    await settle(100);
    expect(link.socket.writableLength).toBeGreaterThan(1_000_000);
    await time.passUntil(() => log.of('dead', link).length > 0, 20_000, 10);
    expect(link.socket.destroyed).toBe(true);
    expect(log.of('dead', link)[0]?.detail.cause).toBe('peer-not-reading');
    await settle(50);
    expect(log.of('closed', link)).toHaveLength(1);
    expect(log.of('closed', link)[0]?.atMs).toBe(log.of('dead', link)[0]?.atMs);
    expect(log.hub.scheduler.size).toBe(0);
  });

  test('F25: nobody listens to a verdict: no crash, and whenClosed tells', async () => {
    const { HeartbeatHub } = await import('../../src/net/hub.ts');
    const time = new ManualTime();
    const hub = new HeartbeatHub({ clock: time, timers: time });
    const { accepted, connected } = await socketPair();
    new RawPeer(connected, { answers: false });
    const link = hub.attach(accepted, OPTIONS);
    await time.pass(5_000);
    expect(await link.whenClosed()).toMatchObject({ cause: 'never-answered' });
    expect(await link.whenUp()).toBe(false);
    expect(hub.stats().dead).toBe(1);
  });

  test('F26: after any kind of end the wheel is empty and the socket carries nothing of ours', async () => {
    const world = new World();
    const before = (await socketPair()).accepted;
    const ends: ((link: Link, peer: RawPeer) => unknown)[] = [
      (link) => link.destroy(),
      (link) => link.socket.destroy(),
      (link) => link.detach(),
      (link) => link.socket.end(),
      (link) => link.leave({ drainMs: 0 }),
      (_link, peer) => peer.socket.end(),
      (_link, peer) => peer.socket.resetAndDestroy(),
      (_link, peer) => peer.send(Flag.GoAway),
      (_link, peer) => peer.socket.write(Buffer.alloc(2_000)),
    ];
    for (const end of ends) {
      const { link, peer } = await world.link();
      await world.time.pass(100);
      expect(world.log.hub.scheduler.size).toBe(1);
      end(link, peer);
      await world.time.pass(4_000);
      await eventually(() => link.state === 'closed' && world.log.hub.scheduler.size === 0, 'the end');
      expect(world.log.of('closed', link)).toHaveLength(1);
      expect(Object.hasOwn(link.socket, 'write')).toBe(false);
      for (const event of ['data', 'end', 'close'] as const) {
        expect(link.socket.listenerCount(event)).toBeLessThanOrEqual(before.listenerCount(event));
      }
      expect(Object.getOwnPropertySymbols(link.socket).map(String)).not.toContain('Symbol(wirebeat.owner)');
    }
    expect(world.log.hub.stats().links).toBe(0);
  });

  test('F26: a process whose links have ended exits by itself, also with its hub open', async () => {
    const script = await programFrom('test/support/exits-by-itself.ts');
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    later(() => child.kill());
    const out: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    const [code] = await once(child, 'close');
    expect([code, Buffer.concat(out).toString().trim()]).toEqual([0, 'closed local']);
  });

  test('a socket its owner destroys is closed as local', async () => {
    const world = new World();
    const { link } = await world.link();
    await world.time.pass(100);
    link.socket.destroy();
    expect(await world.log.closed(link)).toMatchObject({ cause: 'local' });
    expect(world.log.of('dead', link)).toEqual([]);
  });

  test('a listener of `dead` that destroys the link itself changes neither the cause nor the count', async () => {
    const world = new World();
    const { link, peer } = await world.link();
    world.log.hub.on('dead', (dead) => dead.destroy({ cause: 'unknown' }));
    await world.time.pass(100);
    peer.answers = false;
    await world.time.pass(6_000);
    expect(world.log.of('closed', link).map(({ detail }) => detail)).toMatchObject([{ cause: 'link-dead' }]);
  });
});

describe('listeners that throw', () => {
  /** Run `body` while exceptions that reach the loop are gathered instead of failing the run. */
  async function gathering(body: () => Promise<void>): Promise<unknown[]> {
    const errors: unknown[] = [];
    const previous = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => {
      if (error instanceof AggregateError) errors.push(...error.errors);
      else errors.push(error);
    });
    try {
      await body();
      await settle();
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of previous) process.on('uncaughtException', listener);
    }
    return errors;
  }

  test.each(['suspect', 'dead', 'closed'] as const)(
    '`%s`: every dead link is found all the same, no live one is',
    async (event) => {
      const world = new World();
      const silent = [await world.link(), await world.link(), await world.link()];
      const lively = await world.link();
      await world.time.pass(2_000);
      for (const { peer } of silent) {
        peer.answers = false;
        peer.send(0); // the last life of all at the same moment, so that they are judged together
      }
      world.log.hub.on(event, () => {
        throw new Error('listener');
      });
      const errors = await gathering(() => world.time.pass(6_000));
      expect(errors).toHaveLength(3);
      for (const { link } of silent)
        expect(world.log.names(link)).toEqual(['up', 'suspect', 'dead', 'closed']);
      expect(lively.link.state).toBe('up');
    },
  );

  test('`leaving`: a hub that closes still closes every link', async () => {
    const world = new World();
    const links = [await world.link(), await world.link()];
    await world.time.pass(100);
    world.log.hub.on('leaving', () => {
      throw new Error('listener');
    });
    const closing = world.log.hub.close();
    const refused = expect(closing).rejects.toThrow(AggregateError);
    await world.time.pass(3_000);
    await refused;
    for (const { link } of links) expect(link.state).toBe('closed');
    expect(world.log.hub.scheduler.size).toBe(0);
  });
});
