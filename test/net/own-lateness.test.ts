/** What a hub knows of its own process: late wakes, sleep, its own business; on real sockets and virtual time. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { HeartbeatHub } from '../../src/net/hub.ts';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { Flag } from '../../src/wire/constants.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime, settle } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, later, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

const OPTIONS: AttachOptions = { intervalMs: 1_000, firstPhase: 0 };

/** A clock with a boot clock beside it. */
class SleepyTime extends ManualTime {
  sleptMs = 0;

  boot(): number {
    return this.nowMs + this.sleptMs;
  }
}

class World {
  readonly time = new SleepyTime();
  readonly log: HubLog;
  /** Names of all events in order, the hub's own included. */
  readonly order: string[] = [];

  constructor(selfCheck?: ConstructorParameters<typeof HeartbeatHub>[0]) {
    this.log = new HubLog({ clock: this.time, timers: this.time, ...selfCheck });
    for (const event of ['self-late', 'resumed', 'up', 'suspect', 'recovered', 'dead', 'closed'] as const) {
      this.log.hub.on(event, () => this.order.push(event));
    }
  }

  async link(options: AttachOptions = OPTIONS): Promise<{ link: Link; peer: RawPeer }> {
    const { accepted, connected } = await socketPair();
    const link = this.log.hub.attach(accepted, options);
    return { link, peer: new RawPeer(connected) };
  }
}

/** Read what the peer has been sent by now, without letting time pass. */
const levels = (peer: RawPeer): boolean[] =>
  peer.frames
    .filter(({ flags }) => (flags & Flag.Ack) === 0)
    .map(({ flags }) => (flags & Flag.Degraded) !== 0);

describe('a late wake', () => {
  test('F3: self-late comes with its lag before any verdict of that wake', async () => {
    const world = new World();
    const { peer } = await world.link({ ...OPTIONS, deadAfter: 1 });
    const late: object[] = [];
    world.log.hub.on('self-late', (_link, detail) => late.push(detail));
    await world.time.pass(3_000);
    peer.answers = false;
    world.order.length = 0;
    for (let turn = 0; turn < 3; turn++) {
      world.time.block(5_000); // twice a grace is given, then there is none
      await world.time.pass(0);
    }
    await world.time.pass(3_000);
    expect(world.order).toEqual(['self-late', 'self-late', 'self-late', 'dead', 'closed']);
    expect(late[0]).toMatchObject({ score: 2 });
    expect((late[0] as { lagMs: number }).lagMs).toBeGreaterThan(3_500);
    expect(world.log.hub.stats()).toMatchObject({ graces: 2, dead: 1 });
    expect(world.log.hub.stats().worstLagMs).toBeGreaterThan(3_500);
  });

  test('F1: what waits in the socket is read first; the kill by the clock alone is counted', async () => {
    const world = new World();
    const { link, peer } = await world.link();
    await world.time.pass(5_000);
    peer.answers = false;
    await world.time.pass(1_000);
    peer.send(0);
    world.time.block(9_000);
    await world.time.pass(0);
    expect(link.state).toBe('up');
    expect(world.order).toEqual(['up', 'self-late']);
    expect(link.stats()).toMatchObject({ killsAverted: 1, graces: 0 });
    expect(world.log.hub.stats().lateScore).toBe(2);
  });

  test('a listener that blocks during one judgement does not doom the links judged after it', async () => {
    const world = new World();
    const first = await world.link({ ...OPTIONS, deadAfter: 3 });
    const second = await world.link({ ...OPTIONS, deadAfter: 3 });
    await world.time.pass(5_000);
    first.peer.answers = second.peer.answers = false;
    // Both are heard in the same instant for the last time, so that both fall due in the same wake.
    for (const { peer } of [first, second]) peer.send(0);
    await world.time.pass(10);
    let blocked = 0;
    world.log.hub.on('suspect', () => {
      if (blocked++ > 0) return;
      world.time.nowMs += 4_000; // beyond the second link's time-out, too
      for (const { peer } of [first, second]) peer.send(0);
    });
    await world.time.pass(3_000);
    expect(blocked).toBeGreaterThan(0);
    expect(world.log.of('dead')).toEqual([]);
    expect([first.link.state, second.link.state]).toEqual(['up', 'up']);
  });

  test('is told from 100 ms on', async () => {
    for (const lagMs of [99, 100]) {
      const world = new World();
      await world.link();
      await world.time.pass(5_000);
      let dueMs = Infinity;
      const { setTimeout } = world.time;
      world.time.setTimeout = (callback, delayMs) => {
        dueMs = world.time.nowMs + delayMs;
        return setTimeout.call(world.time, callback, delayMs);
      };
      await world.time.pass(1_000); // so that a new sleep has begun
      world.time.block(dueMs + lagMs - world.time.nowMs);
      await world.time.pass(1_000);
      expect(world.order).toEqual(lagMs < 100 ? ['up'] : ['up', 'self-late']);
    }
  });
});

