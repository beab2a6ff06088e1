/**
 * This process was not running: its own lateness kills nobody, is told before anybody is judged, and hides no death
 * for longer than published. Stalls fall anywhere; the peers know nothing of them.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sent, type SessionOptions } from '../../src/session/index.ts';
import { Flag } from '../../src/wire/constants.ts';
import {
  join,
  ScriptedPeer as Script,
  type ScriptedPeer,
  SessionEnd,
  World,
  watch,
} from '../support/session-world.ts';
import { sized } from '../support/sizes.ts';

const TICK_MS = 10;

function cut(end: SessionEnd, peer: ScriptedPeer): void {
  end.out.isLost = peer.out.isLost = true;
}

/** Stall now and then for ever: `forMs` of every `everyMs`. */
function stallOften(world: World, everyMs: number, forMs: number, untilMs = Infinity): void {
  world.every(everyMs, untilMs, () => world.stall(forMs));
}

/** What the published bound is for the worst score that this world has had. */
function worstBoundMs(world: World, end: SessionEnd, sinceMs: number): number {
  const scores = world.lates.filter(({ atMs }) => atMs >= sinceMs).map(({ score }) => score);
  return end.session.detectionBoundMs(Math.max(world.lateness.score(sinceMs), ...scores));
}

describe('a loop that was blocked', () => {
  it.each([
    {},
    { deadAfter: 1 },
    { deadAfter: 2 },
    { ask: 'always' },
    { suspectAfter: 3 },
  ] as SessionOptions[])(
    'F1: for 3 x the time-out while answers wait in the socket: nobody dies or is suspect, %j',
    (more) => {
      for (let phase = 0; phase < 1; phase += 0.07) {
        const { world, end, peer } = watch({ intervalMs: 1000, ...more }, { rttMs: 40, phase });
        world.every(900, Infinity, () => peer.say(0));
        world.run(10_000 + phase * 3000);
        world.stall(3 * end.session.detectionTimeMs);
        world.run(40_000);
        expect(end.eventTypes).toEqual(['up']);
        expect(end.session.stats.killsAverted).toBe(1);
      }
    },
  );

  it('F1: a peer that only answers had been asked before, or is asked now, and lives too', () => {
    for (let atMs = 0; atMs < 1000; atMs += 30) {
      const { world, end } = watch({ intervalMs: 1000, deadAfter: 1 }, { rttMs: 90 });
      world.run(10_000 + atMs);
      world.stall(3000);
      world.run(20_000);
      expect(end.eventsOf('dead')).toEqual([]);
    }
  });

  it('F2: timers run before the sockets are read; judged is after', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(10_000);
    peer.answers = false;
    world.run(1000);
    world.stall(9000);
    world.at(world.nowMs + 8999, () => peer.say(0)); // a single frame, long after any time-out
    world.run(9000);
    expect([...end.eventsOf('suspect'), ...end.eventsOf('dead')]).toEqual([]);
    expect(end.session.state).toBe('up');
    expect(end.session.stats.killsAverted).toBe(1);
  });

  it('F3: the lag is known, and counted in the score, in the wake that judges', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(10_000);
    cut(end, peer);
    const stalledMs = world.nowMs;
    world.stall(7000);
    world.run(7000);
    expect(world.lates).toHaveLength(1);
    expect(world.lates[0]).toMatchObject({ atMs: stalledMs + 7000, score: 2 });
    expect(world.lates[0]!.lagMs).toBeGreaterThan(6000);
    expect(end.eventTypes).toEqual(['up']); // not even suspect: a grace comes first
    expect(end.session.stats.graces).toBe(1);
  });

  it('F4: a true death during the stall is found, a grace and a window later', () => {
    for (let phase = 0; phase < 1; phase += 0.1) {
      const { world, end, peer } = watch({ intervalMs: 1000 }, { phase });
      world.run(10_000);
      const diedMs = world.nowMs;
      world.stall(9000);
      world.at(diedMs + 100, () => cut(end, peer));
      world.run(40_000);
      const [dead] = end.eventsOf('dead');
      const wokeMs = world.lates[0]!.atMs;
      expect(dead!.cause).toBe('link-dead');
      expect(dead!.atMs).toBeGreaterThanOrEqual(wokeMs + 1000);
      expect(dead!.atMs).toBeLessThanOrEqual(wokeMs + 2 * 1000 + end.session.rtt.rtoMs + TICK_MS);
      expect(end.session.stats.killsAverted).toBe(0);
    }
  });

  it('F62: 0.6 of every interval for ever: a dead peer is found, a living one never hurt', () => {
    for (let phase = 0; phase < 1; phase += 0.1) {
      const { world, end, peer } = watch({ intervalMs: 1000 }, { rttMs: 30, phase });
      stallOften(world, 1000, 600);
      world.run(120_000);
      expect(end.eventTypes).toEqual(['up']);
      expect(world.lateness.score(world.nowMs)).toBe(8);
      cut(end, peer);
      const lastMs = end.session.lastRxMs;
      world.run(60_000);
      const [dead] = end.eventsOf('dead');
      expect(dead, `phase ${phase}`).toBeDefined();
      expect(dead!.atMs - lastMs).toBeGreaterThanOrEqual(6000); // the score is at its top: twice D
      expect(dead!.atMs - lastMs).toBeLessThanOrEqual(end.session.detectionBoundMs(8) + 3 * 600);
      expect(end.session.stats.graces).toBeLessThanOrEqual(2);
    }
  });

  it('at most two graces in a row; any life gives both back', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    for (let round = 1; round <= 3; round++) {
      peer.answers = false;
      for (let count = 0; count < 2; count++) {
        world.stall(2600);
        world.run(2600);
        expect(end.session.stats.graces, `round ${round}`).toBe(2 * round - 1 + count);
      }
      peer.host();
      peer.answers = true;
      world.run(60_000);
      expect(end.eventsOf('dead')).toEqual([]);
    }
  });

  it('a loop that stalls 2.6 of every 3 intervals gives a dead peer two graces, and no third', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    cut(end, peer);
    world.stall(2600);
    stallOften(world, 3000, 2600);
    world.run(60_000);
    expect(end.eventsOf('dead')).toHaveLength(1);
    expect(end.session.stats.graces).toBe(2);
  });

  it.each([
    [500, 0],
    [501, 1],
  ])('a wake %i ms late, with an interval of 1 000 ms, is worth %i graces', (lagMs, graces) => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    cut(end, peer);
    world.runUntil(Math.ceil(end.session.lastRxMs) + 1950);
    world.lateness.note(world.nowMs, lagMs);
    world.run(30_000);
    expect(end.eventsOf('dead')).toHaveLength(1);
    expect(end.session.stats.graces).toBe(graces);
  });

  it('a process that was never late gives none, however young its clock', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, firstLifeMs: 500 }, { startMs: 0 });
    peer.answers = false;
    world.run(10_000);
    expect(end.events).toEqual([{ type: 'silent', limitMs: 500, atMs: 500 }]);
    expect(end.session.stats.graces).toBe(0);
  });

  it('one before the last life is worth none', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    world.lateness.note(world.nowMs, 3000);
    peer.host();
    world.run(1);
    cut(end, peer);
    world.run(30_000);
    expect(end.eventsOf('dead')).toHaveLength(1);
    expect(end.session.stats.graces).toBe(0);
  });

  it('a grace that was over before the judgement fell due does not use up one of the two', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, deadAfter: 8 });
    world.run(5000);
    cut(end, peer);
    world.stall(1800);
    world.run(60_000); // the first judgement is due long after
    expect(end.session.stats.graces).toBe(0);
    expect(end.eventsOf('dead')).toHaveLength(1);
  });

  it('a new link is not given up for a first life that our own stall kept us from asking for', () => {
    const { world, end } = watch({ intervalMs: 1000, firstLifeMs: 1200 }, { phase: 0.5, rttMs: 100 });
    world.stall(1500);
    world.run(10_000);
    expect(end.eventTypes).toEqual(['up']);
    const silent = watch({ intervalMs: 1000, firstLifeMs: 1200 }, { phase: 0.5 });
    silent.peer.answers = false;
    silent.world.stall(1500);
    silent.world.run(10_000);
    expect(silent.end.eventTypes).toEqual(['silent']);
    expect(silent.end.eventsOf('silent')[0]!.atMs - 1_000_000).toBe(1500 + 1000);
  });

  it('a stall between the reading and the judgement adds nothing to the silence that is judged', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, suspectAfter: 2 });
    world.run(10_000);
    peer.answers = false;
    const dueMs = Math.ceil(end.session.lastRxMs + 2000);
    // In the poll of the very wake in which suspicion is due: a callback of somebody else blocks the loop.
    world.at(dueMs, () => world.stall(5000));
    world.at(dueMs + 4000, () => peer.say(0));
    world.runUntil(dueMs + 6000);
    expect(end.eventsOf('dead')).toEqual([]);
    expect(end.session.state).toBe('up');
  });

  it('asks once in the wake of a grace, and never twice in one wake', () => {
    for (const options of [{ deadAfter: 2, suspectAfter: 2 }, { deadAfter: 3 }, { deadAfter: 1 }]) {
      const { world, end, peer } = watch({ intervalMs: 1000, ...options });
      world.every(100, Infinity, () => world.isStalled || end.hostWrites());
      world.run(10_000);
      peer.answers = false;
      peer.out.isLost = true;
      stallOften(world, 1700, 900);
      world.run(30_000);
      const own = end.sent.filter(({ name }) => name !== 'PONG').map(({ atMs }) => atMs);
      expect(new Set(own).size).toBe(own.length);
    }
  });
});

