/** The machine slept: told from a stall by two clocks, believed only for what it is, and nobody's fault. */
import { describe, expect, it } from 'vitest';
import { SleepDetector } from '../../src/session/index.ts';
import { join, ScriptedPeer, SessionEnd, World, watch } from '../support/session-world.ts';

/** Look at pairs of [monotonic, boot]; what each look finds. */
function looks(holdMs: number, clocks: readonly (readonly [number, number])[]): number[] {
  const detector = new SleepDetector(holdMs);
  return clocks.map(([monotonicMs, bootMs]) => detector.look(monotonicMs, bootMs));
}

const DAY_MS = 86_400_000;

describe('telling sleep from a stall', () => {
  it.each([
    [
      'F5: a gap between the clocks is sleep, told once',
      0,
      [
        [0, 500],
        [100, 4100],
        [200, 4200],
      ],
      [0, 3500, 0],
    ],
    [
      'F5: a stall moves both and is none',
      0,
      [
        [0, 500],
        [60_000, 60_500],
        [120_000, 120_500],
      ],
      [0, 0, 0],
    ],
    [
      '2 000 ms and less are none',
      0,
      [
        [0, 0],
        [1000, 3000],
        [2000, 6000],
      ],
      [0, 0, 0],
    ],
    [
      'one more is',
      0,
      [
        [0, 0],
        [1000, 3001],
      ],
      [0, 2001],
    ],
    [
      'a slow drift is none',
      0,
      [
        [0, 0],
        [10_000, 11_900],
        [20_000, 23_800],
        [30_000, 35_700],
      ],
      [0, 0, 0, 0],
    ],
    ['an offset at the first look says nothing', 0, [[5, 1e12]], [0]],
    [
      'F6: where only the wall clock runs on, a step back is none',
      45_000,
      [
        [0, 1e12],
        [1000, 1e12 - DAY_MS],
      ],
      [0, 0],
    ],
    [
      'F6: a step forward is taken for sleep, at most once per hold',
      45_000,
      [
        [0, 0],
        [1000, DAY_MS],
        [46_000, 2 * DAY_MS],
        [46_001, 3 * DAY_MS],
      ],
      [0, DAY_MS - 1000, DAY_MS - 45_000, 0],
    ],
    [
      'and the hold counts from the last one believed, not from the last one refused',
      45_000,
      [
        [0, 0],
        [1000, 10_000],
        [45_999, 90_000],
        [46_000, 190_000],
      ],
      [0, 9000, 0, 99_999],
    ],
  ] as [string, number, [number, number][], number[]][])('%s', (_title, holdMs, clocks, found) => {
    expect(looks(holdMs, clocks)).toEqual(found);
  });
});

describe('after sleep', () => {
  it('F5: nobody is suspect, each link has a fresh window, and one question goes out within min(T, 2 000)', () => {
    for (const intervalMs of [500, 1000, 15_000]) {
      const world = new World(7);
      const ends = Array.from({ length: 20 }, (_, index) => {
        const end = new SessionEnd(world, { intervalMs });
        join(end, new ScriptedPeer(world), 20);
        end.open(index / 20);
        return end;
      });
      world.run(5 * intervalMs);
      const before = ends.map((end) => end.framesNamed('PING').length);
      world.suspend(3_600_000);
      const wokeMs = world.wheel.nextDueMs();
      world.runUntil(wokeMs);
      expect(world.sleeps).toEqual([{ atMs: wokeMs, sleptMs: 3_600_000 }]);
      expect(world.lates).toEqual([]);
      for (const { session } of ends) expect(session.lastRxMs).toBe(wokeMs);
      world.run(Math.min(intervalMs, 2000) + 10);
      const asked = ends.map((end, index) =>
        end
          .framesNamed('PING')
          .slice(before[index])
          .map(({ atMs }) => atMs),
      );
      for (const times of asked) expect(times.length).toBeGreaterThanOrEqual(1);
      expect(new Set(asked.map(([first]) => first)).size).toBeGreaterThan(10); // spread
      world.run(10 * intervalMs);
      expect(ends.flatMap((end) => end.eventTypes)).toEqual(ends.map(() => 'up'));
    }
  });

  it('F5: a connection that did not survive it is found one window later', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(10_000);
    end.out.isLost = peer.out.isLost = true;
    world.suspend(60_000);
    world.run(20_000);
    const wokeMs = world.sleeps[0]!.atMs;
    const [dead] = end.eventsOf('dead');
    expect(dead!.atMs - wokeMs).toBeGreaterThanOrEqual(3000);
    expect(dead!.atMs - wokeMs).toBeLessThanOrEqual(end.session.detectionTimeMs + 10);
  });

  it('a frame owed earlier stays owed: our sends are never further apart than the interval', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(10_000);
    for (let delayMs = 0; delayMs <= 1000; delayMs += 125) {
      world.run(1700);
      end.act((session, nowMs) => session.resumed(nowMs, delayMs));
    }
    world.run(5000);
    const gaps = end.sent.slice(1).map(({ atMs }, index) => atMs - end.sent[index]!.atMs);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1000);
  });

  it('in the middle of a suspicion: up again at once, and the first life takes back what was told', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    peer.answers = false;
    world.run(2600);
    expect(end.session.state).toBe('suspect');
    end.act((session, nowMs) => session.resumed(nowMs, 300));
    expect(end.session.state).toBe('up');
    peer.host();
    world.run(0);
    expect(end.eventTypes.filter((type) => type !== 'one-way')).toEqual(['up', 'suspect', 'recovered']);
  });

  it('a question from before it says nothing about the round trip, nor of one way', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, ask: 'always' });
    world.run(5000);
    const { maxMs } = end.session.rtt;
    peer.answers = false;
    world.run(1000);
    const [asked] = end.framesNamed('PING').slice(-1);
    end.act((session, nowMs) => session.resumed(nowMs, 900));
    peer.send(4, asked!.seq, asked!.word);
    peer.answers = true;
    world.run(20_000);
    expect(end.session.rtt.maxMs).toBe(maxMs);
    expect(end.eventTypes).toEqual(['up']);
  });

  it('a new link has its time for the first life again', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, firstLifeMs: 1500 });
    peer.answers = false;
    world.run(1000);
    end.act((session, nowMs) => session.resumed(nowMs, 100));
    const resumedMs = world.nowMs;
    world.run(10_000);
    expect(end.events).toEqual([{ type: 'silent', limitMs: 1500, atMs: resumedMs + 1500 }]);
  });

  it('while we do not read, or after the end, there is nothing to forgive', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(5000);
    end.pause();
    end.act((session, nowMs) => session.resumed(nowMs, 100));
    expect(end.session.state).toBe('unobserved');
    end.resume();
    end.session.end();
    end.act((session, nowMs) => session.resumed(nowMs, 100));
    expect(end.session.state).toBe('closed');
    const sent = end.sent.length;
    world.run(5000);
    expect(end.sent.length).toBe(sent);
  });

  it('a leaving link goes on leaving', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(5000);
    end.act((session, nowMs) => session.departure.leave(0x07010000, 60_000, nowMs));
    end.act((session, nowMs) => session.resumed(nowMs, 100));
    expect(end.session.state).toBe('leaving');
  });
});
