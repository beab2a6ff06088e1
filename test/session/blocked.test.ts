/** An outbound side that does not take frames: what is kept, what a moving or stuck queue says of the peer. */
import { describe, expect, it } from 'vitest';
import { Sent } from '../../src/session/index.ts';
import { Flag } from '../../src/wire/constants.ts';
import { type ScriptedPeer, type SessionEnd, type World, watch } from '../support/session-world.ts';

const TICK_MS = 10;
/** With T = 1000 and M = 3. */
const D_MS = 3000;
const LOOK_MS = 375;

function steady(options = {}): { world: World; end: SessionEnd; peer: ScriptedPeer } {
  const all = watch({ intervalMs: 1000, ...options });
  all.world.run(10_000);
  return all;
}

/** The peer falls silent and reads no more: the socket refuses frames, and `bytes` of the host stay in the queue. */
function block(end: SessionEnd, peer: ScriptedPeer, bytes: number): void {
  end.outbound = Sent.Held;
  peer.answers = false;
  peer.out.isLost = true;
  if (bytes > 0) end.hostWrites(bytes);
}

describe('frames that cannot go out', () => {
  it('are skipped and take no number; the duty is done as soon as the way is free', () => {
    const { world, end, peer } = steady();
    world.every(500, Infinity, () => peer.say(0));
    end.outbound = Sent.Held;
    world.run(5000);
    const before = end.sent.length;
    expect(end.session.stats.skipped).toBe(1);
    end.free();
    expect(end.sent.length).toBe(before + 1);
    world.run(5000);
    const seqs = end.sent.map(({ seq }) => seq);
    expect(seqs.every((seq, index) => index === 0 || seq === (seqs[index - 1]! + 1) >>> 0)).toBe(true);
    expect(end.session.stats.framesSent).toBe(end.sent.length);
  });

  it('of several answers the newest is kept, and goes out once', () => {
    const { world, end, peer } = steady();
    end.outbound = Sent.Held;
    for (const word of [11, 12, 13]) peer.say(Flag.AckRequest, word);
    world.run(0);
    end.free();
    world.run(100);
    expect(end.framesNamed('PONG').map(({ word }) => word)).toEqual([13]);
    expect(end.session.stats).toMatchObject({ pongsCoalesced: 2, pongsSent: 1 });
    end.outbound = Sent.Held;
    peer.say(Flag.AckRequest, 14);
    world.run(0);
    end.free();
    expect(end.framesNamed('PONG').map(({ word }) => word)).toEqual([13, 14]);
  });

  it('a kept answer carries the level of when it leaves, and the change is still told by a frame of our own', () => {
    const { world, end, peer } = steady();
    end.outbound = Sent.Held;
    peer.say(Flag.AckRequest, 11);
    world.run(0);
    end.act((session, nowMs) => session.setDegraded(true, nowMs));
    const before = end.sent.length;
    end.free();
    world.run(0);
    expect(end.sent.slice(before).map(({ name, flags }) => [name === 'PONG', flags & Flag.Degraded])).toEqual(
      [
        [true, Flag.Degraded],
        [false, Flag.Degraded],
      ],
    );
  });

  it('a kept GOAWAY follows the kept answer, with the next number, once', () => {
    const { world, end, peer } = steady();
    end.outbound = Sent.Held;
    peer.say(Flag.AckRequest, 11);
    world.run(0);
    end.act((session, nowMs) => session.departure.leave(0x0701012c, 20_000, nowMs));
    const last = end.sent.at(-1)!.seq;
    const before = end.sent.length;
    end.free();
    world.run(3000);
    expect(
      end.sent
        .slice(before, before + 3)
        .map(({ flags, seq, word }) => [flags, seq, word])
        .slice(0, 2),
    ).toEqual([
      [Flag.Ack, peer.sent.at(-1)!.name === 'PONG' ? expect.any(Number) : peer.sent.at(-1)!.seq, 11],
      [Flag.Param | Flag.GoAway, (last + 1) >>> 0, 0x0701012c],
    ]);
    expect(end.sent.filter(({ flags }) => (flags & Flag.GoAway) !== 0)).toHaveLength(1);
    expect(end.framesNamed('PING').at(-1)!.seq).toBeGreaterThan(last + 1);
  });

  it('what is refused again is kept again', () => {
    const { world, end, peer } = steady();
    end.outbound = Sent.Held;
    peer.say(Flag.AckRequest, 11);
    world.run(0);
    end.act((session, nowMs) => session.departure.leave(0x07010000, 20_000, nowMs));
    end.act((session, nowMs) => session.writable(nowMs));
    end.free();
    const kept = end.sent.slice(-2).map(({ name }) => name);
    expect(kept).toEqual(['PONG', 'PARAM']);
  });

  it('nothing overtakes what is kept: until we are called back, answers join it', () => {
    const { world, end, peer } = steady();
    end.outbound = Sent.Held;
    peer.say(Flag.AckRequest, 11);
    world.run(0);
    end.outbound = Sent.InKernel;
    peer.say(Flag.AckRequest, 12);
    world.run(0);
    expect(end.framesNamed('PONG')).toEqual([]);
    end.free();
    expect(end.framesNamed('PONG').map(({ word }) => word)).toEqual([12]);
  });

  it('an answer that went out is not sent again because the GOAWAY behind it was refused', () => {
    const { world, end, peer } = steady();
    end.outbound = Sent.Held;
    peer.say(Flag.AckRequest, 11);
    world.run(0);
    end.act((session, nowMs) => session.departure.leave(0x07010000, 20_000, nowMs));
    const send = end.send.bind(end);
    let room = 1;
    end.send = (flags, seq, word) => (room-- > 0 ? send(flags, seq, word) : Sent.Held);
    end.free();
    expect(end.sent.at(-1)).toMatchObject({ name: 'PONG', word: 11 });
    end.send = send;
    end.act((session, nowMs) => session.writable(nowMs));
    expect(end.sent.slice(-2).map(({ name }) => name)).toEqual(['PONG', 'PARAM']);
    expect(end.framesNamed('PONG')).toHaveLength(1);
  });

  it('a question that waits in our own queue is no question yet', () => {
    const { world, end, peer } = steady();
    peer.answers = false;
    end.outbound = Sent.Queued;
    world.run(2900);
    expect(end.session.state).toBe('suspect');
    end.free();
    world.run(2500);
    expect(end.session.state).toBe('suspect');
    world.run(D_MS);
    expect(end.session.state).toBe('closed');
  });
});

