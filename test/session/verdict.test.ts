/** Suspicion and death: on time, never early, never for nothing. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NEEDS_POLL, type SessionOptions, TRANSITIONS } from '../../src/session/index.ts';
import { Flag } from '../../src/wire/constants.ts';
import { pair, type ScriptedPeer, SessionEnd, World, watch } from '../support/session-world.ts';
import { sized } from '../support/sizes.ts';

const TICK_MS = 10;

/** Both directions go dark; what is under way still arrives. */
function cut(end: SessionEnd, peer: ScriptedPeer): void {
  end.out.isLost = peer.out.isLost = true;
}

function runUntilSuspect(world: World, end: SessionEnd): void {
  for (let tick = 0; tick < 20_000 && end.session.state !== 'suspect'; tick++) world.run(TICK_MS);
  expect(end.session.state).toBe('suspect');
}

/** Time of death after the last life. */
function silenceUntilDeath(world: World, end: SessionEnd, limitMs: number): number {
  world.run(limitMs);
  const [dead] = end.eventsOf('dead');
  expect(dead, 'it must die').toBeDefined();
  return dead!.atMs - Math.floor(end.session.lastRxMs);
}

describe('death', () => {
  it('comes no earlier than D and no later than published, over everything that may differ', () => {
    fc.assert(
      fc.property(
        fc.record({
          intervalMs: fc.integer({ min: 100, max: 2000 }),
          deadAfter: fc.integer({ min: 1, max: 8 }),
          suspectShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
          rttIntervals: fc.double({ min: 0, max: 2.5, noNaN: true }),
          phase: fc.double({ min: 0, max: 0.999, noNaN: true }),
          aliveIntervals: fc.double({ min: 0, max: 25, noNaN: true }),
          beats: fc.boolean(),
          answers: fc.boolean(),
          hostWrites: fc.boolean(),
          hostReads: fc.boolean(),
          probes: fc.boolean(),
          ask: fc.constantFrom('when-silent', 'always') as fc.Arbitrary<'always'>,
          seed: fc.integer(),
        }),
        (one) => {
          const { intervalMs, deadAfter, phase } = one;
          const options: SessionOptions = { intervalMs, deadAfter, ask: one.ask };
          if (one.suspectShare !== undefined) options.suspectAfter = 1 + one.suspectShare * (deadAfter - 1);
          const rttMs = one.rttIntervals * intervalMs;
          const { world, end, peer } = watch(options, { rttMs, phase, seed: one.seed });
          end.allowsProbes = one.probes;
          peer.answers = one.answers;
          if (one.beats) world.every(intervalMs * 0.83, Infinity, () => peer.say(0));
          if (one.hostReads) world.every(intervalMs * 0.31, Infinity, () => peer.host());
          if (one.hostWrites) world.every(intervalMs * 0.31, Infinity, () => end.hostWrites());
          world.at(world.nowMs + one.aliveIntervals * intervalMs, () => cut(end, peer));
          const silentMs = silenceUntilDeath(world, end, 80 * intervalMs + 20_000);
          expect(silentMs).toBeGreaterThanOrEqual(deadAfter * intervalMs);
          expect(silentMs).toBeLessThanOrEqual(end.session.detectionTimeMs + TICK_MS);
          expect(end.eventsOf('dead')).toHaveLength(1);
          expect(end.events.at(-1)!.type).toBe('dead');
        },
      ),
      { numRuns: sized(150, 60) },
    );
  });

  it.each([2, 3, 5, 10])('F7: steady writes into a black hole, M %i: the verdict is on time', (deadAfter) => {
    for (const answers of [true, false]) {
      const { world, end, peer } = watch({ intervalMs: 100, deadAfter }, { phase: 0.4 });
      peer.answers = answers;
      world.every(50, world.nowMs + 5000, () => peer.host());
      world.every(30, Infinity, () => end.hostWrites());
      world.at(world.nowMs + 5000, () => cut(end, peer));
      const silentMs = silenceUntilDeath(world, end, 20_000);
      expect(silentMs).toBeGreaterThanOrEqual(deadAfter * 100);
      expect(silentMs).toBeLessThanOrEqual(end.session.detectionTimeMs + TICK_MS);
      expect(end.eventsOf('dead')[0]).toMatchObject({ cause: 'link-dead', limitMs: deadAfter * 100 });
    }
  });

  it('F12: a link that dies right after connecting is found, by (M + 1) x T', () => {
    for (let phase = 0; phase < 1; phase += 0.05) {
      const { world, end, peer } = watch({ intervalMs: 1000 }, { phase });
      const openedMs = world.nowMs;
      cut(end, peer);
      world.run(10_000);
      const [dead] = end.eventsOf('dead');
      expect(dead).toMatchObject({ cause: 'never-answered', limitMs: 3000 });
      expect(dead!.atMs - openedMs).toBeGreaterThanOrEqual(3000);
      expect(dead!.atMs - openedMs).toBeLessThanOrEqual(4000 + TICK_MS);
    }
  });

  it('is not told to a listener twice, nor is anything after it, and nothing more is sent', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    cut(end, peer);
    world.run(10_000);
    const sent = end.sent.length;
    const { framesReceived } = end.session.stats;
    peer.out.isLost = false;
    peer.say(Flag.AckRequest | Flag.GoAway | Flag.Degraded);
    peer.host();
    end.act((session, nowMs) => {
      session.setDegraded(true, nowMs);
      session.departure.leave(0x07010000, 1000, nowMs);
      session.departure.farewell(0x07010000, nowMs);
      session.pause(nowMs);
      session.resume(nowMs);
      session.writable(nowMs);
      expect(session.wake(nowMs, false)).toBe(Infinity);
    });
    world.run(100_000);
    expect(end.sent.length).toBe(sent);
    expect(end.eventTypes).toEqual(['up', 'suspect', 'dead']);
    expect(end.session.stats.framesReceived).toBe(framesReceived);
    expect(end.session.state).toBe('closed');
    expect(end.session.deadline(world.nowMs)).toBe(Infinity);
  });

  it('waits for one full poll: what had arrived refutes it', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    cut(end, peer);
    world.run(2900);
    expect(end.session.state).toBe('suspect');
    const { lastRxMs } = end.session;
    const lateMs = lastRxMs + 9000;
    expect(end.session.wake(lateMs, false)).toBe(NEEDS_POLL);
    expect(end.session.state).toBe('suspect');
    end.session.receiveHost(lateMs);
    expect(end.session.wake(lateMs, true)).toBeGreaterThan(lateMs);
    expect(end.session.state).toBe('up');
    expect(end.eventsOf('dead')).toEqual([]);
  });

  it('a process that slept through everything asks first, and judges one time-out later', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(100, world.nowMs + 10_050, () => peer.host());
    world.run(10_050);
    cut(end, peer);
    const lateMs = end.session.lastRxMs + 9000;
    const sent = end.sent.length;
    expect(end.session.wake(lateMs, true)).toBeGreaterThan(lateMs);
    expect(end.session.state).toBe('suspect');
    expect(end.sent[sent]!.name).toBe('PING');
    const { rtoMs } = end.session.rtt;
    expect(end.session.wake(lateMs + rtoMs - 1, true)).toBeLessThanOrEqual(lateMs + rtoMs);
    expect(end.session.state).toBe('suspect');
    end.session.wake(lateMs + rtoMs, true);
    expect(end.session.state).toBe('closed');
  });

  it('counts from the whole millisecond after the last life, never before it', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    end.session.receive(0, 1, 1, world.nowMs + 0.25);
    expect(end.session.lastRxMs).toBe(world.nowMs + 1);
    end.session.receiveHost(world.nowMs + 1.25);
    expect(end.session.lastRxMs).toBe(world.nowMs + 2);
  });

  it('F2: life that arrives in the instant of the verdict is life', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    cut(end, peer);
    world.run(100);
    peer.out.isLost = false;
    world.at(end.session.lastRxMs + 3000, () => peer.host());
    world.run(3500);
    expect(end.eventsOf('dead')).toEqual([]);
    expect(end.session.state).toBe('up');
  });

  it('with M = 1 comes without suspicion, but not without a question', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, deadAfter: 1 });
    world.every(300, world.nowMs + 10_000, () => peer.host());
    world.at(world.nowMs + 10_000, () => cut(end, peer));
    const silentMs = silenceUntilDeath(world, end, 20_000);
    expect(silentMs).toBeGreaterThanOrEqual(1000);
    expect(silentMs).toBeLessThanOrEqual(end.session.detectionTimeMs + TICK_MS);
    expect(end.eventTypes).toEqual(['up', 'dead']);
    const { atMs } = end.eventsOf('dead')[0]!;
    const rtoMs = end.session.rtt.rtoMs;
    expect(
      end.framesNamed('PING').some((ping) => ping.atMs >= atMs - silentMs && ping.atMs <= atMs - rtoMs),
    ).toBe(true);
  });

  it('a responder peer with a constant round trip survives M = 1 as long as answers come in time', () => {
    const { world, end } = watch({ intervalMs: 1000, deadAfter: 1 }, { rttMs: 150 });
    world.run(100_000);
    expect(end.eventTypes).toEqual(['up']);
  });
});

