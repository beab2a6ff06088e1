/**
 * The wire floor against spec/vectors, which come from a second implementation that shares no code with it.
 * Streams are fed whole, byte by byte, at the listed cuts and in seeded random cuts: the events must not differ.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildVectors } from '../../spec/vectors/generate.ts';
import { PeerSequence } from '../../src/session/sequence.ts';
import {
  checkFrame,
  crc16,
  DedupWindow,
  decodeFrame,
  encodeFrame,
  FRAME_CODES,
  FrameSplitter,
  frameName,
  MAX_FORWARD_JUMP,
  makeFinal,
  makeGoAwayInfo,
  makeParam,
  makePoll,
  makeRefuse,
  parameterDigest,
  paramId,
  paramToken,
  paramValue,
  pollDigest,
  readFlags,
  readSeq,
  readTimestamp,
  refuseCode,
  serialDistance,
  WINDOW_ENTRIES,
} from '../../src/wire/index.ts';
import { push as pushEvent, type TwinEvent, twinHostLength } from '../support/spec-twin.ts';

const folder = new URL('../../spec/vectors/', import.meta.url);
const text = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex');

interface GoodCase {
  name: string;
  frame: string;
  hex: string;
  flags: number;
  seq: number;
  timestamp: number;
  encodes: boolean;
  reserved?: 'ignore';
}
interface BadCase {
  name: string;
  hex: string;
  code: string;
  reserved?: 'ignore';
}
interface StreamCase {
  name: string;
  mode: 'heartbeat-only' | 'shared';
  host?: 'length32' | 'undecided';
  reserved?: 'ignore';
  resyncBudgetBytes?: number;
  maxHostFrameBytes?: number;
  hex: string;
  cuts: number[][];
  events: TwinEvent[];
}
interface WindowCase {
  name: string;
  sequences: number[];
  verdicts: string[];
}

describe('the vector files', () => {
  it('are what the generator makes, byte for byte', () => {
    const built = buildVectors();
    for (const [name, content] of built) expect(text(name), name).toBe(content);
    const present = readdirSync(folder).filter((name) => !name.endsWith('.ts'));
    expect(present.sort()).toEqual([...built.keys()].sort());
  });

  it('have the hashes written down in SHA256SUMS', () => {
    const lines = text('SHA256SUMS').trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      const [hash, name] = line.split('  ') as [string, string];
      expect(createHash('sha256').update(text(name)).digest('hex'), name).toBe(hash);
    }
  });

  it('each say how they are to be read', () => {
    for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.json')))
      expect(JSON.parse(text(name)).about.join(' ').length, name).toBeGreaterThan(40);
  });
});

describe('checksum vectors', () => {
  it('give the same CRC, wherever in a buffer the bytes stand', () => {
    const { cases } = JSON.parse(text('crc.json')) as {
      cases: Array<{ name: string; hex: string; crc: number }>;
    };
    expect(cases.length).toBeGreaterThan(20);
    for (const { name, hex, crc } of cases) {
      const bytes = bytesOf(hex);
      expect(crc16(bytes), name).toBe(crc);
      const framed = Buffer.concat([Buffer.of(1, 2, 3), bytes, Buffer.of(4)]);
      expect(crc16(framed, 3, 3 + bytes.length), name).toBe(crc);
    }
  });
});

describe('frame vectors', () => {
  const { cases } = JSON.parse(text('frames-good.json')) as { cases: GoodCase[] };
  const { about: _, ...bad } = JSON.parse(text('frames-bad.json')) as Record<string, BadCase[]>;

  it('good frames decode to their fields, at any offset, and encode to their bytes', () => {
    expect(cases.length).toBeGreaterThan(50);
    for (const { name, frame, hex, flags, seq, timestamp, encodes, reserved } of cases) {
      const bytes = bytesOf(hex);
      const options = reserved === undefined ? {} : { reserved };
      expect(decodeFrame(bytes, 0, options), name).toEqual({ ok: true, flags, seq, timestamp });
      const shifted = Buffer.concat([Buffer.alloc(5, 0x48), bytes, Buffer.alloc(2, 0xff)]);
      expect(decodeFrame(shifted, 5, options), name).toEqual({ ok: true, flags, seq, timestamp });
      expect(checkFrame(shifted, 5, reserved === 'ignore'), name).toBe(0);
      expect([readFlags(shifted, 5), readSeq(shifted, 5), readTimestamp(shifted, 5)], name).toEqual([
        flags,
        seq,
        timestamp,
      ]);
      expect(frameName(flags), name).toBe(frame);
      if (encodes) expect(encodeFrame({ flags, seq, timestamp }).toString('hex'), name).toBe(hex);
    }
  });

  it.each(Object.keys(bad))('bad frames (%s) give the code of the first check that fails', (group) => {
    expect(bad[group]!.length).toBeGreaterThan(10);
    for (const { name, hex, code, reserved } of bad[group]!) {
      const bytes = bytesOf(hex);
      const options = reserved === undefined ? {} : { reserved };
      expect(decodeFrame(bytes, 0, options), name).toEqual({ ok: false, code });
      const answer = checkFrame(bytes, 0, reserved === 'ignore');
      expect(FRAME_CODES[answer - 1], name).toBe(code);
    }
  });
});

describe('sequence vectors', () => {
  const file = JSON.parse(text('window.json')) as {
    distances: Array<[number, number, number]>;
    cases: WindowCase[];
    restarts: WindowCase[];
  };

  it('F32: serial distances, exactly half the circle counting as behind', () => {
    expect(file.distances.length).toBeGreaterThan(10);
    for (const [a, b, distance] of file.distances) expect(serialDistance(a, b), `${a} ${b}`).toBe(distance);
  });

  it('F31, F41-F44: window verdicts, from a fresh window and from a reset one', () => {
    expect(file.cases.length).toBeGreaterThan(40);
    const reused = new DedupWindow();
    for (const { name, sequences, verdicts } of file.cases) {
      const fresh = new DedupWindow();
      expect(
        sequences.map((seq) => fresh.accept(seq)),
        name,
      ).toEqual(verdicts);
      reused.reset();
      expect(
        sequences.map((seq) => reused.accept(seq)),
        name,
      ).toEqual(verdicts);
    }
  });

  it('F66: restarted counters, by the rule of the specification on top of the window', () => {
    expect(file.restarts.length).toBeGreaterThan(8);
    for (const { name, sequences, verdicts } of file.restarts)
      expect(restartVerdicts(sequences), name).toEqual(verdicts);
  });

  it('F66: restarted counters, as a session judges them', () => {
    for (const { name, sequences, verdicts } of file.restarts) {
      const peer = new PeerSequence();
      const expected = verdicts.map((verdict) => (verdict === 'restart' ? 'new' : verdict));
      expect(
        sequences.map((seq) => peer.accept(seq)),
        name,
      ).toEqual(expected);
    }
  });
});

/** The candidate rule with nothing but what the wire floor exports. */
function restartVerdicts(sequences: readonly number[]): string[] {
  const window = new DedupWindow();
  let newest: number | undefined;
  let candidate: number | undefined;
  return sequences.map((seq) => {
    const proven = candidate !== undefined && serialDistance(seq, candidate) === 1;
    if (proven) {
      window.reset();
      window.accept(candidate!);
    }
    candidate = undefined;
    const distance = proven || newest === undefined ? 1 : serialDistance(seq, newest);
    if (distance > MAX_FORWARD_JUMP || distance <= -WINDOW_ENTRIES) {
      candidate = seq;
      return 'candidate';
    }
    if (distance > 0) newest = seq;
    const verdict = window.accept(seq);
    return proven ? 'restart' : verdict;
  });
}