it('a question that was queued and flushed is asked, and the next silence has its own', () => {
  const { world, end } = steady();
  end.outbound = Sent.Queued;
  world.run(1000);
  end.free();
  world.every(50, Infinity, () => end.hostWrites());
  world.run(60_000);
  expect(end.eventsOf('suspect')).toEqual([]);
});

describe('a queue that does not move', () => {
  it('with our question in it: dead a full window after it got stuck, without asking over and over', () => {
    const { world, end, peer } = steady();
    peer.answers = false;
    end.outbound = Sent.Queued;
    const stuckMs = world.nowMs;
    world.run(20_000);
    const [dead] = end.eventsOf('dead');
    expect(dead).toMatchObject({ cause: 'peer-not-reading' });
    expect(dead!.atMs - stuckMs).toBeGreaterThanOrEqual(D_MS);
    expect(dead!.atMs - stuckMs).toBeLessThanOrEqual(1000 + D_MS + 1000);
    expect(end.framesNamed('PING').filter(({ atMs }) => atMs > stuckMs).length).toBeLessThanOrEqual(10);
  });

  it('F11: is reported although the peer still talks, once, and the peer stays up', () => {
    const { world, end, peer } = steady();
    world.every(200, Infinity, () => peer.host());
    end.outbound = Sent.Held;
    end.hostWrites(5000);
    const blockedMs = world.nowMs;
    world.run(60_000);
    const stalls = end.eventsOf('write-stall');
    expect(stalls).toHaveLength(1);
    expect(stalls[0]!.atMs - blockedMs).toBeGreaterThanOrEqual(D_MS);
    expect(stalls[0]!.atMs - blockedMs).toBeLessThanOrEqual(D_MS + LOOK_MS + 1000);
    expect(stalls[0]!.stalledMs).toBe(stalls[0]!.atMs - blockedMs);
    expect(end.session.state).toBe('up');
    end.drain(1);
    world.run(D_MS + 2 * LOOK_MS + 100);
    expect(end.eventsOf('write-stall')).toHaveLength(2);
  });

  it('F11: is reported although our host goes on writing into it', () => {
    const { world, end, peer } = steady();
    world.every(200, Infinity, () => {
      peer.host();
      end.hostWrites(100);
    });
    end.outbound = Sent.Held;
    world.run(2 * D_MS);
    expect(end.eventsOf('write-stall')).toHaveLength(1);
  });

  it('F11: is reported by a responder too', () => {
    const { world, end, peer } = steady({ role: 'responder' });
    world.every(200, Infinity, () => peer.host());
    end.outbound = Sent.Held;
    end.hostWrites(5000);
    world.run(D_MS + 2 * LOOK_MS);
    expect(end.eventsOf('write-stall')).toHaveLength(1);
  });

  it('that empties is none: no report, and none later', () => {
    const { world, end, peer } = steady();
    world.every(200, Infinity, () => peer.host());
    end.hostWrites(5000);
    world.run(2000);
    end.drain(5000);
    world.run(30_000);
    expect(end.eventsOf('write-stall')).toEqual([]);
  });

  it('F24: silent and not reading: dead, as one that does not read, a full window after both began', () => {
    const { world, end, peer } = steady();
    const { lastRxMs } = end.session;
    block(end, peer, 5000);
    const blockedMs = world.nowMs;
    world.run(20_000);
    const [dead] = end.eventsOf('dead');
    expect(dead).toMatchObject({ cause: 'peer-not-reading', limitMs: D_MS });
    expect(dead!.atMs).toBeGreaterThanOrEqual(Math.max(lastRxMs, blockedMs) + D_MS);
    expect(dead!.atMs).toBeLessThanOrEqual(blockedMs + D_MS + TICK_MS);
  });

  it('F7: the buffer that fills under steady writes into a black hole does not put the verdict off', () => {
    for (const fillsAfterMs of [1500, 2000, 2500, 2900]) {
      const { world, end, peer } = steady();
      end.out.isLost = peer.out.isLost = true;
      const { lastRxMs } = end.session;
      let isFull = false;
      world.every(100, Infinity, () => end.hostWrites(isFull ? 1000 : 0));
      world.at(lastRxMs + fillsAfterMs, () => {
        isFull = true;
        end.outbound = Sent.Held;
      });
      world.run(20_000);
      const [dead] = end.eventsOf('dead');
      expect(dead!.atMs - lastRxMs).toBeGreaterThanOrEqual(D_MS);
      expect(dead!.atMs - lastRxMs).toBeLessThanOrEqual(end.session.detectionTimeMs + TICK_MS);
    }
  });

  it('bytes swallowed at once are no progress: a moment in the queue is not a blocked queue', () => {
    const { world, end, peer } = steady();
    end.out.isLost = peer.out.isLost = true;
    const { lastRxMs } = end.session;
    // As on TLS: each write stands in the queue until the end of the turn.
    world.every(70, Infinity, () => {
      end.hostWrites(1000);
      end.drain(1000);
    });
    world.run(20_000);
    expect(end.eventsOf('dead')[0]!.atMs - lastRxMs).toBeLessThanOrEqual(
      end.session.detectionTimeMs + TICK_MS,
    );
  });
});