describe('F13: interval < RTT < time-out', () => {
  const RTTS = [1.1, 1.5, 2, 2.5, 2.9];

  it.each(RTTS)(
    'a constant RTT of %d T is never killed, whatever the phase after opening',
    (rttIntervals) => {
      for (let phase = 0; phase < 1; phase += 0.01) {
        const { world, end } = watch(
          { intervalMs: 1000 },
          { rttMs: rttIntervals * 1000, phase, seed: phase * 1000 },
        );
        world.run(20_000);
        expect(end.eventsOf('dead')).toEqual([]);
        expect(end.session.state).not.toBe('opening');
      }
    },
  );

  it.each(RTTS)('a constant RTT of %d T lives through busy -> idle, over 200 phases', (rttIntervals) => {
    for (let round = 0; round < 200; round++) {
      const { world, end, peer } = watch(
        { intervalMs: 1000 },
        { rttMs: rttIntervals * 1000, phase: round / 200 },
      );
      const busyUntilMs = world.nowMs + 12_000 + round * 17;
      world.every(50, busyUntilMs, () => {
        peer.host();
        if (round % 2 === 0) end.hostWrites();
      });
      world.runUntil(busyUntilMs + 15_000);
      expect(end.eventsOf('dead')).toEqual([]);
    }
  });

  it('a link that was busy for less than D and falls idle lives too: its round trip is known by then', () => {
    for (let busyMs = 100; busyMs < 6000; busyMs += 100) {
      const { world, end, peer } = watch({ intervalMs: 1000 }, { phase: 0.3 });
      end.out.delayMs = 2500; // all on our way there, so that the peer's bytes are here before our first frame
      world.every(50, world.nowMs + busyMs, () => peer.host());
      world.run(20_000);
      expect(end.eventsOf('dead')).toEqual([]);
    }
  });

  it('two sessions that are far apart never even suspect each other', () => {
    for (let phase = 0; phase < 1; phase += 0.05) {
      const { world, a, b } = pair({ intervalMs: 1000 }, { rttMs: 2500, phases: [phase, 0.5] });
      world.run(60_000);
      expect(a.session.state).toBe('up');
      expect([...a.eventsOf('dead'), ...b.eventsOf('dead')]).toEqual([]);
    }
  });
});