describe('kills averted', () => {
  it('are counted once for each silence that the clock alone would have called death, and not for true deaths', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(500, Infinity, () => peer.say(0));
    world.run(10_000);
    for (let count = 1; count <= 5; count++) {
      world.stall(4000);
      world.run(4000);
      expect(end.session.stats.killsAverted).toBe(count);
      world.run(50_000);
    }
    cut(end, peer);
    world.stall(4000);
    world.run(60_000);
    expect(end.eventsOf('dead')).toHaveLength(1);
    expect(end.session.stats.killsAverted).toBe(5);
  });

  it('a stall shorter than the time-out averts none', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(500, Infinity, () => peer.say(0));
    world.run(10_000);
    world.stall(2400);
    world.run(10_000);
    expect(end.session.stats.killsAverted).toBe(0);
  });

  it('a queue that is looked at while we do not read condemns nobody', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    end.hostWrites(1_000_000);
    end.pause();
    world.every(500, Infinity, () => end.drain(10));
    world.run(20_000);
    end.resume();
    peer.host();
    world.run(1000);
    expect(end.session.stats.killsAverted).toBe(0);
  });
});

describe('bounds under any stalls', () => {
  const stalls = fc.array(
    fc.record({ afterMs: fc.integer({ min: 0, max: 4000 }), forMs: fc.integer({ min: 0, max: 5000 }) }),
    {
      maxLength: 8,
      size: 'max',
    },
  );

  it('a dead peer is found within detectionBoundMs and our own absence, and not before D', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 2000 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 500 }),
        stalls,
        fc.boolean(),
        fc.integer(),
        (intervalMs, deadAfter, rttMs, planned, hostWrites, seed) => {
          const { world, end, peer } = watch({ intervalMs, deadAfter }, { rttMs, seed });
          if (hostWrites) world.every(intervalMs * 0.3, Infinity, () => world.isStalled || end.hostWrites());
          world.run(10 * intervalMs + 3000);
          cut(end, peer);
          const cutMs = world.nowMs;
          const absences: { fromMs: number; forMs: number }[] = [];
          let atMs = cutMs;
          for (const { afterMs, forMs } of planned) {
            world.at((atMs += afterMs), () => world.stall(forMs));
            absences.push({ fromMs: atMs, forMs });
            atMs += forMs;
          }
          world.run(120_000);
          const [dead] = end.eventsOf('dead');
          const silentMs = dead!.atMs - Math.floor(end.session.lastRxMs);
          expect(silentMs).toBeGreaterThanOrEqual(deadAfter * intervalMs);
          // Whether or not a wake was late enough for it to be told: who is absent judges nobody.
          const own = absences.filter(({ fromMs }) => fromMs <= dead!.atMs);
          const absentMs = own.reduce(
            (sum, { fromMs, forMs }) => sum + Math.min(forMs, dead!.atMs - fromMs),
            0,
          );
          // One tick more, and one for each absence: behind it the deadline is rounded up to a tick once again.
          const roundingMs = (own.length + 1) * world.tickMs;
          const boundMs = worstBoundMs(world, end, cutMs) + absentMs + roundingMs;
          expect(silentMs).toBeLessThanOrEqual(boundMs);
          expect(end.eventsOf('dead')).toHaveLength(1);
        },
      ),
      { numRuns: sized(150, 60) },
    );
  });

  it('a peer that beats and answers is never killed by them, nor by stalls of its own path shorter than D', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 2000 }),
        fc.integer({ min: 2, max: 6 }),
        fc.double({ min: 0, max: 0.9, noNaN: true }),
        stalls,
        fc.integer(),
        (intervalMs, deadAfter, rttIntervals, planned, seed) => {
          const { world, end, peer } = watch(
            { intervalMs, deadAfter },
            { rttMs: rttIntervals * intervalMs, seed },
          );
          world.every(intervalMs * 0.9, Infinity, () => peer.say(0));
          world.run(5000);
          let atMs = world.nowMs;
          for (const { afterMs, forMs } of planned) {
            world.at((atMs += afterMs), () => world.stall(forMs));
            atMs += forMs;
          }
          world.run(80_000);
          expect(end.eventTypes).toEqual(['up']);
        },
      ),
      { numRuns: sized(100, 50) },
    );
  });
});

