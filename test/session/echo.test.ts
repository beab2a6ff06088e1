/** F67: a plain echo service returns every byte; it must not pass for the most faithful of peers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/wire/constants.ts';
import { join, pair, ScriptedPeer, SessionEnd, World, watch } from '../support/session-world.ts';

function echoed(rttMs = 20, options = {}) {
  const world = new World(4);
  const end = new SessionEnd(world, { intervalMs: 1000, ...options });
  const echo = new ScriptedPeer(world);
  echo.arrive = (cargo) => {
    if (cargo !== 'host') echo.send(cargo.flags, cargo.seq, cargo.word);
    else echo.host();
  };
  join(end, echo, rttMs);
  end.open();
  return { world, end };
}

describe('F67: an echo', () => {
  it.each([0, 20, 500, 1900])('is found out at the third ping that comes back, round trip %i ms', (rttMs) => {
    const { world, end } = echoed(rttMs);
    world.run(30_000);
    expect(end.eventTypes.filter((type) => type === 'reflected')).toHaveLength(1);
    expect(end.eventTypes.at(-1)).toBe('reflected');
    expect(end.session.state).toBe('closed');
    expect(end.framesNamed('PING').length).toBeLessThanOrEqual(6);
  });

  it('business probes and host bytes do not hide it', () => {
    const { world, end } = echoed(20, { probeEveryMs: 1000, probeLimitMs: 500 });
    world.every(100, Infinity, () => end.session.state === 'closed' || end.hostWrites());
    world.run(60_000);
    expect(end.eventsOf('reflected')).toHaveLength(1);
  });

  it('two pings that come back are not yet an echo, the third is', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, ask: 'always' });
    peer.answers = false;
    world.every(400, Infinity, () => peer.say(0));
    for (let count = 1; count <= 3; count++) {
      world.run(1100);
      const ping = end.framesNamed('PING').at(-1)!;
      peer.send(Flag.AckRequest, ping.seq, ping.word);
      world.run(0);
      expect(end.session.state).toBe(count < 3 ? 'up' : 'closed');
    }
  });

  it('two peers whose counters and clocks start alike are none', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom('always', 'when-silent'), (seed, ask) => {
        const { world, a, b } = pair({ intervalMs: 1000, ask: ask as 'always' }, { rttMs: 300, seed });
        world.run(30_000);
        expect([...a.eventTypes, ...b.eventTypes]).toEqual(['up', 'up']);
      }),
      { numRuns: 30 },
    );
  });

  it('pings of a peer with other numbers are answered, however many', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(100, Infinity, () => peer.say(Flag.AckRequest));
    world.run(20_000);
    expect(end.session.state).toBe('up');
    expect(end.framesNamed('PONG').length).toBeGreaterThan(150);
  });
});

describe('F66: a counter that restarts on a live link', () => {
  it('costs one frame that says nothing, never the link', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.answers = false; // so that only its own frames tell its level
    let seq = 5_000_000;
    world.every(300, Infinity, () => peer.send(Flag.Degraded & (seq < 1000 ? 0xff : 0), seq++, 0));
    world.run(10_000);
    expect(end.session.peerDegraded).toBe(false);
    seq = 0;
    world.run(650); // two frames: a candidate, and its confirmation
    expect(end.session.peerDegraded).toBe(true);
    expect(end.session.stats.candidates).toBe(1);
    world.run(20_000);
    expect(end.session.stats.candidates).toBe(1);
    expect(end.eventTypes.filter((type) => type !== 'one-way')).toEqual(['up', 'degraded']);
  });
});