describe('suspicion', () => {
  it.each([
    [{ deadAfter: 2 }, 1500],
    [{ deadAfter: 3 }, 2000],
    [{ deadAfter: 5 }, 4000],
    [{ deadAfter: 5, suspectAfter: 1.25 }, 1250],
    [{ deadAfter: 3, suspectAfter: 3 }, 3000],
  ])('%j with T = 1000: suspect after %i ms of silence', (options, limitMs) => {
    const { world, end, peer } = watch({ intervalMs: 1000, ...options });
    world.run(10_000);
    cut(end, peer);
    world.run(20_000);
    const [suspect] = end.eventsOf('suspect');
    expect(suspect!.silentMs).toBeGreaterThanOrEqual(limitMs);
    expect(suspect!.silentMs).toBeLessThan(limitMs + TICK_MS);
    expect(suspect!.limitMs).toBe(options.deadAfter * 1000);
    expect(end.session.stats.suspicions).toBe(1);
  });

  it('asks at 0, s, 3s, 7s and 15s after it began, beside the duty', () => {
    const { world, end, peer } = watch({ intervalMs: 60_000, suspectAfter: 1.5 }, { rttMs: 800 });
    world.run(300_000);
    cut(end, peer);
    world.run(250_000);
    const { atMs } = end.eventsOf('suspect')[0]!;
    const s = Math.max(200, end.session.rtt.rtoMs);
    const asked = end.framesNamed('PING').map((ping) => ping.atMs - atMs);
    for (const want of [0, s, 3 * s, 7 * s, 15 * s]) {
      expect(asked.filter((at) => at >= want && at < want + TICK_MS)).toHaveLength(1);
    }
    expect(asked.filter((at) => at >= 0 && at <= 15 * s + TICK_MS)).toHaveLength(5);
  });

  it('leaves out probes that the process has no budget for, and counts them', () => {
    const { world, end, peer } = watch({ intervalMs: 60_000, suspectAfter: 1.5 });
    world.run(300_000);
    end.allowsProbes = false;
    cut(end, peer);
    world.run(250_000);
    const { atMs } = end.eventsOf('suspect')[0]!;
    expect(end.session.stats.probesSkipped).toBe(5);
    expect(end.framesNamed('PING').filter((ping) => ping.atMs >= atMs && ping.atMs < atMs + 10_000)).toEqual(
      [],
    );
    expect(end.eventsOf('dead')).toHaveLength(1);
  });

  it('any life refutes it: recovered is told once for each suspect', () => {
    const lives: ((peer: ScriptedPeer, end: SessionEnd) => void)[] = [
      (peer) => peer.host(),
      (peer) => peer.say(0),
      (peer, end) => peer.send(Flag.Ack, end.sent.at(-1)!.seq, 1),
      (peer) => peer.send(Flag.Ack, 12_345, 1),
    ];
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    for (const live of lives) {
      peer.answers = false;
      runUntilSuspect(world, end);
      live(peer, end);
      world.run(0);
      expect(end.session.state).toBe('up');
      peer.answers = true;
      world.run(10_000);
    }
    const told = end.eventTypes.filter((type) => type !== 'one-way');
    expect(told).toEqual(['up', ...lives.flatMap(() => ['suspect', 'recovered'])]);
    for (const { silentMs } of end.eventsOf('recovered')) expect(silentMs).toBeGreaterThanOrEqual(2000);
  });

  it('a refuted suspicion stops its probes', () => {
    const { world, end, peer } = watch({ intervalMs: 60_000, suspectAfter: 1.5 });
    world.run(300_000);
    peer.answers = false;
    world.run(60_000);
    runUntilSuspect(world, end);
    peer.host();
    const before = end.framesNamed('PING').length;
    world.run(20_000);
    expect(end.framesNamed('PING').length - before).toBeLessThanOrEqual(1);
  });

  it('before anything was heard it ends with up, not with recovered', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.answers = false;
    world.run(2500);
    peer.host();
    world.run(500);
    const told = end.eventTypes.filter((type) => type !== 'one-way');
    expect(told).toEqual(['suspect', 'up']);
  });

  it('up is told exactly once, whatever follows', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    for (let round = 0; round < 5; round++) {
      world.run(5000);
      peer.answers = !peer.answers;
      world.run(2500);
      peer.host();
      end.pause();
      world.run(2000);
      end.resume();
    }
    expect(end.eventsOf('up')).toHaveLength(1);
  });

  it('does not exist for states that lead nowhere by silence', () => {
    for (const state of ['unobserved', 'leaving', 'closed', 'suspect'] as const) {
      expect(TRANSITIONS[state].silence).toBeUndefined();
    }
  });
});