describe('sleep', () => {
  test('F5: resumed tells how long; every link has a fresh window; a stall is no sleep', async () => {
    const world = new World();
    const slept: object[] = [];
    world.log.hub.on('resumed', (_link, detail) => slept.push(detail));
    const { link } = await world.link();
    await world.time.pass(5_000);
    world.time.sleptMs += 1_800_000;
    await world.time.pass(5_000);
    expect(slept).toEqual([{ sleptMs: 1_800_000 }]);
    world.time.block(60_000);
    await world.time.pass(5_000);
    expect(slept).toHaveLength(1);
    expect(world.order).toEqual(['up', 'resumed', 'self-late']);
    expect(link.state).toBe('up');
  });

  test('a link that still connects is left alone', async () => {
    const world = new World();
    await world.link();
    const { accepted, connected } = await socketPair();
    new RawPeer(connected);
    const waiting = vi.spyOn(accepted, 'connecting', 'get').mockReturnValue(true);
    const link = world.log.hub.attach(accepted, OPTIONS);
    await world.time.pass(1_000);
    world.time.sleptMs += 1_800_000;
    await world.time.pass(2_000);
    expect([link.state, link.stats().framesSent]).toEqual(['opening', 0]);
    waiting.mockRestore();
  });
});

describe('own business', () => {
  function watched(check: () => boolean, more = {}) {
    const fatal: number[] = [];
    const world = new World({
      selfCheck: {
        check,
        periodMs: 1_000,
        limitMs: 500,
        onFatal: (result) => fatal.push(result.failures),
        ...more,
      },
    });
    return { world, fatal };
  }

  test('while it fails every link says so at once, links that come later too; and again when it is over', async () => {
    let isWell = true;
    const { world } = watched(() => isWell);
    const early = await world.link({ intervalMs: 60_000, firstPhase: 0.001 });
    await world.time.pass(2_500);
    expect(levels(early.peer)).toEqual([false]);
    isWell = false;
    await world.time.pass(1_000);
    expect(levels(early.peer)).toEqual([false, true]);
    const late = await world.link({ intervalMs: 60_000, firstPhase: 0.001 });
    await world.time.pass(500);
    expect(levels(late.peer)).toEqual([true]);
    isWell = true;
    await world.time.pass(1_000);
    expect(levels(early.peer)).toEqual([false, true, false]);
    expect(levels(late.peer)).toEqual([true, false]);
  });

  test('a link that comes while it fails keeps its place in the spread of first beats', async () => {
    const { world } = watched(() => false);
    await world.time.pass(1_500);
    const { peer } = await world.link({ intervalMs: 1_000, firstPhase: 0.8 });
    await world.time.pass(700);
    expect(peer.frames).toEqual([]);
    await world.time.pass(200);
    expect(levels(peer)).toEqual([true]);
  });

  test("a link's own level is its own: degraded when either says so", async () => {
    let isWell = true;
    const { world } = watched(() => isWell);
    const { link, peer } = await world.link({ intervalMs: 60_000, firstPhase: 0.001 });
    await world.time.pass(500);
    link.setDegraded(true);
    await world.time.pass(3_000); // successes of the hub's check do not take it back
    expect(levels(peer)).toEqual([false, true]);
    isWell = false;
    await world.time.pass(1_000);
    link.setDegraded(false);
    await world.time.pass(500);
    expect(levels(peer).at(-1)).toBe(true);
    isWell = true;
    await world.time.pass(1_000);
    expect(levels(peer).at(-1)).toBe(false);
  });

  test('three failures in a row are fatal, once; a success begins anew', async () => {
    const answers = [false, false, true, false, false, false, false, false, true, false, false, false];
    const { world, fatal } = watched(() => answers.shift() ?? true);
    const counts: number[] = [];
    for (let turn = 0; turn < 14; turn++) {
      await world.time.pass(1_000);
      counts.push(fatal.length);
    }
    expect(counts).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    expect(fatal).toEqual([3, 3]);
  });

  test('failures: 1 is the limit of patience it was given', async () => {
    const { world, fatal } = watched(() => false, { failures: 1 });
    await world.time.pass(1_000);
    expect(fatal).toEqual([1]);
  });

  test('a check that hangs is a failure each time it is due and not over, and closing tells it to stop', async () => {
    let signal: AbortSignal | undefined;
    const fatal: number[] = [];
    const world = new World({
      selfCheck: {
        check: (given): Promise<boolean> => {
          signal = given;
          return new Promise<boolean>(() => {});
        },
        periodMs: 1_000,
        limitMs: 500,
        failures: 1,
        onFatal: (result) => fatal.push(result.failures),
      },
    });
    await world.time.pass(1_400);
    expect(signal?.aborted).toBe(false);
    await world.log.hub.close();
    expect(signal?.aborted).toBe(true);
    await world.time.pass(5_000);
    expect(fatal).toEqual([]); // nothing is fatal after the end
  });

  test('a listener that closes a link while all are told stops nobody', async () => {
    let isWell = true;
    const { world } = watched(() => isWell);
    const links: Awaited<ReturnType<World['link']>>[] = [];
    for (let count = 0; count < 3; count++)
      links.push(await world.link({ intervalMs: 60_000, firstPhase: 0.001 }));
    await world.time.pass(500);
    const { tellLevel } = links[0]!.link as unknown as { tellLevel(): void };
    (links[0]!.link as unknown as { tellLevel(): void }).tellLevel = function (this: Link) {
      links[1]!.link.destroy();
      tellLevel.call(this);
    };
    isWell = false;
    await world.time.pass(1_000);
    await settle();
    expect(levels(links[0]!.peer).at(-1)).toBe(true);
    expect(levels(links[2]!.peer).at(-1)).toBe(true);
    expect(world.log.hub.stats().links).toBe(2);
  });

  test.each([
    [{ check: 5 }, 'selfCheck.check must be'],
    [{ check: () => true, failures: 0 }, 'selfCheck.failures must be'],
    [{ check: () => true, onFatal: 5 }, 'selfCheck.onFatal must be'],
    [{ check: () => true, every: 5 }, 'every'],
    [{ check: () => true, periodMs: 5 }, 'periodMs must be'],
  ] as [object, string][])('%j is refused by name', (selfCheck, message) => {
    expect(() => new HeartbeatHub({ selfCheck: selfCheck as never })).toThrow(message);
  });
});

