/** Questions on links of every kind: how many, when, and what their lack of answers says. */
import { describe, expect, it } from 'vitest';
import { Flag, Param } from '../../src/wire/constants.ts';
import { makeFinal, makeParam, makePoll, parameterDigest, paramId } from '../../src/wire/param.ts';
import { watch } from '../support/session-world.ts';

describe('asking', () => {
  it('F9: a link busy both ways carries one question per D and nothing else', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 }, { rttMs: 20 });
    world.every(100, Infinity, () => {
      peer.host();
      end.hostWrites();
    });
    world.run(300_000);
    expect(end.framesNamed('BEAT')).toEqual([]);
    const pings = end.framesNamed('PING');
    expect(pings.length).toBeGreaterThanOrEqual(95);
    expect(pings.length).toBeLessThanOrEqual(101);
    expect(end.session.rtt.latestMs).toBe(20);
    expect(end.eventTypes).toEqual(['up']);
  });

  it('F9: without answers it is still one per D, and the one-way path is told once', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    const openedMs = world.nowMs;
    peer.answers = false;
    world.every(100, Infinity, () => {
      peer.host();
      end.hostWrites();
    });
    world.run(60_000);
    const at = end.framesNamed('PING').map(({ atMs }) => atMs - openedMs);
    expect(at.slice(0, 4)).toEqual([0, 3000, 6000, 9000]);
    expect(end.framesNamed('PING').length).toBeLessThanOrEqual(21);
    expect(end.eventsOf('one-way')).toEqual([{ type: 'one-way', unansweredMs: 3000, atMs: openedMs + 3000 }]);
    expect(end.session.state).toBe('up');
  });

  it('one-way is told anew after an answer, never while everything is answered', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.every(500, Infinity, () => peer.say(0));
    world.run(60_000);
    expect(end.eventsOf('one-way')).toEqual([]);
    for (let round = 1; round <= 2; round++) {
      peer.answers = false;
      world.run(15_000);
      expect(end.eventsOf('one-way')).toHaveLength(round);
      peer.answers = true;
      world.run(15_000);
      expect(end.eventsOf('one-way')).toHaveLength(round);
    }
  });

  it('M = 1: asks early enough that the answer has a tenth of the interval, and the verdict is not moved', () => {
    const options = { intervalMs: 5_000, deadAfter: 1 };
    const { world, end, peer } = watch(options, { rttMs: 2, phase: 0.2 });
    world.every(50, Infinity, () => end.hostWrites());
    world.run(60_000);
    peer.out.delayMs = 450; // known by now as 2 ms: the RTO is at its least, 200 ms
    world.run(60_000);
    expect(end.eventTypes).toEqual(['up']);
    expect(end.framesNamed('PING').length).toBeLessThanOrEqual(120 / 4.5 + 2);
    const { lastRxMs } = end.session;
    peer.answers = false;
    world.run(10_000);
    expect(end.eventsOf('dead')[0]!.atMs - lastRxMs).toBeLessThanOrEqual(5_000 + 4_500);
  });

  it('one-way is told in time on a link that only answers, a second question in between or not', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    const openedMs = world.nowMs;
    peer.answers = false;
    let isSilent = false;
    world.every(300, Infinity, () => isSilent || peer.say(Flag.AckRequest));
    world.at(openedMs + 1_000, () => (isSilent = true));
    world.at(openedMs + 2_200, () => (isSilent = false));
    world.run(2_500);
    expect(end.framesNamed('PING').map(({ atMs }) => atMs - openedMs > 1_500)).toEqual([false, true]);
    world.run(10_000);
    expect(end.eventsOf('one-way')[0]!.atMs - openedMs).toBeLessThanOrEqual(3_000 + 20);
  });

  it('asks a peer that only answers while our host writes all the time: never a suspect', () => {
    for (const deadAfter of [2, 3, 8]) {
      const { world, end } = watch({ intervalMs: 1000, deadAfter }, { rttMs: 100, phase: 0.2 });
      world.every(50, Infinity, () => end.hostWrites());
      world.run(120_000);
      expect(end.eventTypes).toEqual(['up']);
      // One question per silence of an interval, no more.
      expect(end.framesNamed('PING').length).toBeLessThanOrEqual(120);
    }
  });

  it('asks no more than the answer clock wants while we do not read', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(3000);
    end.pause();
    const before = end.framesNamed('PING').length;
    world.every(50, world.nowMs + 30_000, () => end.hostWrites());
    world.run(30_000);
    expect(end.framesNamed('PING').length - before).toBeLessThanOrEqual(10); // the answer clock's
  });

  it('the first round trip is known early, on a busy link too', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 }, { rttMs: 300, phase: 0.5 });
    world.every(50, Infinity, () => {
      peer.host();
      end.hostWrites();
    });
    world.run(850);
    expect(end.session.rtt.samples).toBe(1);
  });
});