describe('a queue that moves', () => {
  it('F10: holds a silent peer at suspect, and never makes it up', () => {
    const { world, end, peer } = steady();
    block(end, peer, 1_000_000);
    world.every(1000, world.nowMs + 60_000, () => end.drain(100));
    world.run(60_000);
    expect(end.session.state).toBe('suspect');
    expect(end.eventTypes).toEqual(['up', 'suspect']);
    const stoppedMs = world.nowMs;
    world.run(20_000);
    const [dead] = end.eventsOf('dead');
    expect(dead!.cause).toBe('peer-not-reading');
    expect(dead!.atMs - stoppedMs).toBeGreaterThan(D_MS - 1000);
    expect(dead!.atMs - stoppedMs).toBeLessThanOrEqual(D_MS + LOOK_MS + TICK_MS);
  });

  it('also after a question got through', () => {
    const { world, end, peer } = steady();
    peer.answers = false;
    peer.out.isLost = true;
    world.run(1500); // the question is in the kernel
    end.outbound = Sent.Held;
    end.hostWrites(1_000_000);
    world.every(200, world.nowMs + 30_000, () => end.drain(100));
    world.run(30_000);
    expect(end.session.state).toBe('suspect');
    world.run(D_MS + LOOK_MS + TICK_MS);
    expect(end.session.state).toBe('closed');
  });

  it('F10: once it is empty the peer has D from there to reach our question behind all the bytes', () => {
    const { world, end, peer } = steady();
    block(end, peer, 1_000_000);
    world.every(500, world.nowMs + 20_000, () => end.drain(100));
    world.run(20_000);
    expect(end.session.state).toBe('suspect');
    end.free();
    const drainedMs = world.nowMs;
    world.run(2500); // far beyond one time-out
    expect(end.session.state).toBe('suspect');
    peer.out.isLost = false;
    peer.host();
    world.run(0);
    expect(end.session.state).toBe('up');
    peer.out.isLost = true;
    world.run(20_000);
    expect(end.eventsOf('dead')[0]!.atMs).toBe(Math.ceil((drainedMs + 2500 + D_MS) / TICK_MS) * TICK_MS);
  });
});

describe('a host frame that our own host leaves open', () => {
  it('keeps us from asking: a full window from its last write, and then it is our own fault', () => {
    const { world, end, peer } = steady();
    block(end, peer, 0);
    world.every(500, world.nowMs + 10_000, () => end.act((session, nowMs) => session.hostWrote(nowMs)));
    world.run(10_000);
    expect(end.session.state).toBe('suspect');
    const lastWriteMs = end.session.lastTxMs;
    world.run(20_000);
    const [dead] = end.eventsOf('dead');
    expect(dead).toMatchObject({ cause: 'local' });
    expect(dead!.atMs - lastWriteMs).toBeGreaterThanOrEqual(D_MS);
    expect(dead!.atMs - lastWriteMs).toBeLessThanOrEqual(D_MS + TICK_MS);
  });

  it('does not matter when the peer was asked before', () => {
    const { world, end, peer } = steady();
    const { lastRxMs } = end.session;
    peer.answers = false;
    peer.out.isLost = true;
    world.run(1500);
    end.outbound = Sent.Held;
    world.every(100, Infinity, () => end.act((session, nowMs) => session.hostWrote(nowMs)));
    world.run(20_000);
    expect(end.eventsOf('dead')[0]).toMatchObject({ cause: 'link-dead' });
    expect(end.eventsOf('dead')[0]!.atMs - lastRxMs).toBeLessThanOrEqual(
      end.session.detectionTimeMs + TICK_MS,
    );
  });
});
