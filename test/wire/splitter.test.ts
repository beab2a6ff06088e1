/**
 * The splitter: each stream is fed whole, byte by byte and cut at every place (`split`), or in random cuts against the
 * naive splitter; each limit at the limit and one past it; stopping, throwing and ending.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkingArbitrary, damageArbitrary, streamArbitrary } from '../../src/testing/arbitraries.ts';
import { FrameSplitter } from '../../src/wire/splitter.ts';
import { naiveEncode } from '../support/naive-codec.ts';
import { joined, type NaiveSplitterOptions, naiveSplit, type SplitEvent } from '../support/naive-splitter.ts';
import { sized } from '../support/sizes.ts';
import { Recorder } from '../support/splitter-recorder.ts';

const beat = (seq: number, flags = 0): Uint8Array =>
  Uint8Array.from(naiveEncode({ flags, seq, timestamp: 7 }));
const host = (payload: string): Uint8Array =>
  Buffer.concat([Buffer.from([0, 0, 0, payload.length]), Buffer.from(payload)]);
const join = (...parts: (Uint8Array | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...part]));
const frame = (seq: number, flags = 0) => ({ frame: [flags, seq, 7] });
const hostEvent = (payload: string) => ({ host: Buffer.from(host(payload)).toString('hex') });
const mangled = (seq: number, at: number, value: number): Uint8Array => beat(seq).with(at, value);

/** All events of a fed stream. Its end may add HB_ERR_TRUNCATED and nothing else: the rest must have come before. */
function finish(recorder: Recorder): SplitEvent[] {
  const beforeEnd = recorder.events.length;
  const added = recorder.end().slice(beforeEnd);
  expect(added.filter((event) => !('error' in event && event.error === 'HB_ERR_TRUNCATED'))).toEqual([]);
  return joined(recorder.events);
}

/** Events of the stream fed whole, byte by byte and cut once at each place; they must all be the same. */
function split(stream: Uint8Array, options: Partial<Recorder> & NaiveSplitterOptions) {
  const whole = finish(new Recorder(options).feed(stream));
  const single = Array.from(stream, (byte) => Uint8Array.of(byte));
  expect(finish(new Recorder(options).feed(...single)), 'byte by byte').toEqual(whole);
  for (let cut = 0; cut <= stream.length && stream.length <= 400; cut++) {
    const recorder = new Recorder(options).feed(stream.subarray(0, cut), stream.subarray(cut));
    expect(finish(recorder), `cut at ${cut}`).toEqual(whole);
  }
  return whole;
}

const BEATS = { shared: false };
const SHARED = { shared: true };