describe('a new link that stays silent', () => {
  it('is asked early enough to be heard in time, if it only answers', () => {
    const { world, end } = watch({ intervalMs: 15_000, firstLifeMs: 10_000 }, { phase: 0.9, rttMs: 200 });
    world.run(20_000);
    expect(end.eventTypes).toEqual(['up']);
    const silent = watch({ intervalMs: 15_000, firstLifeMs: 10_000 }, { phase: 0.9 });
    silent.peer.answers = false;
    const openedMs = silent.world.nowMs;
    silent.world.run(20_000);
    expect(silent.end.eventsOf('silent').map(({ atMs }) => atMs - openedMs)).toEqual([10_000]);
  });

  it('is given up after firstLifeMs, after a poll, and only when nothing was heard', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, firstLifeMs: 1500 });
    const openedMs = world.nowMs;
    peer.answers = false;
    world.run(5000);
    expect(end.events).toEqual([{ type: 'silent', limitMs: 1500, atMs: openedMs + 1500 }]);
    const heard = watch({ intervalMs: 1000, firstLifeMs: 1500 });
    heard.world.at(heard.world.nowMs + 1500, () => heard.peer.host());
    heard.world.run(60_000);
    expect(heard.end.eventTypes).toEqual(['up']);
  });

  it('is not given up when it was heard, or not read, before the connection was ready', () => {
    for (const prepare of [
      (end: SessionEnd) => end.session.receiveHost(0),
      (end: SessionEnd) => end.pause(),
    ]) {
      const world = new World();
      const end = new SessionEnd(world, { intervalMs: 1000, firstLifeMs: 1500 });
      prepare(end);
      end.open();
      world.run(2000);
      expect(end.eventsOf('silent')).toEqual([]);
    }
  });

  it('is not given up while we do not read; it has its time again afterwards', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, firstLifeMs: 1500 });
    peer.answers = false;
    world.run(1000);
    end.pause();
    world.run(20_000);
    expect(end.events).toEqual([]);
    end.resume();
    const resumedMs = world.nowMs;
    world.run(10_000);
    expect(end.events).toEqual([{ type: 'silent', limitMs: 1500, atMs: resumedMs + 1500 }]);
  });
});
