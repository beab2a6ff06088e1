/** Negotiation on live sessions: how the two ends come to their intervals, and that no change of mind kills a link. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import type { SessionOptions } from '../../src/session/index.ts';
import { Flag, Param, RefuseCode } from '../../src/wire/constants.ts';
import { makeParam, makeRefuse, paramId, paramToken } from '../../src/wire/param.ts';
import { pair, type SessionEnd, watch } from '../support/session-world.ts';
import { sized } from '../support/sizes.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
const at = (intervalMs: number, more: SessionOptions = {}): SessionOptions => ({
  intervalMs,
  negotiate: true,
  ...more,
});
const inForce = ({ session }: SessionEnd) => {
  const { txIntervalMs, rxIntervalMs, multiplier } = session.limits;
  return [txIntervalMs, rxIntervalMs, multiplier, session.detectionTimeMs];
};

describe('agreeing', () => {
  it('F51: 5 s and 60 s agree within a second and one round trip, and both ends publish the same', () => {
    const { world, a, b } = pair(at(5_000), { rttMs: 80, peerOptions: at(60_000, { deadAfter: 4 }) });
    const openedMs = world.nowMs;
    world.run(1_200);
    expect(inForce(a)).toEqual([5_000, 60_000, 4, 240_000]);
    expect(inForce(b)).toEqual([60_000, 5_000, 3, 15_000]);
    for (const end of [a, b]) {
      expect(end.session.isAgreed).toBe(true);
      expect(end.eventsOf('negotiated').length).toBeGreaterThan(0);
      const { atMs } = end.eventsOf('negotiated')[0]!;
      expect(atMs - openedMs).toBeLessThanOrEqual(1_080);
    }
  });

  it('is told once, when both have wished and were answered, whoever asks first', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { world, a, b } = pair(at(5_000), { rttMs: 80, seed, peerOptions: at(60_000, { deadAfter: 4 }) });
      world.run(3_000);
      const told = [a, b].map((end) =>
        end.eventsOf('negotiated').map(({ txIntervalMs, rxIntervalMs }) => [txIntervalMs, rxIntervalMs]),
      );
      expect(told, `seed ${seed}`).toEqual([[[5_000, 60_000]], [[60_000, 5_000]]]);
    }
  });

  it('F51: and they live for a virtual week', () => {
    const { world, a, b } = pair(at(5_000), { rttMs: 80, peerOptions: at(60_000) });
    world.run(WEEK_MS);
    for (const end of [a, b]) {
      expect(end.eventsOf('suspect')).toEqual([]);
      expect(end.session.state).toBe('up');
    }
    // The slow side sends at its own pace, and asks once in its detection time of 15 s.
    expect(b.framesNamed('BEAT').length).toBeLessThan(WEEK_MS / 45_000);
    expect(b.framesNamed('PING').length).toBeLessThan(WEEK_MS / 15_000 + 10);
  });

  it('without negotiation the same two suspect and kill each other', () => {
    const { world, a } = pair(
      { intervalMs: 500, ask: 'when-silent' },
      { peerOptions: { intervalMs: 60_000 } },
    );
    a.peer!.arrive = () => {}; // a peer that only beats at its own pace
    world.run(10_000);
    expect(a.eventTypes).toContain('dead');
  });

  it('a peer that never answers a POLL is lived with at our own values, and never killed for it', () => {
    const { world, end, peer } = watch(at(1_000), { rttMs: 20 });
    world.run(60_000);
    expect(
      peer.received.filter(({ flags }) => flags === Flag.Param).map(({ word }) => paramId(word)),
    ).toEqual([Param.DesiredMinTx, Param.RequiredMinRx, Param.DetectMult, Param.Poll]);
    expect(inForce(end)).toEqual([1_000, 1_000, 3, 3_000]);
    expect([end.session.state, end.session.isAgreed, end.eventTypes]).toEqual(['up', false, ['up']]);
  });

  it('a refusal is told, and what held before holds', () => {
    const { world, end, peer } = watch(at(1_000), { rttMs: 20 });
    world.run(1_100);
    const poll = peer.received.find(
      ({ flags, word }) => flags === Flag.Param && paramId(word) === Param.Poll,
    )!;
    peer.say(Flag.Param, makeRefuse(paramToken(poll.word), RefuseCode.DetectionTooLong));
    world.run(100);
    expect(end.eventsOf('negotiation-refused')).toMatchObject([
      { by: 'peer', code: RefuseCode.DetectionTooLong },
    ]);
    expect(inForce(end)).toEqual([1_000, 1_000, 3, 3_000]);
  });

  it('a peer that wishes a detection too long is refused', () => {
    const { world, a, b } = pair(at(1_000), { rttMs: 20, peerOptions: at(200_000) });
    world.run(2_000);
    expect(a.eventsOf('negotiation-refused')).toMatchObject([
      { by: 'us', code: RefuseCode.DetectionTooLong },
    ]);
    expect(b.eventsOf('negotiation-refused')).toMatchObject([
      { by: 'peer', code: RefuseCode.DetectionTooLong },
    ]);
  });

  it('our own POLL coming back closes the link', () => {
    const { world, end, peer } = watch(at(1_000));
    peer.answers = false;
    world.run(1_100);
    for (const { flags, seq, word } of peer.received.filter((frame) => frame.flags === Flag.Param)) {
      peer.send(flags, seq, word);
    }
    world.run(100);
    expect(end.eventTypes).toContain('reflected');
  });

  it('the words of our own POLL under numbers of the peer are a crossing POLL: no reflection', () => {
    const { world, end, peer } = watch(at(1_000));
    peer.answers = false;
    world.run(1_100);
    for (const { flags, seq, word } of peer.received.filter((frame) => frame.flags === Flag.Param)) {
      peer.send(flags, (seq + 4) >>> 0, word);
    }
    world.run(100);
    expect(end.eventTypes).not.toContain('reflected');
    expect(
      peer.received.some(({ flags, word }) => flags === Flag.Param && paramId(word) === Param.Final),
    ).toBe(true);
  });

  it('nothing is polled while the peer is suspect', () => {
    const { world, end, peer } = watch(at(1_000, { deadAfter: 8 }), { rttMs: 20 });
    world.run(7_000);
    peer.answers = false;
    peer.out.isLost = true;
    world.run(7_500);
    expect(end.session.state).toBe('suspect');
    const before = peer.received.length;
    end.act((session, nowMs) => session.setRates({ desiredMinTxMs: 2_000 }, nowMs));
    world.run(300);
    const polls = peer.received.slice(before).filter(({ flags }) => flags === Flag.Param);
    expect(polls).toEqual([]);
  });

  it('answers a POLL although the words came before a pause in between', () => {
    const { world, end, peer } = watch(at(1_000));
    world.run(1_100);
    peer.say(Flag.Param, makeParam(Param.DesiredMinTx, 3_000));
    world.run(700);
    peer.say(Flag.Param, makeParam(Param.RequiredMinRx, 2_000));
    peer.say(Flag.Param, makeParam(Param.DetectMult, 5));
    peer.say(Flag.Param, 0x04_01_0000 | 0); // not the digest of these words
    world.run(100);
    expect(end.session.isAgreed).toBe(false);
  });
});

describe('changing minds', () => {
  it('1 s to 30 s and back, from one end', () => {
    const { world, a, b } = pair(at(1_000), { rttMs: 60 });
    world.run(5_000);
    a.act((session, nowMs) => session.setRates({ desiredMinTxMs: 30_000, requiredMinRxMs: 30_000 }, nowMs));
    world.run(300_000);
    expect([inForce(a), inForce(b)]).toEqual([
      [30_000, 30_000, 3, 90_000],
      [30_000, 30_000, 3, 90_000],
    ]);
    a.act((session, nowMs) => session.setRates({ desiredMinTxMs: 1_000, requiredMinRxMs: 1_000 }, nowMs));
    world.run(2_000);
    expect([inForce(a), inForce(b)]).toEqual([
      [1_000, 1_000, 3, 3_000],
      [1_000, 1_000, 3, 3_000],
    ]);
    world.run(60_000);
    for (const end of [a, b]) expect([end.session.state, end.eventsOf('suspect')]).toEqual(['up', []]);
  });

  it('from both ends at random, crossing: nobody is declared dead', () => {
    const seeds = sized(2_000, 60);
    for (let seed = 1; seed <= seeds; seed++) {
      const random = seededRandom(seed);
      const pick = <T>(from: readonly T[]): T => from[random.u32() % from.length] as T;
      const rttMs = pick([0, 20, 180]);
      const { world, a, b } = pair(at(1_000), { rttMs, seed, phases: [random.next(), random.next()] });
      const ends = [a, b];
      for (let change = 0; change < 12; change++) {
        world.run(random.u32() % 20_000);
        pick(ends).act((session, nowMs) =>
          session.setRates(
            {
              desiredMinTxMs: pick([1_000, 2_000, 5_000, 30_000]),
              requiredMinRxMs: pick([100, 1_000, 5_000, 30_000]),
              detectMultiplier: pick([1, 2, 3]),
            },
            nowMs,
          ),
        );
        if (random.next() < 0.5) {
          pick(ends).act((session, nowMs) =>
            session.setRates({ desiredMinTxMs: pick([1_000, 30_000]) }, nowMs),
          );
        }
      }
      world.run(100_000);
      for (const end of ends) {
        expect([seed, end.session.state, end.eventsOf('dead')]).toEqual([seed, 'up', []]);
      }
      expect([seed, a.session.limits.txIntervalMs, a.session.limits.deadMs]).toEqual([
        seed,
        b.session.limits.rxIntervalMs,
        a.session.limits.rxIntervalMs * a.session.limits.multiplier,
      ]);
    }
  });
});
