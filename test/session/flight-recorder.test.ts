/** The last 32 happenings of a link, handed out when something went wrong. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FlightEvent, FlightRecorder, RECORDED } from '../../src/session/flight-recorder.ts';
import { Sent } from '../../src/session/index.ts';
import { Flag } from '../../src/wire/constants.ts';
import { watch } from '../support/session-world.ts';

describe('the ring', () => {
  it('holds the last 32 of anything, oldest first', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ atMs: fc.double(), what: fc.constantFrom(...RECORDED), value: fc.double() }), {
          maxLength: 100,
          size: 'max',
        }),
        (all) => {
          const recorder = new FlightRecorder();
          for (const { atMs, what, value } of all) recorder.record(what, value, atMs);
          expect(recorder.read()).toEqual(all.slice(-32));
        },
      ),
    );
  });

  it('what was read does not change afterwards', () => {
    const recorder = new FlightRecorder();
    recorder.record('frame-in', 1, 5);
    const read = recorder.read();
    for (let count = 0; count < 40; count++) recorder.record('frame-out', 2, 6);
    expect(read).toEqual([{ atMs: 5, what: 'frame-in', value: 1 }]);
  });
});

describe('what a session records', () => {
  const OPTIONS = { intervalMs: 1000, record: true };
  const words = (events: readonly FlightEvent[] | undefined): string[] =>
    (events ?? []).map(({ what, value }) => `${what} ${value}`);

  it('goes with suspect and dead, and shows what led there', () => {
    const { world, end, peer } = watch(OPTIONS);
    world.run(3000);
    peer.answers = false;
    world.run(10_000);
    const [suspect] = end.eventsOf('suspect');
    const [dead] = end.eventsOf('dead');
    const ping = `frame-out ${Flag.AckRequest}`;
    const pong = `frame-in ${Flag.Ack}`;
    expect(words(suspect!.recent)).toEqual([
      ...Array(end.session.stats.pongsMatched).fill([ping, pong]).flat(),
      ping,
      ping,
    ]);
    expect(words(dead!.recent).slice(0, suspect!.recent!.length)).toEqual(words(suspect!.recent));
    expect(dead!.recent!.length).toBeGreaterThan(suspect!.recent!.length);
  });

  it('has every kind of happening', () => {
    const { world, end, peer } = watch(OPTIONS);
    world.every(400, world.nowMs + 6200, () => peer.say(0));
    world.run(500);
    peer.host();
    end.hostWrites();
    end.pause();
    world.run(100);
    end.resume();
    world.run(100);
    end.outbound = Sent.Held;
    end.hostWrites(1000);
    peer.say(Flag.AckRequest);
    world.run(3500);
    end.free();
    world.run(2000);
    peer.answers = false;
    world.stall(4000);
    world.run(4000);
    const seen = new Set(end.session.recorder!.read().map(({ what }) => what));
    expect([...RECORDED].filter((what) => !seen.has(what))).toEqual([]);
    const of = (kind: string) => end.session.recorder!.read().filter(({ what }) => what === kind);
    expect(of('stall')[0]!.value).toBeGreaterThanOrEqual(3000);
    expect(of('wake-late')[0]!.value).toBeGreaterThan(3000);
    expect(of('held')[0]!.value).toBe(Flag.Ack);
  });

  it('is nothing unless wished for', () => {
    const { world, end, peer } = watch({ intervalMs: 1000 });
    world.run(3000);
    peer.answers = false;
    world.run(10_000);
    expect(end.session.recorder).toBeUndefined();
    expect(end.eventsOf('dead')[0]).not.toHaveProperty('recent');
    expect(end.eventsOf('suspect')[0]).not.toHaveProperty('recent');
  });
});
