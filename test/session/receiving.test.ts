/** What a received frame causes: an answer to a PING and nothing else, levels, numbers of every kind. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/wire/constants.ts';
import { isLegalFrame } from '../../src/wire/flags.ts';
import { pair, type SessionEnd, watch } from '../support/session-world.ts';

const frameArbitrary = fc
  .record({
    flags: fc.integer({ min: 0, max: 127 }),
    seq: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
    word: fc.oneof(
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.integer({ min: 0, max: 10 }).map((id) => (id << 24) >>> 0),
    ),
  })
  .filter(({ flags, word }) => isLegalFrame(flags, word >>> 24));

describe('answers', () => {
  it('only a PING causes a frame: its own number and timestamp, whatever else arrives', () => {
    fc.assert(
      fc.property(fc.array(frameArbitrary, { maxLength: 40 }), (frames) => {
        const { world, end } = watch({ intervalMs: 1000 }, { phase: 0.9 });
        for (const { flags, seq, word } of frames) end.session.receive(flags, seq, word, world.nowMs);
        const pings = frames.filter(({ flags }) => (flags & Flag.AckRequest) !== 0);
        expect(end.sent.map(({ flags, seq, word }) => ({ flags, seq, word }))).toEqual(
          pings.map(({ seq, word }) => ({ flags: Flag.Ack, seq, word })),
        );
      }),
    );
  });

  it('two sessions never keep each other busy: no more frames come out than are put in', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), frameArbitrary), { maxLength: 40 }), (injected) => {
        const { world, a, b } = pair({ intervalMs: 1000, role: 'responder' }, { rttMs: 10 });
        for (const [toA, frame] of injected) (toA ? a : b).arrive(frame);
        world.run(60_000);
        expect(a.sent.length + b.sent.length).toBeLessThanOrEqual(injected.length);
      }),
    );
  });

  it('a PING is answered and is life, be it new, duplicate, stale or a candidate', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    for (const seq of [500, 500, 440, 100, 9000]) {
      world.run(100);
      peer.send(Flag.AckRequest, seq, seq + 7);
      world.run(0);
      expect(end.session.lastRxMs).toBe(world.nowMs);
    }
    expect(end.sent.map(({ seq, word }) => [seq, word])).toEqual(
      [500, 500, 440, 100, 9000].map((seq) => [seq, seq + 7]),
    );
    expect(end.session.stats).toMatchObject({ duplicates: 1, stale: 0, candidates: 2, pongsSent: 5 });
  });

  it('a PROBE is answered plainly: there is no check to run', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    peer.say(Flag.AckRequest | Flag.Probe, 9);
    world.run(0);
    expect(end.sent.map(({ flags }) => flags)).toEqual([Flag.Ack]);
  });

  it('an answer to a probe is matched, and tells neither a round trip nor the level of the link', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.answers = false;
    world.run(500);
    const ping = end.sent[0]!;
    peer.send(Flag.Ack | Flag.Probe | Flag.Degraded, ping.seq, ping.word);
    world.run(0);
    expect(end.pongs.map(({ rttMs }) => rttMs)).toEqual([Number.NaN]);
    expect([end.session.peerDegraded, end.session.rtt.samples]).toEqual([false, 0]);
  });

  it('bit 7 is not looked at', () => {
    const { world, end } = watch({ intervalMs: 1000, role: 'responder' });
    end.session.receive(0x80 | Flag.AckRequest, 3, 4, world.nowMs);
    end.session.receive(0x80, 4, 4, world.nowMs);
    expect(end.sent.map(({ flags, seq }) => [flags, seq])).toEqual([[Flag.Ack, 3]]);
  });
});

describe('numbers', () => {
  it('F41: the first seq may be 0', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    peer.send(Flag.Degraded, 0, 1);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
  });

  it('F43: a duplicate of the newest is no news, also after a jump beyond the window', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    for (const seq of [10, 10, 200, 200]) peer.send(0, seq, 1);
    peer.send(Flag.Degraded, 200, 1);
    world.run(0);
    expect(end.session.stats).toMatchObject({ duplicates: 3, framesReceived: 5 });
    expect(end.session.peerDegraded).toBe(false);
  });

  it('F44: one frame with a huge number moves nothing: what it says is not applied, the next ones are', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    peer.send(0, 10, 1);
    peer.send(Flag.Degraded, 3_000_000_000, 1);
    world.run(0);
    expect(end.session.peerDegraded).toBe(false);
    peer.send(Flag.Degraded, 11, 1);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
  });

  it('F66: a counter that restarts is believed at its second frame', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    peer.send(0, 4_000_000_000, 1);
    peer.send(Flag.Degraded, 0, 1);
    peer.send(Flag.Degraded, 1, 1);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
    expect(end.session.stats).toMatchObject({ candidates: 1, stale: 0 });
  });

  it('RETRANSMIT is judged by its number: applied when new, a duplicate when not', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    peer.send(0, 10, 1);
    peer.send(Flag.Retransmit | Flag.Degraded, 10, 1);
    world.run(0);
    expect([end.session.stats.duplicates, end.session.peerDegraded]).toEqual([1, false]);
    peer.send(Flag.Retransmit | Flag.Degraded, 11, 1);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
  });

  it('numbers of answers stay out of the window', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    peer.send(0, 10, 1);
    peer.send(Flag.Ack, 11, 1);
    peer.send(Flag.Degraded, 11, 1);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
  });

  it('jitter comes from frames the peer stamped, not from parameters and repetitions', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, role: 'responder' });
    for (let k = 0; k < 20; k++) {
      world.run(100);
      peer.say(0);
      peer.say(Flag.Param, 0x06000000 + 5000 * k);
      peer.send(0, peer.sent.at(-1)!.seq, 99_999 * k);
    }
    world.run(0);
    expect(end.session.jitter.jitterMs).toBe(0);
    peer.out.delayMs = 16;
    peer.say(0);
    world.run(16);
    expect(end.session.jitter.jitterMs).toBe(1);
  });
});

describe('DEGRADED', () => {
  const tellsAtOnce = (end: SessionEnd, nowMs: number, value: boolean): void => {
    const before = end.sent.length;
    end.act((session) => session.setDegraded(value, nowMs));
    expect(end.sent.length).toBe(before + 1);
    expect(end.sent.at(-1)!.flags & Flag.Degraded).toBe(value ? Flag.Degraded : 0);
  };

  it.each(['idle', 'busy'])('a change is told at once on an %s link, and arrives as one event', (kind) => {
    const { world, a, b } = pair({ intervalMs: 1000 });
    if (kind === 'busy') world.every(20, Infinity, () => a.hostWrites());
    world.run(5010);
    tellsAtOnce(a, world.nowMs, true);
    tellsAtOnce(a, world.nowMs, false);
    tellsAtOnce(a, world.nowMs, true);
    world.run(20_000);
    tellsAtOnce(a, world.nowMs, false);
    world.run(20_000);
    expect(b.eventsOf('degraded').map(({ degraded }) => degraded)).toEqual([true, false, true, false]);
    expect(b.session.state).toBe('up');
  });

  it('no change, no frame', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(100);
    const before = end.sent.length;
    end.act((session, nowMs) => session.setDegraded(false, nowMs));
    expect(end.sent.length).toBe(before);
  });

  it('is on every frame while it lasts, answers included', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(2000);
    end.act((session, nowMs) => session.setDegraded(true, nowMs));
    const before = end.sent.length - 1;
    peer.say(Flag.AckRequest);
    world.run(10_000);
    end.act((session, nowMs) => session.departure.leave(0x07010000, 1000, nowMs));
    const frames = end.sent.slice(before);
    expect(new Set(frames.map(({ name }) => name))).toEqual(new Set(['PING', 'PONG', 'PARAM', 'BEAT']));
    expect(frames.every(({ flags }) => (flags & Flag.Degraded) !== 0)).toBe(true);
  });

  it('is taken from an accepted answer, not from one that matches nothing', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.answers = false;
    world.run(500);
    const ping = end.sent[0]!;
    peer.send(Flag.Ack | Flag.Degraded, (ping.seq + 9) >>> 0, ping.word);
    world.run(0);
    expect(end.session.peerDegraded).toBe(false);
    peer.send(Flag.Ack | Flag.Degraded, ping.seq, ping.word);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
  });

  it('a listener that ends the link over an answer is not told of that answer', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.answers = false;
    world.run(500);
    end.notify = (event) => {
      if (event.type === 'degraded') end.session.end();
    };
    peer.send(Flag.Ack | Flag.Degraded, end.sent[0]!.seq, end.sent[0]!.word);
    world.run(0);
    expect(end.session.peerDegraded).toBe(true);
    expect(end.pongs).toEqual([]);
  });

  it('a listener that ends the link hears nothing more of the same frame', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    const notify = end.notify.bind(end);
    end.notify = (event) => {
      notify(event);
      if (event.type === 'up') end.session.end();
    };
    peer.say(Flag.AckRequest | Flag.Degraded | Flag.GoAway);
    world.run(1000);
    expect(end.eventTypes).toEqual(['up']);
    expect(end.framesNamed('PONG')).toEqual([]);
  });
});