describe('jobs of the hub', () => {
  test('run on its wheel, and end with it', async () => {
    const world = new World();
    let runs = 0;
    const probe = world.log.hub.probe({ name: 'x', periodMs: 1_000, run: () => runs++ });
    await world.time.pass(3_500);
    expect(runs).toBe(3);
    await world.log.hub.close();
    expect(probe.isStopped).toBe(true);
    expect(() => world.log.hub.probe({ name: 'x', periodMs: 1_000, run: () => runs++ })).toThrow(
      expect.objectContaining({ code: 'HB_ERR_CLOSED' }),
    );
  });
});

describe('F19: business probes on real sockets', () => {
  test('two ends: the check of one is asked by the other, at most one waiting per link however many ask', async () => {
    const time = new ManualTime();
    const answering = new HubLog({ clock: time, timers: time });
    const { accepted, connected } = await socketPair();
    const peer = new RawPeer(connected);
    let runs = 0;
    const check = async (): Promise<boolean> => {
      runs++;
      await new Promise((resolve) => setTimeout(resolve, 1));
      return true;
    };
    const link = answering.hub.attach(accepted, { intervalMs: 60_000, firstPhase: 0.9, check });
    later(() => link.destroy());
    const asked = vi.spyOn(answering.hub.checks, 'ask');
    for (let n = 1; n <= 10; n++) peer.send(Flag.AckRequest | Flag.Probe, n);
    const [pong] = await peer.seen(1, Flag.Ack | Flag.Probe);
    await settle();
    expect(pong).toMatchObject({ flags: Flag.Ack | Flag.Probe, timestamp: 10 });
    expect([runs, peer.pongs.length, asked.mock.calls.length]).toEqual([1, 1, 1]);
  });
});
