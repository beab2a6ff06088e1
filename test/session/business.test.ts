/** F19, the question behind the heartbeat: does the peer's application work? Four outcomes; never a verdict. */
import { describe, expect, it } from 'vitest';
import { BusinessProbe } from '../../src/session/business.ts';
import type { SessionOptions } from '../../src/session/index.ts';
import { Flag } from '../../src/wire/constants.ts';
import { type SentFrame, watch } from '../support/session-world.ts';

const PROBE = Flag.AckRequest | Flag.Probe;
const OPTIONS: SessionOptions = { intervalMs: 1000, probeEveryMs: 10_000, probeLimitMs: 2000 };
const PASSED = Flag.Ack | Flag.Probe;
const FAILED = Flag.Ack | Flag.Probe | Flag.Degraded;

/** A peer that answers heartbeats at once, and probes as the test says. */
function asked(answer: (probe: SentFrame) => void, options: SessionOptions = OPTIONS) {
  const all = watch(options);
  const { end, peer, world } = all;
  peer.answers = false;
  const arrive = peer.arrive.bind(peer);
  peer.arrive = (cargo) => {
    arrive(cargo);
    if (cargo === 'host' || (cargo.flags & Flag.AckRequest) === 0) return;
    if ((cargo.flags & Flag.Probe) === 0) peer.send(Flag.Ack, cargo.seq, cargo.word);
    else answer(peer.received.at(-1)!);
  };
  const outcomes = () => end.eventsOf('business').map(({ outcome, failures }) => [outcome, failures]);
  const probes = () => end.sent.filter(({ flags }) => (flags & PROBE) === PROBE);
  return { ...all, world, outcomes, probes };
}

describe('F19: what the peer may answer', () => {
  it.each([
    ['ok', PASSED, 0],
    ['failed', FAILED, 3],
    ['unknown', Flag.Ack, 0],
    ['hung', -1, 3],
  ] as const)('%s', (outcome, flags, failures) => {
    const { world, end, peer, outcomes, probes } = asked((probe) => {
      if (flags >= 0) peer.send(flags, probe.seq, probe.word);
    });
    world.run(29_000);
    expect(probes()).toHaveLength(3);
    expect(outcomes()).toEqual([1, 2, 3].map((count) => [outcome, Math.min(count, failures)]));
    expect(end.session.business).toBe(outcome);
    expect(end.session.state).toBe('up');
    expect(end.session.peerDegraded).toBe(false); // the flag of such an answer is the outcome, not the level
    expect(end.eventTypes.filter((type) => type !== 'business')).toEqual(['up']);
  });

  it('hung is told at the limit, not before', () => {
    const { world, end, probes } = asked(() => {});
    world.run(5000);
    const afterMs = end.eventsOf('business')[0]!.atMs - probes()[0]!.atMs;
    expect(afterMs).toBeGreaterThanOrEqual(2000);
    expect(afterMs).toBeLessThanOrEqual(2010);
  });

  it('an answer after the limit changes nothing, and is life', () => {
    const { world, end, peer, outcomes } = asked((probe) =>
      world.at(world.nowMs + 3000, () => peer.send(PASSED, probe.seq, probe.word)),
    );
    world.run(9000);
    expect(outcomes()).toEqual([['hung', 1]]);
    expect(end.session.stats.pongsUnmatched).toBe(1);
  });

  it('an answer in the very wake of the limit is an answer: the sockets are read first', () => {
    const { world, peer, outcomes } = asked((probe) =>
      world.at(Math.ceil((world.nowMs + 2000) / 10) * 10, () => peer.send(PASSED, probe.seq, probe.word)),
    );
    world.run(9000);
    expect(outcomes()).toEqual([['ok', 0]]);
  });

  it('F1: an answer that waited while our own loop was blocked is an answer', () => {
    const { world, end, peer, outcomes } = asked((probe) => {
      world.stall(6000);
      world.at(world.nowMs + 50, () => peer.send(PASSED, probe.seq, probe.word));
    });
    world.run(9000);
    expect(outcomes()).toEqual([['ok', 0]]);
    expect(end.session.business).toBe('ok');
  });

  it('nothing is concluded from a missing answer before the sockets were read', () => {
    const { world, end, outcomes } = asked(() => {});
    world.run(100);
    end.session.setDegraded(true, world.nowMs + 5000);
    end.session.writable(world.nowMs + 5000);
    expect(outcomes()).toEqual([]);
    world.run(3000);
    expect(outcomes()).toEqual([['hung', 1]]);
  });

  it('a second answer to the same probe, or one to another number, settles nothing', () => {
    const { world, end, peer, outcomes } = asked((probe) => {
      peer.send(FAILED, (probe.seq + 1) >>> 0, probe.word);
      peer.send(PASSED, probe.seq, probe.word);
      peer.send(FAILED, probe.seq, probe.word);
    });
    world.run(9000);
    expect(outcomes()).toEqual([['ok', 0]]);
    expect(end.session.stats.pongsUnmatched).toBe(2);
  });

  it('success forgives, unknown neither adds nor forgives', () => {
    const answers = [FAILED, FAILED, Flag.Ack, FAILED, PASSED, FAILED];
    const { world, outcomes, peer } = asked((probe) => peer.send(answers.shift()!, probe.seq, probe.word));
    world.run(59_000);
    expect(outcomes()).toEqual([
      ['failed', 1],
      ['failed', 2],
      ['unknown', 2],
      ['failed', 3],
      ['ok', 0],
      ['failed', 1],
    ]);
  });

  it('a plain answer still carries the level of the peer', () => {
    const { world, end, peer } = asked((probe) => peer.send(Flag.Ack | Flag.Degraded, probe.seq, probe.word));
    world.run(100);
    expect(end.session.business).toBe('unknown');
    expect(end.eventsOf('degraded').map(({ degraded }) => degraded)[0]).toBe(true);
  });
});

