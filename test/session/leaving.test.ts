/** GOAWAY on both sides: what is said, what goes on meanwhile, and what an end after it is called. */
import { describe, expect, it } from 'vitest';
import { goAwayWord } from '../../src/session/index.ts';
import { Flag } from '../../src/wire/constants.ts';
import { pair, watch } from '../support/session-world.ts';

describe('we leave', () => {
  it('says GOAWAY at once, beats and answers on, and ends after the drain', () => {
    const { world, a, b } = pair({ intervalMs: 1000 }, { rttMs: 20 });
    world.run(10_000);
    a.act((session, nowMs) => session.departure.leave(goAwayWord(6, 2500), 5000, nowMs));
    const leftMs = world.nowMs;
    expect(a.sent.at(-1)).toMatchObject({ flags: Flag.Param | Flag.GoAway, word: 0x07060019, atMs: leftMs });
    world.run(4900);
    expect([a.session.state, b.session.state]).toEqual(['leaving', 'leaving']);
    expect(a.sent.filter(({ atMs }) => atMs > leftMs).length).toBeGreaterThanOrEqual(5);
    world.run(200);
    expect(a.events.slice(1)).toEqual([
      { type: 'leaving', by: 'us', reason: 6, retryAfterMs: 2500, atMs: leftMs },
      { type: 'ended', cause: 'local', atMs: leftMs + 5000 },
    ]);
    expect(b.events.slice(1)).toEqual([
      { type: 'leaving', by: 'peer', reason: 6, retryAfterMs: 2500, atMs: leftMs + 10 },
    ]);
    expect(a.session.departure.causeOfPeerClose).toBe('local');
    expect(b.session.departure.causeOfPeerClose).toBe('left');
    world.run(10_000);
    expect(b.events.at(-1)).toMatchObject({ type: 'ended', cause: 'left' });
  });

  it('said twice, it is said once; nothing is said after the end', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(2000);
    end.act((session, nowMs) => session.departure.leave(goAwayWord(1, 0), 5000, nowMs));
    world.run(1000);
    end.act((session, nowMs) => session.departure.leave(goAwayWord(1, 0), 50_000, nowMs));
    world.run(4000);
    expect(end.sent.filter(({ flags }) => (flags & Flag.GoAway) !== 0)).toHaveLength(1);
    expect(end.eventTypes).toEqual(['up', 'leaving', 'ended']);
  });

  it('a peer that falls silent meanwhile ends it earlier, as our own leaving', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    end.act((session, nowMs) => session.departure.leave(goAwayWord(1, 0), 30_000, nowMs));
    peer.answers = false;
    world.run(4000);
    expect(end.eventTypes).toEqual(['up', 'leaving', 'ended']);
    expect(end.eventsOf('ended')[0]!.cause).toBe('local');
  });

  it('farewell says GOAWAY if that can be done at once, and is the end', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(2000);
    end.act((session, nowMs) => session.departure.farewell(goAwayWord(5, 0), nowMs));
    expect(end.sent.at(-1)).toMatchObject({ flags: Flag.Param | Flag.GoAway, word: 0x07050000 });
    expect(end.session.state).toBe('closed');
    expect(end.eventTypes).toEqual(['up']);
  });
});

describe('the peer leaves', () => {
  it('silence after its GOAWAY is a departure, asked for and on time', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(5000);
    peer.say(Flag.Param | Flag.GoAway, 0x07010000);
    peer.answers = false;
    world.run(0);
    const { lastRxMs } = end.session;
    world.run(10_000);
    expect(end.events.map(({ type }) => type)).toEqual(['up', 'leaving', 'ended']);
    const [ended] = end.eventsOf('ended');
    expect(ended!.cause).toBe('left');
    expect(ended!.atMs - lastRxMs).toBeGreaterThanOrEqual(3000);
    expect(ended!.atMs - lastRxMs).toBeLessThanOrEqual(end.session.detectionTimeMs + 10);
  });

  it.each([
    ['GOAWAY_INFO', Flag.Param | Flag.GoAway, 0x0702012c, 2, 30_000],
    ['GOAWAY_INFO: do not return', Flag.Param | Flag.GoAway, 0x0708ffff, 8, Infinity],
    ['GOAWAY_INFO with a reason not assigned', Flag.Param | Flag.GoAway, 0x07640001, 0, 100],
    ['GOAWAY, whose timestamp is no word', Flag.GoAway, 0x07080001, 0, 0],
    ['PING with GOAWAY', Flag.AckRequest | Flag.GoAway, 0x07080001, 0, 0],
  ])('%s is understood', (_, flags, word, reason, retryAfterMs) => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(2000);
    peer.say(flags, word);
    world.run(0);
    expect(end.eventsOf('leaving')[0]).toMatchObject({ by: 'peer', reason, retryAfterMs });
    expect(end.session.state).toBe('leaving');
    expect(end.session.departure.causeOfPeerClose).toBe('left');
    peer.say(flags, word);
    world.run(5000);
    expect(end.eventsOf('leaving')).toHaveLength(1);
    expect(end.session.state).toBe('leaving');
  });

  it('without a GOAWAY its close is a failure', () => {
    const { world, end } = watch({ intervalMs: 1000 });
    world.run(2000);
    expect(end.session.departure.causeOfPeerClose).toBe('peer-closed');
  });

  it('when both leave, the close that follows is ours', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(2000);
    end.act((session, nowMs) => session.departure.leave(goAwayWord(1, 0), 30_000, nowMs));
    peer.say(Flag.GoAway);
    world.run(0);
    expect(end.session.departure.causeOfPeerClose).toBe('local');
    expect(end.eventsOf('leaving').map(({ by }) => by)).toEqual(['us', 'peer']);
  });

  it('a GOAWAY of a duplicate, stale or candidate frame is not applied', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    peer.send(0, 500, 1);
    for (const seq of [500, 100, 9000]) peer.send(Flag.GoAway, seq, 1);
    world.run(100);
    expect(end.session.state).toBe('up');
    expect(end.session.departure.causeOfPeerClose).toBe('peer-closed');
  });
});
