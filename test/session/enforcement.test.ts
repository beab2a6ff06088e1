/** Holding a peer to its rate: what is legal costs nothing, what is not is taught before it is cut. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { type Charged, Enforcement } from '../../src/session/enforcement.ts';
import { Flag, GoAwayReason, Param } from '../../src/wire/constants.ts';
import {
  goAwayReason,
  goAwayRetryAfterUnits,
  makeFinal,
  makeParam,
  makePoll,
  parameterDigest,
  paramId,
  paramValue,
} from '../../src/wire/param.ts';
import { type ScriptedPeer, type SessionEnd, type World, watch } from '../support/session-world.ts';
import { sized } from '../support/sizes.ts';

const BEATS = sized(100_000, 20_000);

const made = (requiredMs = 1_000, multiplier = 3, nowMs = 0): Enforcement => {
  const enforcement = new Enforcement();
  enforcement.require(requiredMs, multiplier, nowMs);
  return enforcement;
};
const frame = (enforcement: Enforcement, nowMs: number, what: Charged = 'other'): string =>
  enforcement.pays(what, nowMs) ? 'fine' : enforcement.strike(nowMs);
const burst = (enforcement: Enforcement, frames: number, nowMs: number): string[] =>
  Array.from({ length: frames }, () => frame(enforcement, nowMs));

describe('Enforcement', () => {
  it(`legal jitter and bunched delivery cost no strike in ${BEATS} beats`, () => {
    for (const multiplier of [1, 3]) {
      const enforcement = made(1_000, multiplier);
      const random = seededRandom(multiplier);
      let sentMs = 0;
      let readMs = 0;
      for (let beat = 0; beat < BEATS; beat++) {
        sentMs += 1_000 * (0.75 + 0.25 * random.next()) - 9;
        // The path holds frames back for up to a detection time and delivers them together.
        if (random.next() < 0.05) readMs = sentMs + random.next() * multiplier * 1_000;
        expect(frame(enforcement, Math.max(readMs, sentMs))).toBe('fine');
      }
    }
  });

  it.each([
    [1, 10],
    [3, 12],
    [5, 15],
  ])('with multiplier %i a burst of %i passes, one more is a strike', (multiplier, depth) => {
    expect(burst(made(1_000, multiplier), depth + 1, 0)).toEqual([...Array(depth).fill('fine'), 'remind']);
  });

  it('reminds at the first strike, cuts at the eighth', () => {
    const sentences = burst(made(), 12 + 8, 0).slice(12);
    expect(sentences).toEqual(['remind', ...Array(6).fill('strike'), 'cut']);
  });

  it('refills one in 0.7 of the interval', () => {
    const enforcement = made();
    burst(enforcement, 12, 0);
    expect(frame(enforcement, 699)).toBe('remind');
    expect(frame(enforcement, 700)).toBe('fine');
  });

  it('forgives one strike in 30 s, and reminds again only 10 s later', () => {
    const enforcement = made();
    burst(enforcement, 12 + 3, 0);
    expect(enforcement.strikes).toBe(3);
    burst(enforcement, 12, 60_000); // the bucket is full again: no new strike, nothing forgiven until one falls
    frame(enforcement, 60_000);
    expect(enforcement.strikes).toBe(2);
    const other = made();
    burst(other, 13, 0);
    burst(other, 12, 40_000);
    expect(frame(other, 40_000)).toBe('remind');
  });

  it('the first group of parameters is free, a later one costs one token, words without a POLL cost each', () => {
    const enforcement = made();
    const group = ['word', 'word', 'word', 'poll'] as const;
    const say = (words: readonly ('word' | 'poll')[]) => words.map((what) => frame(enforcement, 0, what));
    burst(enforcement, 11, 0);
    expect(say(group)).toEqual(Array(4).fill('fine'));
    expect(say(group)).toEqual(Array(4).fill('fine'));
    expect(say(group)).toEqual(['fine', 'fine', 'fine', 'remind']);
    expect(say(['word', 'word', 'word', 'word'])).toEqual(['fine', 'fine', 'fine', 'strike']);
  });

  it('another rate begins with a full bucket; the same one does not', () => {
    const enforcement = made();
    burst(enforcement, 12, 0);
    enforcement.require(1_000, 3, 0);
    expect(frame(enforcement, 0)).toBe('remind');
    enforcement.require(2_000, 3, 0);
    expect(frame(enforcement, 0)).toBe('fine');
  });
});

/** A session whose POLL (required rx 1 s) was answered. */
function agreed(): { world: World; end: SessionEnd; peer: ScriptedPeer } {
  const it = watch({ intervalMs: 1_000, negotiate: true, requiredMinRxMs: 1_000 }, { rttMs: 10 });
  it.world.run(1_100);
  const poll = it.peer.received.find(
    ({ flags, word }) => flags === Flag.Param && paramId(word) === Param.Poll,
  )!;
  it.peer.say(Flag.Param, makeFinal(poll.word));
  it.world.run(100);
  return it;
}

