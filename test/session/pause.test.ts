/** We stop reading for a while: the receive clocks stand still, duty goes on, and nobody pays for it. */
import { describe, expect, it } from 'vitest';
import { pair, watch } from '../support/session-world.ts';

describe('a pause of our own', () => {
  it('F63: of four detection times: nobody dies, and beats go on', () => {
    for (let phase = 0; phase < 1; phase += 0.1) {
      const { world, a, b } = pair({ intervalMs: 1000 }, { rttMs: 50, phases: [phase, 0.5] });
      world.run(10_000);
      a.pause();
      expect(a.session.state).toBe('unobserved');
      const before = a.sent.length;
      world.run(4 * a.session.detectionTimeMs);
      expect(a.session.state).toBe('unobserved');
      expect(a.sent.length - before).toBeGreaterThanOrEqual(12);
      a.resume();
      world.run(30_000);
      expect([a.session.state, b.session.state]).toEqual(['up', 'up']);
      expect(a.eventTypes).toEqual(['up']);
      expect(b.eventTypes.filter((type) => type !== 'one-way')).toEqual(['up']); // it rightly misses our answers
    }
  });

  it('answers that waited unread do not make the round trip long', () => {
    const { world, end } = watch({ intervalMs: 1000 }, { rttMs: 50 });
    world.run(10_000);
    const { rtoMs } = end.session.rtt;
    end.pause();
    world.run(60_000);
    end.resume();
    world.run(5000);
    expect(end.session.rtt.maxMs).toBe(50);
    expect(end.session.rtt.rtoMs).toBeLessThanOrEqual(rtoMs);
    expect(end.session.rtt.samples).toBeGreaterThan(12);
    expect(end.eventsOf('one-way')).toEqual([]);
  });

  it('a peer that died meanwhile is found one window after we read again', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(10_000);
    end.pause();
    end.out.isLost = peer.out.isLost = true;
    world.run(60_000);
    end.resume();
    const resumedMs = world.nowMs;
    // What lay in the buffer is life; silence counts from there.
    world.run(20_000);
    const [dead] = end.eventsOf('dead');
    expect(dead!.atMs - resumedMs).toBeGreaterThanOrEqual(3000);
    expect(dead!.atMs - resumedMs).toBeLessThanOrEqual(end.session.detectionTimeMs + 10);
  });

  it('before anything was heard it leads back to opening, with a full window', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.answers = false;
    world.run(1000);
    end.pause();
    world.run(10_000);
    end.resume();
    expect(end.session.state).toBe('opening');
    const resumedMs = world.nowMs;
    world.run(10_000);
    expect(end.eventsOf('dead')[0]).toMatchObject({ cause: 'never-answered' });
    expect(end.eventsOf('dead')[0]!.atMs - resumedMs).toBeGreaterThanOrEqual(3000);
  });

  it('in the middle of a suspicion: the next life still takes back what was told', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    peer.answers = false;
    world.run(2500);
    expect(end.session.state).toBe('suspect');
    end.pause();
    world.run(1000);
    end.resume();
    expect(end.session.state).toBe('up');
    expect(end.eventTypes).toEqual(['up', 'suspect']);
    peer.host();
    world.run(0);
    expect(end.eventTypes).toEqual(['up', 'suspect', 'recovered']);
    peer.host();
    world.run(2900);
    expect(end.eventTypes).toEqual(['up', 'suspect', 'recovered', 'suspect']);
  });

  it('a second suspicion without life between is not told again', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    peer.answers = false;
    world.run(2500);
    end.pause();
    world.run(1000);
    end.resume();
    world.run(2500);
    expect(end.session.state).toBe('suspect');
    peer.host();
    world.run(0);
    expect(end.eventTypes).toEqual(['up', 'suspect', 'recovered']);
    expect(end.session.stats.suspicions).toBe(2);
  });

  it('resuming what was not paused changes nothing', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    const { lastRxMs } = end.session;
    peer.answers = false;
    world.run(1500);
    end.act((session, nowMs) => session.resume(nowMs));
    expect(end.session.lastRxMs).toBe(lastRxMs);
  });

  it('while leaving, silence is not judged either', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(5000);
    end.act((session, nowMs) => session.departure.leave(0x07010000, 60_000, nowMs));
    end.pause();
    world.run(30_000);
    expect(end.session.state).toBe('leaving');
  });
});
