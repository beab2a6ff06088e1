/** The duty to be heard: gaps between our frames, what they are, jitter, and counters that wrap over long times. */
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { Flag } from '../../src/wire/constants.ts';
import {
  join,
  pair,
  ScriptedPeer,
  type SentFrame,
  SessionEnd,
  World,
  watch,
} from '../support/session-world.ts';

const gaps = (frames: readonly SentFrame[]): number[] =>
  frames.slice(1).map((frame, index) => frame.atMs - frames[index]!.atMs);

/** Numbers and offsets start where the test wants them. */
function startingAt(seq: number, timestampOffset: number): Random {
  const draws = [seq, timestampOffset];
  const rest = seededRandom(9);
  return { next: rest.next, u32: () => draws.shift() ?? rest.u32() };
}

describe('duty', () => {
  it('F14: the gap between our frames never exceeds the interval, whatever RTT, phase and tick', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 250, max: 3000 }),
        fc.constantFrom(1, 7, 10, 25),
        fc.double({ min: 0, max: 2.5, noNaN: true }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.integer({ min: 0, max: 1e9 }),
        (intervalMs, tickMs, rttIntervals, phase, seed) => {
          const { world, end, peer } = watch(
            { intervalMs },
            { rttMs: rttIntervals * intervalMs, phase, seed, tickMs },
          );
          // Pings of the peer make us answer at odd moments, off the tick.
          world.every(intervalMs * 2.3 + 0.7, Infinity, () => peer.say(Flag.AckRequest));
          world.run(40 * intervalMs);
          expect(end.eventsOf('dead')).toEqual([]);
          expect(Math.max(...gaps(end.sent))).toBeLessThanOrEqual(intervalMs);
          expect(end.sent.length).toBeGreaterThan(40);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('spreads its gaps over three quarters to one interval', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(700, Infinity, () => peer.say(0));
    world.run(400_000);
    // Questions of the answer clock come in between; what is spread is the way to the next beat.
    const found = gaps(end.sent).filter((_, index) => end.sent[index + 1]!.name === 'BEAT');
    expect(Math.min(...found)).toBeGreaterThanOrEqual(740);
    expect(Math.max(...found)).toBeLessThanOrEqual(1000);
    for (const [low, high] of [
      [740, 800],
      [940, 1000],
    ] as const) {
      expect(found.filter((gapMs) => gapMs >= low && gapMs <= high).length).toBeGreaterThan(
        found.length / 10,
      );
    }
  });

  it('with M = 1 it spreads them over 0.75 to 0.90 only, because one miss is death', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, deadAfter: 1, ask: 'always' });
    world.every(100, Infinity, () => peer.host());
    world.run(200_000);
    const found = gaps(end.sent);
    expect(Math.max(...found)).toBeLessThanOrEqual(900);
    expect(Math.max(...found)).toBeGreaterThan(870);
    expect(Math.min(...found)).toBeGreaterThanOrEqual(740);
  });

  it('F8: a link that only receives still sends within its interval, and sends beats', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 }, { phase: 0.3 });
    world.every(10, Infinity, () => peer.host());
    world.run(100_000);
    expect(Math.max(...gaps(end.sent))).toBeLessThanOrEqual(1000);
    expect(end.framesNamed('BEAT').length).toBeGreaterThan(1.5 * end.framesNamed('PING').length);
    expect(end.session.state).toBe('up');
  });

  it('the first frame goes out at the phase it was given, as a question', () => {
    for (const phase of [0, 0.25, 0.999]) {
      const { world, end } = watch({ intervalMs: 1000 }, { phase });
      const openedMs = world.nowMs;
      world.run(1000);
      expect(end.sent[0]!.name).toBe('PING');
      expect(end.sent[0]!.atMs - openedMs).toBe(Math.ceil(Math.floor(phase * 1000) / 10) * 10);
    }
  });

  it('also when the peer spoke before it: the round trip is to be known', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 }, { phase: 0.5 });
    world.every(100, Infinity, () => peer.say(0));
    world.run(1000);
    expect(end.sent[0]!.name).toBe('PING');
  });

  it('asks a peer that says nothing of its own, and only beats to one that does', () => {
    const quiet = watch({ intervalMs: 1000 });
    quiet.world.run(50_000);
    expect(quiet.end.framesNamed('BEAT')).toEqual([]);
    const chatty = watch({ intervalMs: 1000 });
    chatty.world.every(900, Infinity, () => chatty.peer.say(0));
    chatty.world.run(50_000);
    expect(chatty.end.framesNamed('PING').length).toBeLessThanOrEqual(2 + 50 / 2.25);
    expect(chatty.end.framesNamed('BEAT').length).toBeGreaterThan(30);
  });

  it.each(['FINAL', 'REFUSE'])(
    '%s is nothing the peer says of its own accord; other parameters are',
    (name) => {
      const id = name === 'FINAL' ? 5 : 8;
      const pingsWhenTold = (word: number): number => {
        const { world, end, peer } = watch({ intervalMs: 1000 });
        world.every(500, Infinity, () => peer.say(Flag.Param, word));
        world.run(20_000);
        return end.framesNamed('PING').length;
      };
      expect(pingsWhenTold((id << 24) >>> 0)).toBeGreaterThan(18);
      expect(pingsWhenTold(6 << 24)).toBeLessThan(10);
    },
  );

  it('ask: always makes every beat of ours a question, 32 unanswered ones at most', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, ask: 'always' });
    world.every(500, Infinity, () => peer.say(0));
    world.run(10_000);
    expect(end.framesNamed('BEAT')).toEqual([]);
    expect(end.pongs.length).toBe(end.framesNamed('PING').length);
    peer.answers = false;
    world.every(100, Infinity, () => expect(end.session.unanswered).toBeLessThanOrEqual(32));
    world.run(100_000);
    expect(end.framesNamed('BEAT').length).toBeGreaterThan(20);
    expect(end.session.state).toBe('up');
  });

  it('a responder answers, and neither beats nor asks nor judges', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    world.run(5000);
    peer.say(Flag.AckRequest, 77);
    end.act((session, nowMs) => session.setDegraded(true, nowMs));
    world.run(1_000_000);
    peer.say(Flag.AckRequest, 78);
    world.run(1_000_000);
    expect(end.sent.map(({ name, word }) => [name, word])).toEqual([
      ['PONG', 77],
      ['PONG', 78],
    ]);
    expect(end.sent[1]!.flags).toBe(Flag.Ack | Flag.Degraded);
    expect(end.eventTypes).toEqual(['up']);
    expect(end.session.deadline(world.nowMs)).toBe(Infinity);
  });

  it('before the connection stands nothing is sent, whatever changes', () => {
    const world = new World();
    const end = new SessionEnd(world, { intervalMs: 1000 });
    join(end, new ScriptedPeer(world));
    end.act((session, nowMs) => session.setDegraded(true, nowMs));
    expect(end.sent).toEqual([]);
    end.open(0.9);
    world.run(2000);
    expect(end.sent[0]!.flags & Flag.Degraded).toBe(Flag.Degraded);
  });
});