describe('heartbeat-only', () => {
  it('F45: a thousand frames in one chunk come out in order, and so do they one byte at a time', () => {
    const stream = join(...Array.from({ length: 1000 }, (_, seq) => beat(seq)));
    expect(split(stream, BEATS)).toEqual(Array.from({ length: 1000 }, (_, seq) => frame(seq)));
  });

  it.each([1, 2, 3, 15, 16, 17])('F46: %i stray bytes between frames lose no frame', (count) => {
    for (const junk of [0x00, 0x48, 0x42]) {
      const events = split(join(beat(1), new Array(count).fill(junk), beat(2)), BEATS);
      expect(events).toEqual([frame(1), { skipped: count, code: 'HB_ERR_MAGIC' }, frame(2)]);
    }
  });

  it('F46: three stray bytes within the first fourteen of a frame lose at most that frame', () => {
    const around = (junk: number[], at: number) => {
      const broken = join(beat(2).subarray(0, at), junk, beat(2).subarray(at));
      return split(join(beat(1), broken, beat(3)), BEATS).filter((event) => 'frame' in event);
    };
    for (let at = 1; at < 14; at++) {
      expect(around([0, 0xff, 0x07], at)).toEqual([frame(1), frame(3)]);
      for (const junk of [
        [0x48, 0x42, 0x48],
        [0x48, 0x48, 0x42],
        [0x48, 0x42, 1],
      ]) {
        const frames = around(junk, at);
        expect([frames.at(0), frames.at(-1)]).toEqual([frame(1), frame(3)]);
      }
    }
  });

  it('stray bytes in the reserved field are a peer that uses it: the CRC held, HB_ERR_RESERVED', () => {
    for (const at of [14, 15]) {
      const broken = join(beat(2).subarray(0, at), [1, 2, 3], beat(2).subarray(at));
      expect(split(join(beat(1), broken), BEATS)).toEqual([
        frame(1),
        { error: 'HB_ERR_RESERVED', offset: 16 },
      ]);
    }
  });

  it('a frame hidden in the last bytes of a damaged one is found', () => {
    const events = split(join(beat(1).subarray(0, 5), beat(2)), BEATS);
    expect(events.filter((event) => 'frame' in event)).toEqual([frame(2)]);
  });

  it('illegal flags under a good CRC skip sixteen bytes, not one', () => {
    expect(split(join(beat(1, 5), beat(2)), BEATS)).toEqual([
      { skipped: 16, code: 'HB_ERR_FLAGS' },
      frame(2),
    ]);
  });

  it('the budget: 1024 skipped bytes are survived, one more is HB_ERR_RESYNC at its offset', () => {
    const junk = new Array(1024).fill(0);
    expect(split(join(junk, beat(1)), BEATS)).toEqual([{ skipped: 1024, code: 'HB_ERR_MAGIC' }, frame(1)]);
    const past = split(join(junk, [0], beat(1)), BEATS);
    expect(past).toEqual([
      { skipped: 1024, code: 'HB_ERR_MAGIC' },
      { error: 'HB_ERR_RESYNC', offset: 1024 },
    ]);
  });

  it('each good frame repays 16, never below nothing owed', () => {
    const budget = { ...BEATS, resyncBudgetBytes: 20 };
    const junk = (count: number): number[] => new Array(count).fill(9);
    const codes = (stream: Uint8Array) =>
      split(stream, budget).flatMap((e) => ('error' in e ? [e.error, e.offset] : []));
    expect(codes(join(junk(20), beat(1), junk(16), beat(2)))).toEqual([]);
    expect(codes(join(junk(20), beat(1), junk(17), beat(2)))).toEqual(['HB_ERR_RESYNC', 52]);
    expect(codes(join(beat(1), beat(2), junk(21)))).toEqual(['HB_ERR_RESYNC', 52]);
  });

  it('a strike costs 16 of the budget: affordable to the byte, else the frame is where it ends', () => {
    const strikes = join(beat(1, 5), beat(2, 5));
    const at = (resyncBudgetBytes: number) => split(strikes, { ...BEATS, resyncBudgetBytes }).at(-1);
    expect(at(32)).toEqual({ skipped: 32, code: 'HB_ERR_FLAGS' });
    expect(at(31)).toEqual({ error: 'HB_ERR_RESYNC', offset: 16 });
    expect(at(0)).toEqual({ error: 'HB_ERR_RESYNC', offset: 0 });
  });

  it('CRC failures draw on the budget byte by byte', () => {
    const at = (resyncBudgetBytes: number) =>
      split(join(mangled(1, 4, 99), beat(2)), { ...BEATS, resyncBudgetBytes }).at(-1);
    expect(at(16)).toEqual(frame(2));
    expect(at(15)).toEqual({ error: 'HB_ERR_RESYNC', offset: 15 });
  });

  it('F47: sixteen bytes of anything, at the start or behind a frame, never block what follows', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (junk) => {
        const tail = Array.from({ length: 2 }, (_, seq) => beat(seq + 100));
        const frames = new Recorder(BEATS).feed(join(beat(1), junk, ...tail)).end();
        expect(frames).toContainEqual(frame(101));
      }),
    );
  });
});

describe('fatal in both modes, under a good CRC', () => {
  const other = Uint8Array.from(naiveEncode({ flags: 0, seq: 2, timestamp: 7, version: 2 }));
  const reserved = Uint8Array.from(naiveEncode({ flags: 0, seq: 2, timestamp: 7, reserved: 0x100 }));
  it.each([BEATS, SHARED])(
    'another version is HB_ERR_VERSION, reserved in use HB_ERR_RESERVED (%o)',
    (mode) => {
      expect(split(join(beat(1), other, beat(3)), mode)).toEqual([
        frame(1),
        { error: 'HB_ERR_VERSION', offset: 16 },
      ]);
      expect(split(join(beat(1), reserved, beat(3)), mode)).toEqual([
        frame(1),
        { error: 'HB_ERR_RESERVED', offset: 16 },
      ]);
      const lenient = { ...mode, reserved: 'ignore' as const };
      expect(split(join(beat(1), reserved, beat(3)), lenient)).toEqual([frame(1), frame(2), frame(3)]);
    },
  );
});

