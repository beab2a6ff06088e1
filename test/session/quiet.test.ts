/** While a link is up, what is noted of its next judgement must not outlive its reason. */
import { describe, expect, it } from 'vitest';
import { Sent } from '../../src/session/index.ts';
import { join, ScriptedPeer, SessionEnd, World, watch } from '../support/session-world.ts';

const T_MS = 1_000;
const D_MS = 3_000;
const TICK_MS = 10;

describe('what is noted of the next judgement', () => {
  it('M = 1: a verdict that waited for the first RTO does not wait for it once the round trip is known', () => {
    const { world, end, peer } = watch({ intervalMs: 200, deadAfter: 1 }, { rttMs: 50, phase: 0.5 });
    while (end.pongs.length === 0) world.run(TICK_MS);
    end.out.isLost = peer.out.isLost = true;
    const { lastRxMs, detectionTimeMs } = end.session;
    world.run(5_000);
    expect(end.eventsOf('dead')[0]!.atMs - lastRxMs).toBeLessThanOrEqual(detectionTimeMs + TICK_MS);
  });

  it('suspect: a question that gets through ends the time a held one had', () => {
    const { world, end, peer } = watch({ intervalMs: T_MS });
    world.run(10 * T_MS);
    peer.answers = false;
    peer.host(); // the last life: our next frame need not ask
    world.run(0);
    const { lastRxMs } = end.session;
    world.run(0.7 * T_MS);
    end.hostWrites(); // our duty is done; and from here on a host frame is open
    end.outbound = Sent.Held;
    while (end.session.state !== 'suspect') world.run(TICK_MS);
    world.run(100);
    end.free();
    world.run(10 * T_MS);
    expect(end.eventsOf('dead')[0]!.atMs - lastRxMs).toBeLessThanOrEqual(D_MS + TICK_MS);
  });

  it('up: a queue of our own frames is watched from the next wake on', () => {
    const deadMs = 8 * T_MS;
    for (let offsetMs = 0; offsetMs < 6 * T_MS; offsetMs += 370) {
      const { world, end, peer } = watch({ intervalMs: T_MS, deadAfter: 8 });
      world.every(0.3 * T_MS, Infinity, () => peer.host());
      world.run(10 * T_MS + offsetMs);
      end.outbound = Sent.Queued;
      while (end.queuedBytes() === 0) world.run(TICK_MS);
      const queuedMs = world.nowMs;
      world.run(30 * T_MS);
      const [stall] = end.eventsOf('write-stall');
      expect(stall!.atMs - queuedMs, `offset ${offsetMs} ms`).toBeLessThanOrEqual(
        T_MS + deadMs + deadMs / 8 + 2 * TICK_MS,
      );
    }
  });

  it('life before the connection stood: the next one may be earlier than the silence that was foreseen', () => {
    const world = new World(1);
    const end = new SessionEnd(world, { intervalMs: T_MS, deadAfter: 3, suspectAfter: 1 });
    const peer = new ScriptedPeer(world);
    join(end, peer, 0);
    end.session.receiveHost(world.nowMs);
    end.open(0.9);
    peer.answers = false;
    world.run(10);
    peer.say(0);
    world.run(0);
    const { lastRxMs } = end.session;
    world.run(10 * T_MS);
    expect(end.eventsOf('suspect')[0]!.atMs - lastRxMs).toBeLessThanOrEqual(T_MS + TICK_MS);
  });
});