describe('numbers over long times', () => {
  it('F29, F31, F32: sixty quiet days across every wrap, without an event', () => {
    for (const [seq, offset] of [
      [0xffffff00, 0xfffffff0],
      [0x7fffff00, 0x7ffffff0],
      [0, 0],
    ] as const) {
      const world = new World(3, { startMs: 12_345 });
      const options = { intervalMs: 600_000 };
      const a = new SessionEnd(world, options, startingAt(seq, offset));
      const b = new SessionEnd(world, options, startingAt(seq + 50, offset));
      join(a, b, 40);
      a.open(0.1);
      b.open(0.6);
      world.run(60 * 86_400_000);
      expect([a.eventTypes, b.eventTypes]).toEqual([['up'], ['up']]);
      expect([a.session.stats.stale, a.session.stats.candidates, a.session.stats.duplicates]).toEqual([
        0, 0, 0,
      ]);
      expect(a.session.stats.pongsUnmatched).toBe(0);
      expect([a.session.rtt.minMs, a.session.rtt.maxMs]).toEqual([40, 40]);
      expect(a.session.jitter.jitterMs).toBeLessThan(1);
      expect(a.sent.length).toBeGreaterThan(8640);
      expect(a.sent[0]).toMatchObject({ seq, word: (a.sent[0]!.atMs + offset) % 2 ** 32 });
      expect(a.sent.filter(({ name }) => name !== 'PONG').map((frame) => frame.seq)).toContain(
        (seq + 300) % 2 ** 32,
      );
    }
  });

  it('F31: a clock at 2^31, 2^32 and 2^50 ms makes no difference to what is sent', () => {
    const record = (startMs: number): unknown => {
      const { world, end } = watch({ intervalMs: 1000 }, { startMs, rttMs: 80, phase: 0.4 });
      world.run(60_000);
      return end.sent.map(({ atMs, name }) => [atMs - startMs, name]);
    };
    const want = record(0);
    for (const startMs of [2 ** 31 - 30_000, 2 ** 32 - 30_000, 2 ** 50])
      expect(record(startMs)).toEqual(want);
  });
});

describe('the wall clock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('F6: steps of a day change nothing', () => {
    const record = (stepMs: number): unknown => {
      const { world, a, b } = pair({ intervalMs: 1000 }, { rttMs: 30 });
      world.every(700, Infinity, () => vi.setSystemTime(Date.now() + stepMs));
      world.run(60_000);
      return [a.sent, b.sent, a.events, b.events];
    };
    vi.useFakeTimers({ toFake: ['Date'] });
    const want = record(0);
    expect(record(86_400_000)).toEqual(want);
    expect(record(-86_400_000)).toEqual(want);
  });
});