describe('shared with a host protocol', () => {
  it('F45: heartbeats and host frames in any order, cut anywhere', () => {
    const stream = join(host('HB'), beat(1), beat(2), host(''), host('HBHBHBHBHBHBHBHBHBHB'), beat(3));
    expect(split(stream, SHARED)).toEqual([
      hostEvent('HB'),
      frame(1),
      frame(2),
      hostEvent(''),
      hostEvent('HBHBHBHBHBHBHBHBHBHB'),
      frame(3),
    ]);
  });

  it.each([
    ['a stray byte', join([0x41, 0x41, 0x41, 0x41])],
    ['48 without 42', join([0x48, 0x41, 0x41, 0x41])],
    ['a damaged heartbeat', mangled(2, 9, 1)],
    ['illegal flags', beat(2, 5)],
  ])('F46: %s closes with HB_ERR_DESYNC; nothing is searched, nothing follows', (_, bad) => {
    expect(split(join(beat(1), bad, beat(3)), SHARED)).toEqual([
      frame(1),
      { error: 'HB_ERR_DESYNC', offset: 16 },
    ]);
  });

  it('host frames: at the limit whole, one byte past it HB_ERR_HOST_TOO_LARGE before any of it', () => {
    const limit = { ...SHARED, maxHostFrameBytes: 10 };
    expect(split(join(beat(1), host('123456')), limit)).toEqual([frame(1), hostEvent('123456')]);
    expect(split(join(beat(1), host('1234567')), limit)).toEqual([
      frame(1),
      { error: 'HB_ERR_HOST_TOO_LARGE', offset: 16 },
    ]);
  });

  it('the default host limit is 2^24, header included', () => {
    const announce = (length: number) => {
      const recorder = new Recorder({ shared: false, hostFrameLength: () => length } as never);
      return recorder.feed(Uint8Array.of(1)).events;
    };
    expect(announce(2 ** 24)).toEqual([{ host: '01' }]);
    expect(announce(2 ** 24 + 1)).toEqual([{ error: 'HB_ERR_HOST_TOO_LARGE', offset: 0 }]);
    expect(announce(Infinity)).toEqual([{ error: 'HB_ERR_HOST_TOO_LARGE', offset: 0 }]);
  });

  it.each([Number.NaN, -1, -2, 0.5, 1.5, undefined, '4', null])(
    'an answer of %s is HB_ERR_DESYNC, not an exception',
    (answer) => {
      const recorder = new Recorder({ shared: false, hostFrameLength: (() => answer) as never });
      expect(recorder.feed(Uint8Array.of(1, 2)).end()).toEqual([{ error: 'HB_ERR_DESYNC', offset: 0 }]);
    },
  );

  /** A line protocol: the header is decided by its end mark, which may never come. */
  const lines = (bytes: Uint8Array, start: number, end: number): number => {
    const mark = bytes.subarray(start, end).indexOf(10);
    return mark < 0 ? 0 : mark + 1;
  };

  it('an undecided host header: 64 bytes decide or close, however they arrive', () => {
    const line = (length: number): Uint8Array => Uint8Array.from([...new Array(length - 1).fill(65), 10]);
    const options = { shared: false, hostFrameLength: lines };
    expect(split(join(line(64), beat(1)), options)).toHaveLength(2);
    expect(split(join(line(65), beat(1)), options)).toEqual([{ error: 'HB_ERR_DESYNC', offset: 0 }]);
    const short = { ...options, maxHostHeaderBytes: 3 };
    expect(split(join(line(3), beat(1)), short)).toHaveLength(2);
    expect(split(join(beat(1), line(4)), short)).toEqual([frame(1), { error: 'HB_ERR_DESYNC', offset: 16 }]);
  });

  it('a framing function that needs bytes beyond the frame gets them, and they are not lost', () => {
    const peeking = (_: Uint8Array, start: number, end: number): number => (end - start < 5 ? 0 : 2);
    const events = split(join([1, 2], beat(1), [3, 4], beat(2)), { shared: false, hostFrameLength: peeking });
    expect(events).toEqual([{ host: '0102' }, frame(1), { host: '0304' }, frame(2)]);
  });

  it('host bodies are handed on as they come, with what is still missing', () => {
    const seen: [string, number][] = [];
    const recorder = new Recorder({
      ...SHARED,
      onHost: (bytes) => seen.push([Buffer.from(bytes).toString(), recorder.splitter.hostRemainingBytes]),
    });
    const whole = host('abcdef');
    recorder.feed(
      whole.subarray(0, 2),
      whole.subarray(2, 7),
      whole.subarray(7, 9),
      join(whole.subarray(9), beat(1)),
    );
    expect(seen).toEqual([
      ['\0\0\0\x06abc', 3],
      ['de', 1],
      ['f', 0],
    ]);
    expect(recorder.events).toEqual([frame(1)]);
  });
});