describe('parameter vectors', () => {
  const file = JSON.parse(text('params.json')) as {
    words: Array<{ name: string; id: number; value: number; word: number; hex: string }>;
    polls: Array<{
      words: [number, number, number];
      token: number;
      digest: number;
      poll: number;
      final: number;
    }>;
    goAways: Array<{ reason: number; retryAfter: number; word: number }>;
    refusals: Array<{ token: number; code: number; word: number }>;
    golden: Array<{ name: string; flags: number; seq: number; word: number; hex: string }>;
  };

  it('words are made and taken apart', () => {
    expect(file.words).toHaveLength(32);
    for (const { name, id, value, word, hex } of file.words) {
      expect(makeParam(id, value), name).toBe(word);
      expect([paramId(word), paramValue(word)], name).toEqual([id, value]);
      expect(bytesOf(hex).readUInt32LE(0), name).toBe(word);
    }
  });

  it("polls carry the digest of the three words, finals the poll's value, refusals its token", () => {
    expect(file.polls[0]!.digest).toBe(0xb1c3);
    for (const { words, token, digest, poll, final } of file.polls) {
      expect(parameterDigest(...words)).toBe(digest);
      expect(makePoll(token, digest)).toBe(poll);
      expect(makeFinal(poll)).toBe(final);
      expect([paramToken(poll), pollDigest(poll)]).toEqual([token, digest]);
    }
    for (const { token, code, word } of file.refusals) {
      expect(makeRefuse(token, code)).toBe(word);
      expect([paramToken(word), refuseCode(word)]).toEqual([token, code]);
    }
  });

  it('reasons to leave and when to come back', () => {
    for (const { reason, retryAfter, word } of file.goAways)
      expect(makeGoAwayInfo(reason, retryAfter)).toBe(word);
    expect(file.goAways.length).toBeGreaterThan(5);
  });

  it('golden frames encode to the bytes printed in the specification', () => {
    const printed = readFileSync(new URL('../HB1.md', folder), 'utf8')
      .split('## Annex B')[1]!
      .split('## Annex C')[0]!;
    expect(file.golden).toHaveLength(8);
    for (const { name, flags, seq, word, hex } of file.golden) {
      expect(encodeFrame({ flags, seq, timestamp: word }).toString('hex'), name).toBe(hex);
      expect(printed, name).toContain(`| ${hex.replace(/..(?=.)/g, '$& ')} |`);
    }
  });
});