describe('probes', () => {
  it('are one at a time, a period apart, and count neither as questions nor for the round trip', () => {
    const { world, end, peer, probes } = asked((probe) =>
      world.at(world.nowMs + 1500, () => peer.send(PASSED, probe.seq, probe.word)),
    );
    world.run(100_500);
    const times = probes().map(({ atMs }) => atMs);
    expect(times).toHaveLength(11);
    for (let index = 1; index < times.length; index++) {
      expect(times[index]! - times[index - 1]!).toBeGreaterThanOrEqual(10_000);
    }
    expect(end.session.rtt.maxMs).toBe(0);
    expect(end.session.unanswered).toBe(0);
  });

  it('are not sent unless wished for', () => {
    const { world, probes } = asked(() => {}, { intervalMs: 1000 });
    world.run(100_000);
    expect(probes()).toEqual([]);
  });

  it('after our own pause or sleep the one under way says nothing', () => {
    for (const away of ['pause', 'sleep']) {
      const { world, end, outcomes } = asked(() => {});
      world.run(500);
      if (away === 'pause') {
        end.pause();
        world.run(1000);
        end.resume();
      } else end.act((session, nowMs) => session.resumed(nowMs, 0));
      world.run(8000);
      expect(outcomes()).toEqual([]);
    }
  });

  it('a listener that ends the link at the news of a hung application sees nothing sent after', () => {
    const { world, end } = asked(() => {}, { ...OPTIONS, probeLimitMs: 10_000 });
    const { notify } = end;
    end.notify = (event) => {
      notify.call(end, event);
      if (event.type === 'business') end.session.end();
    };
    world.run(60_000);
    expect(end.eventsOf('business')).toHaveLength(1);
    expect(end.sent.every(({ atMs }) => atMs <= end.eventsOf('business')[0]!.atMs)).toBe(true);
    expect(end.sent.filter(({ flags }) => (flags & PROBE) === PROBE)).toHaveLength(1);
  });
});

describe('BusinessProbe', () => {
  it('looks again when a probe is owed, and while one waits at its limit', () => {
    const probe = new BusinessProbe(1000, 60_000, 5000);
    expect([probe.nextMs, probe.isWaiting, probe.outcome]).toEqual([1000, false, undefined]);
    probe.sent(7, 1234);
    expect([probe.nextMs, probe.isWaiting]).toEqual([6234, true]);
    expect(probe.overdue(6233)).toBeUndefined();
    expect(probe.overdue(6234)).toBe('hung');
    expect(probe.overdue(6235)).toBeUndefined();
    expect([probe.nextMs, probe.isWaiting, probe.failures]).toEqual([61_234, false, 1]);
    expect(probe.answered(7, 'ok', 0)).toBeUndefined();
  });
});

describe('when we are asked', () => {
  it('and no check is installed: a plain answer, at once, which says unknown', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.say(PROBE, 42);
    world.run(0);
    expect(end.sent.at(-1)).toMatchObject({ flags: Flag.Ack, word: 42 });
  });

  it.each([
    [true, false, PASSED],
    [false, false, FAILED],
    [true, true, PASSED], // our level stays out of it
  ])('the check says %s, our level is degraded: %s', (passed, degraded, flags) => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    const waiting: [number, number][] = [];
    end.onCheck = (seq, timestamp) => waiting.push([seq, timestamp]);
    world.run(100);
    end.act((session, nowMs) => session.setDegraded(degraded, nowMs));
    peer.say(PROBE, 43);
    world.run(700);
    expect(end.framesNamed('PONG')).toEqual([]); // not before the check has run
    const [[seq, timestamp]] = waiting as [[number, number]];
    end.act((session, nowMs) => session.checked(seq, timestamp, passed, nowMs));
    expect(end.sent.at(-1)).toMatchObject({ flags, seq, word: 43 });
  });

  it('the answer waits while nothing can go out, and is nobody to hear after the end', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    end.onCheck = () => {};
    world.run(100);
    end.outbound = 0;
    end.act((session, nowMs) => session.checked(5, 6, false, nowMs));
    end.free();
    expect(end.sent.at(-1)).toMatchObject({ flags: FAILED, seq: 5, word: 6 });
    end.session.end();
    const sent = end.sent.length;
    end.act((session, nowMs) => session.checked(5, 6, true, nowMs));
    peer.say(PROBE, 44);
    world.run(5000);
    expect(end.sent.length).toBe(sent);
  });
});