describe('what a late process tells', () => {
  function beating(lagMs: number) {
    const all = watch({ intervalMs: 1000 });
    all.world.every(400, Infinity, () => all.peer.say(0)); // so that BEATs are owed, not PINGs
    all.world.run(10_000);
    all.world.lateness.note(all.world.nowMs, lagMs);
    return all;
  }

  const lagsTold = (end: SessionEnd): number[] =>
    end.sent
      .filter(({ flags }) => (flags & Flag.Param) !== 0)
      .map(({ word }) => (word >>> 24 === 6 ? word & 0xffffff : -1));

  it('LOOP_LAG in place of a BEAT while 100 ms late or more, and once when that is over', () => {
    const { world, end } = beating(150.7);
    const before = end.framesNamed('BEAT').length;
    world.run(4500);
    expect(new Set(lagsTold(end))).toEqual(new Set([150]));
    expect(end.framesNamed('BEAT').length).toBe(before);
    const told = lagsTold(end).length;
    expect(told).toBeGreaterThanOrEqual(3);
    world.run(20_000);
    expect(
      lagsTold(end)
        .slice(told)
        .filter((lagMs) => lagMs < 100),
    ).toEqual([0]);
    expect(end.framesNamed('BEAT').length).toBeGreaterThan(before + 10);
  });

  it.each([
    [99.9, []],
    [100, [100]],
    [2 ** 24 + 5, [2 ** 24 - 1]],
  ])('a lag of %d ms is told as %j', (lagMs, want) => {
    const { world, end } = beating(lagMs);
    world.run(1100);
    expect([...new Set(lagsTold(end))]).toEqual(want);
  });

  it('the peer takes it from a new frame only, and knows when it is over', () => {
    const world = new World();
    const end = new SessionEnd(world, { intervalMs: 1000 });
    const peer = new Script(world);
    join(end, peer);
    end.open();
    peer.send(Flag.Param, 50, (6 << 24) | 700);
    world.run(0);
    expect(end.session.peerLagMs).toBe(700);
    peer.send(Flag.Param, 50, (6 << 24) | 900);
    world.run(0);
    expect(end.session.peerLagMs).toBe(700);
    peer.send(Flag.Param, 51, 6 << 24);
    world.run(0);
    expect(end.session.peerLagMs).toBe(0);
  });
});

describe('write progress and our own absence', () => {
  it('a queue that we did not serve, because we were not running, is no write-stall', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(500, Infinity, () => peer.say(0));
    world.run(5000);
    end.outbound = Sent.Held;
    end.hostWrites(1000);
    world.run(100);
    world.stall(9000);
    world.at(world.nowMs + 9000, () => end.drain(500)); // the kernel takes more in the first poll after it
    world.run(9500);
    expect(end.eventsOf('write-stall')).toEqual([]);
    world.run(10_000);
    expect(end.eventsOf('write-stall')).toHaveLength(1);
  });

  it('a queue that empties in the first poll after a stall was never seen blocked: it is no life', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    cut(end, peer);
    const lastMs = end.session.lastRxMs;
    world.runUntil(end.session.deadline(world.nowMs) - 50);
    end.hostWrites(1000);
    world.stall(300); // the next wake of this link falls into it, but no look at the queue is due yet
    world.at(world.nowMs + 300, () => end.drain(1000));
    world.run(30_000);
    const [dead] = end.eventsOf('dead');
    // D, stretched by one eighth for the late wake; no window anew from the queue that emptied.
    expect(dead!.atMs - lastMs).toBeLessThanOrEqual(3375 + TICK_MS);
  });
});