describe('answers', () => {
  it('are counted when they are late, repeated, or to nothing of ours, and never fatal', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    const { seq, word } = end.framesNamed('PING')[0]!;
    const matched = end.session.stats.pongsMatched;
    const rto = end.session.rtt.samples;
    for (const strange of [seq, seq, (seq + 5000) >>> 0, (seq - 7) >>> 0]) peer.send(Flag.Ack, strange, word);
    world.run(0);
    expect(end.session.stats.pongsUnmatched).toBe(4);
    expect([end.session.stats.pongsMatched, end.session.rtt.samples]).toEqual([matched, rto]);
    expect(end.session.lastRxMs).toBe(world.nowMs);
    expect(end.session.state).toBe('up');
  });

  it('with a forged timestamp they match, and say nothing about the round trip', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 }, { rttMs: 50 });
    world.run(5000);
    const { rtoMs, samples } = end.session.rtt;
    peer.answers = false;
    world.run(1000);
    const ping = end.framesNamed('PING').at(-1)!;
    end.pongs.length = 0;
    peer.send(Flag.Ack, ping.seq, (ping.word - 3_600_000) >>> 0);
    world.run(100);
    expect(end.pongs.map(({ seq, rttMs }) => [seq, rttMs])).toEqual([[ping.seq, Number.NaN]]);
    expect([end.session.rtt.rtoMs, end.session.rtt.samples]).toEqual([rtoMs, samples]);
    expect(end.session.jitter.jitterMs).toBe(0);
  });

  it('measure the path, exactly when asked to', () => {
    const whole = watch({ intervalMs: 1000 }, { rttMs: 12.5 });
    whole.world.run(20_000);
    expect(whole.end.pongs.every(({ rttMs }) => rttMs === 12)).toBe(true);
    const precise = watch({ intervalMs: 1000, preciseRtt: true }, { rttMs: 12.5 });
    precise.world.run(20_000);
    expect(precise.end.pongs.length).toBeGreaterThan(15);
    expect(precise.end.pongs.every(({ rttMs }) => rttMs === 12.5)).toBe(true);
  });

  it('stand in for jitter when the peer sends nothing of its own', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    let odd = false;
    peer.out.delayMs = () => ((odd = !odd) ? 10 : 42);
    world.run(60_000);
    expect(end.session.jitter.jitterMs).toBeGreaterThan(25);
    expect(end.session.jitter.jitterMs).toBeLessThanOrEqual(32);
  });
});

describe('F51: a peer that speaks every 500 ms and wants to be spoken to every 10 s', () => {
  function uneven(rttMs = 0) {
    const { world, end, peer } = watch({ intervalMs: 500, negotiate: true }, { rttMs });
    world.run(600 + rttMs);
    const poll = peer.received.find(({ word }) => paramId(word) === Param.Poll)!;
    peer.say(Flag.Param, makeFinal(poll.word));
    const words = [
      makeParam(Param.DesiredMinTx, 500),
      makeParam(Param.RequiredMinRx, 10_000),
      makeParam(Param.DetectMult, 2),
    ] as const;
    for (const word of [...words, makePoll(1, parameterDigest(...words))]) peer.say(Flag.Param, word);
    world.run(100 + rttMs);
    expect(end.session.limits).toMatchObject({ txIntervalMs: 10_000, rxIntervalMs: 500, multiplier: 2 });
    return { world, end, peer };
  }

  it('is not asked more often than that because its beats are a little late', () => {
    const { world, end, peer } = uneven();
    const before = end.framesNamed('PING').length;
    world.every(520, Infinity, () => peer.say(0));
    world.run(100_000);
    const asked = end.framesNamed('PING').length - before;
    expect(asked).toBeGreaterThanOrEqual(9);
    expect(asked).toBeLessThanOrEqual(14); // as many as sends of ours spread over 0.75 to 1 interval
    expect(end.eventTypes).not.toContain('suspect');
  });

  it('is suspected again in time after life that came before the answer to a slow question was due', () => {
    const { world, end, peer } = uneven(700);
    peer.answers = false;
    peer.say(0);
    world.run(350 + 430);
    peer.say(0);
    world.run(350); // comes 30 ms after suspicion; an answer may take more than a second
    const aliveMs = world.nowMs;
    expect(end.eventTypes.slice(-2)).toEqual(['suspect', 'recovered']);
    expect(end.session.rtt.rtoMs).toBeGreaterThan(1_000);
    world.run(900);
    const suspectedMs = end.eventsOf('suspect').at(-1)!.atMs;
    expect(suspectedMs - aliveMs).toBeGreaterThanOrEqual(750);
    expect(suspectedMs - aliveMs).toBeLessThanOrEqual(770);
  });
});