describe('F45: stream vectors give the same events however they are cut', () => {
  const { cases } = JSON.parse(text('streams.json')) as { cases: StreamCase[] };

  it.each(cases.map((stream) => [`${stream.mode}: ${stream.name}`, stream] as const))(
    '%s',
    (_title, stream) => {
      const bytes = bytesOf(stream.hex);
      expect(eventsOf(stream, [bytes]), 'whole').toEqual(stream.events);
      expect(eventsOf(stream, cut(bytes, [...bytes.keys()])), 'byte by byte').toEqual(stream.events);
      for (const cuts of stream.cuts)
        expect(eventsOf(stream, cut(bytes, cuts)), `cut at ${cuts}`).toEqual(stream.events);
      if (bytes.length < 2) return;
      fc.assert(
        fc.property(
          fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 24 }),
          (cuts) => {
            expect(
              eventsOf(
                stream,
                cut(
                  bytes,
                  cuts.sort((a, b) => a - b),
                ),
              ),
            ).toEqual(stream.events);
          },
        ),
        { numRuns: 30 },
      );
    },
  );
});

/** The chunks that begin at 0 and at each offset. */
function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const starts = [0, ...offsets.filter((at) => at > 0), bytes.length];
  return starts.slice(0, -1).map((start, index) => bytes.subarray(start, starts[index + 1]));
}

/** Feed the chunks, each in memory that is overwritten afterwards: a splitter must not keep a reference. */
function eventsOf(stream: StreamCase, chunks: readonly Buffer[]): TwinEvent[] {
  const events: TwinEvent[] = [];
  const { reserved, resyncBudgetBytes, maxHostFrameBytes } = stream;
  const splitter = new FrameSplitter({
    onFrame: (flags, seq, timestamp) => pushEvent(events, { frame: { flags, seq, timestamp } }),
    onError: (error) => pushEvent(events, { error }),
    ...(reserved === undefined ? {} : { reserved }),
    ...(resyncBudgetBytes === undefined ? {} : { resyncBudgetBytes }),
    ...(maxHostFrameBytes === undefined ? {} : { maxHostFrameBytes }),
    ...(stream.mode === 'heartbeat-only' ? {} : hostSide(stream, events)),
  });
  for (const chunk of chunks) {
    const lent = Buffer.from(chunk);
    splitter.push(lent);
    lent.fill(0x48);
  }
  return events;
}

interface HostSide {
  onHost(bytes: Uint8Array): void;
  hostFrameLength(bytes: Uint8Array, start: number, end: number): number;
}

function hostSide(stream: StreamCase, events: TwinEvent[]): HostSide {
  return {
    onHost: (bytes) => pushEvent(events, { host: Buffer.from(bytes).toString('hex') }),
    hostFrameLength: (bytes, start, end) =>
      stream.host === 'undecided' ? 0 : twinHostLength([...bytes.subarray(start, end)]),
  };
}