describe('on a link', () => {
  it('a flooding peer is reminded by our rates, then told the allowed rate and when to return, then cut', () => {
    const { world, end, peer } = agreed();
    const before = peer.received.length;
    for (let index = 0; index < 13; index++) peer.say(0);
    world.run(50);
    const reminder = peer.received.slice(before).filter(({ flags }) => flags === Flag.Param);
    world.run(1_200);
    const reminded = peer.received.slice(before).filter(({ flags }) => flags === Flag.Param);
    expect([...reminder, ...reminded].some(({ word }) => paramId(word) === Param.Poll)).toBe(true);
    for (let index = 0; index < 40; index++) peer.say(0);
    world.run(50);
    const [told, goAway] = peer.received.slice(-2);
    expect([paramId(told!.word), paramValue(told!.word)]).toEqual([Param.RequiredMinRx, 1_000]);
    expect([goAway!.flags, goAwayReason(goAway!.word), goAwayRetryAfterUnits(goAway!.word)]).toEqual([
      Flag.GoAway | Flag.Param,
      GoAwayReason.TooFast,
      300,
    ]);
    expect(end.eventsOf('too-fast')).toMatchObject([{ requiredMinRxMs: 1_000 }]);
    expect(end.session.state).toBe('closed');
  });

  it('before its FINAL a peer may send as it likes', () => {
    const { world, end, peer } = watch({ intervalMs: 1_000, negotiate: true, requiredMinRxMs: 1_000 });
    world.run(1_100);
    for (let index = 0; index < 1_000; index++) peer.say(0);
    world.run(1_000);
    expect(end.session.state).toBe('up');
  });

  it('answers we asked for are free, answers to nothing are not', () => {
    const { world, end, peer } = agreed();
    for (let index = 0; index < 40; index++) peer.send(Flag.Ack, 12_345, 0);
    world.run(50);
    expect(end.eventsOf('too-fast')).toHaveLength(1);
    const calm = agreed();
    calm.world.run(600_000); // 600 answers to 600 questions
    expect(calm.end.session.state).toBe('up');
  });

  it("F64: our own stall of 60 s makes a legal peer's beats arrive at once: no strike", () => {
    const { world, end, peer } = agreed();
    world.every(800, world.nowMs + 120_000, () => peer.say(0));
    world.run(20_000);
    world.stall(60_000);
    world.run(100_000);
    expect([end.session.state, end.eventsOf('too-fast')]).toEqual(['up', []]);
  });

  it('F63: while we paused reading for 60 s its beats piled up: no strike, and an offender is still one later', () => {
    const { world, end, peer } = agreed();
    world.every(800, world.nowMs + 120_000, () => peer.say(0));
    world.run(20_000);
    end.pause();
    world.run(60_000);
    end.resume();
    world.run(20_000);
    expect([end.session.state, end.eventsOf('too-fast')]).toEqual(['up', []]);
    for (let index = 0; index < 40; index++) peer.say(0);
    world.run(50);
    expect(end.eventsOf('too-fast')).toHaveLength(1);
  });

  it('a round trip that the peer draws out excuses no flood behind our pause for longer than ten seconds', () => {
    const { world, end, peer } = agreed();
    world.every(800, world.nowMs + 120_000, () => peer.say(0));
    world.run(20_000);
    for (let count = 0; count < 20; count++) end.session.rtt.sample(9_000); // as delayed answers would
    expect(4 * end.session.rtt.rtoMs).toBeGreaterThan(30_000);
    end.pause();
    world.run(5_000);
    end.resume();
    world.run(9_000);
    for (let index = 0; index < 40; index++) peer.say(0);
    world.run(50);
    expect(end.eventsOf('too-fast')).toEqual([]); // so long it may have been bunched by us
    world.run(1_000);
    for (let index = 0; index < 40; index++) peer.say(0);
    world.run(50);
    expect(end.eventsOf('too-fast')).toHaveLength(1);
  });

  it('F64: a peer that asks because we were late by our own interval, not by its, is no offender', () => {
    const rates = { intervalMs: 100, negotiate: true, requiredMinRxMs: 2_000 };
    const { world, end, peer } = watch(rates, { rttMs: 10 });
    world.run(300);
    const poll = peer.received.find(({ word }) => paramId(word) === Param.Poll)!;
    peer.say(Flag.Param, makeFinal(poll.word));
    const its = [makeParam(Param.DesiredMinTx, 2_000), makeParam(Param.RequiredMinRx, 100)];
    const words = [...its, makeParam(Param.DetectMult, 3)] as [number, number, number];
    for (const word of [...words, makePoll(1, parameterDigest(...words))]) peer.say(Flag.Param, word);
    world.run(100);
    expect(end.session.limits).toMatchObject({ txIntervalMs: 100, rxIntervalMs: 2_000 });
    world.every(300, world.nowMs + 30_000, () => {
      world.stall(240);
      peer.say(0);
    });
    world.run(30_000);
    expect([end.session.state, end.eventsOf('too-fast')]).toEqual(['up', []]);
  });

  it('a peer that leaves tells how fast it wants to be spoken to', () => {
    const { world, end, peer } = watch({ intervalMs: 1_000 });
    world.run(10);
    peer.say(Flag.Param, 0x02_00_07_d0);
    peer.say(Flag.Param | Flag.GoAway, 0x07_02_01_2c);
    world.run(10);
    expect(end.eventsOf('leaving')).toMatchObject([
      { by: 'peer', reason: 2, retryAfterMs: 30_000, requiredMinRxMs: 2_000 },
    ]);
  });
});