describe('against the naive splitter', () => {
  const modes = fc.constantFrom<NaiveSplitterOptions>(
    { shared: false },
    { shared: false, resyncBudgetBytes: 24, reserved: 'ignore' },
    { shared: true },
    { shared: true, reserved: 'ignore', maxHostFrameBytes: 60 },
  );
  const cases = modes.chain((options) =>
    streamArbitrary({ shared: options.shared })
      .chain(({ bytes }) => fc.oneof(fc.constant(bytes), damageArbitrary(bytes), damageArbitrary(bytes)))
      .chain((bytes) =>
        fc.record({
          options: fc.constant(options),
          bytes: fc.constant(bytes),
          chunks: chunkingArbitrary(bytes),
        }),
      ),
  );

  it('F45: good and damaged streams in random cuts give the events of the whole stream', () => {
    fc.assert(
      fc.property(cases, ({ options, bytes, chunks }) => {
        expect(finish(new Recorder(options).feed(...chunks))).toEqual(joined(naiveSplit(bytes, options)));
      }),
      { numRuns: sized(1_500, 400) },
    );
  });

  it('stopping anywhere loses nothing: what was delivered and what is carried make up the stream', () => {
    const stream = streamArbitrary({ shared: true });
    const stopped = stream.chain(({ bytes }) =>
      fc.tuple(fc.constant(bytes), chunkingArbitrary(bytes), fc.nat(12)),
    );
    fc.assert(
      fc.property(stopped, ([bytes, chunks, after]) => {
        let calls = 0;
        let inside: Uint8Array | undefined;
        const delivered: Uint8Array[] = [];
        const deliver = (piece: Uint8Array): void => {
          delivered.push(piece.slice());
          if (calls++ !== after) return;
          recorder.splitter.stop();
          inside = recorder.splitter.carried();
        };
        const recorder = new Recorder({
          ...SHARED,
          onFrame: (flags, seq, timestamp) =>
            deliver(Uint8Array.from(naiveEncode({ flags, seq, timestamp }))),
          onHost: deliver,
        });
        const unread = [...chunks];
        while (unread.length > 0 && inside === undefined) recorder.feed(unread.shift()!);
        expect(join(...delivered, recorder.splitter.carried(), ...unread)).toEqual(Uint8Array.from(bytes));
        if (inside !== undefined) expect(recorder.splitter.carried()).toEqual(inside);
      }),
      { numRuns: sized(300, 100) },
    );
  });

  it('a callback that throws at any call leaves push, and the next push goes on where it was', () => {
    const stream = streamArbitrary({ shared: true });
    const thrown = stream.chain(({ bytes }) =>
      fc.tuple(fc.constant(bytes), chunkingArbitrary(bytes), fc.nat(12)),
    );
    fc.assert(
      fc.property(thrown, ([bytes, chunks, after]) => {
        let calls = 0;
        const recorder = new Recorder(SHARED);
        const trip = (): void => {
          if (calls++ === after) throw new Error('the host failed');
        };
        const { onFrame, onHost } = recorder;
        recorder.onFrame = (...fields) => {
          onFrame.apply(recorder, fields);
          trip();
        };
        recorder.onHost = (piece) => {
          onHost.call(recorder, piece);
          trip();
        };
        let throws = 0;
        const guarded = (action: () => void): void => {
          try {
            action();
          } catch (error) {
            expect((error as Error).message).toBe('the host failed');
            throws++;
          }
        };
        for (const chunk of chunks) guarded(() => recorder.feed(chunk));
        guarded(() => recorder.end());
        guarded(() => recorder.end());
        expect(throws).toBe(calls > after ? 1 : 0);
        expect(recorder.events).toEqual(naiveSplit(bytes, SHARED));
      }),
      { numRuns: sized(300, 100) },
    );
  });
});

describe('the end of a stream', () => {
  it('between units says nothing; inside one is HB_ERR_TRUNCATED at the offset of the end', () => {
    const at = (stream: Uint8Array) => split(stream, SHARED).at(-1);
    expect(at(beat(1))).toEqual(frame(1));
    expect(at(join(beat(1), [0x48]))).toEqual({ error: 'HB_ERR_TRUNCATED', offset: 17 });
    expect(at(join(beat(1), beat(2).subarray(0, 15)))).toEqual({ error: 'HB_ERR_TRUNCATED', offset: 31 });
    expect(at(host('abc').subarray(0, 3))).toEqual({ error: 'HB_ERR_TRUNCATED', offset: 3 });
    expect(at(host('abc').subarray(0, 6))).toEqual({ error: 'HB_ERR_TRUNCATED', offset: 6 });
  });

  it('happens once: pushes and ends after it are ignored, as they are after a fatal error', () => {
    const ended = new Recorder(BEATS).feed(Uint8Array.of(0x48));
    ended.end();
    expect(ended.feed(beat(1)).end()).toEqual([{ error: 'HB_ERR_TRUNCATED', offset: 1 }]);
    const failed = new Recorder(SHARED).feed(join(beat(1, 5), [0x48]));
    expect(failed.feed(beat(1)).end()).toEqual([{ error: 'HB_ERR_DESYNC', offset: 0 }]);
    expect(failed.splitter.carried()).toHaveLength(0);
  });
});

describe('use', () => {
  it("calls the handler's functions as its methods", () => {
    const handler = {
      frames: 0,
      onFrame(): void {
        this.frames++;
      },
      onError(): void {},
    };
    new FrameSplitter(handler).push(beat(1));
    expect(handler.frames).toBe(1);
  });

  it('carried() shows an unfinished unit and leaves it where it is', () => {
    const recorder = new Recorder(BEATS).feed(join(beat(1), beat(2).subarray(0, 6)));
    expect(recorder.splitter.carried()).toEqual(beat(2).subarray(0, 6));
    expect(recorder.feed(beat(2).subarray(6)).events).toEqual([frame(1), frame(2)]);
    expect(recorder.splitter.carried()).toEqual(new Uint8Array(0));
  });

  it('a fatal error shows the failing unit and all behind it inside onError', () => {
    let rest: Uint8Array | undefined;
    const recorder = new Recorder({ ...SHARED, onError: () => (rest = recorder.splitter.carried()) });
    const stream = join(beat(1), beat(2, 5), beat(3));
    recorder.feed(stream.subarray(0, 19), stream.subarray(19)); // the failing unit is held when the rest arrives
    expect(rest).toEqual(join(beat(2, 5), beat(3)));
  });

  it('stop() is for good, also from onSkipped and before the error it would have led to', () => {
    const recorder = new Recorder({
      ...BEATS,
      resyncBudgetBytes: 2,
      onSkipped: () => recorder.splitter.stop(),
    });
    recorder.feed(join([1, 2, 3], beat(1)), beat(2));
    expect(recorder.end()).toEqual([]);
    expect(recorder.splitter.carried()).toEqual(join([3], beat(1)));
  });

  it('push and end from inside a callback are refused', () => {
    for (const call of [(s: FrameSplitter) => s.push(beat(2)), (s: FrameSplitter) => s.end()]) {
      const splitter: FrameSplitter = new FrameSplitter({ onFrame: () => call(splitter), onError() {} });
      expect(() => splitter.push(beat(1))).toThrow(/must not be called from a callback of the same splitter/);
    }
  });

  it.each<[string, unknown, ErrorConstructor]>([
    ['options', undefined, TypeError],
    ['onFrame', { onFrame: 1 }, TypeError],
    ['onError', { onError: undefined }, TypeError],
    ['onHost', { onHost: 'x' }, TypeError],
    ['hostFrameLength', { hostFrameLength: 4 }, TypeError],
    ['onSkipped', { onSkipped: {} }, TypeError],
    ['reserved', { reserved: 'lax' }, RangeError],
    ['resyncBudgetBytes', { resyncBudgetBytes: -1 }, RangeError],
    ['resyncBudgetBytes', { resyncBudgetBytes: 2 ** 31 }, RangeError],
    ['maxHostHeaderBytes', { maxHostHeaderBytes: 0 }, RangeError],
    ['maxHostHeaderBytes', { maxHostHeaderBytes: 65_537 }, RangeError],
    ['maxHostFrameBytes', { maxHostFrameBytes: 0 }, RangeError],
    ['maxHostFrameBytes', { maxHostFrameBytes: 1.5 }, RangeError],
  ])('refuses bad %s by name (%#)', (name, change, type) => {
    const good = { onFrame() {}, onError() {} };
    const make = (): unknown =>
      new FrameSplitter((change === undefined ? change : { ...good, ...(change as object) }) as never);
    expect(make).toThrow(type);
    expect(make).toThrow(new RegExp(`^${name} must be`));
  });

  it('refuses a chunk that is not bytes', () => {
    expect(() => new Recorder(BEATS).splitter.push('HB' as never)).toThrow(
      /^chunk must be a Uint8Array, got "HB"$/,
    );
  });
});
