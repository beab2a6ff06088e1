/**
 * Raw mode: inputs without knowledge of the format, random bytes and corpus entries changed in one to four places.
 * All chance comes from the `Random` given, so a seed gives the same inputs every time.
 */
import type { Random } from '../src/base/random.ts';
import { mend } from './mend.ts';

/** Longer inputs cost more than they show: the longest unit but a host body is 65 bytes. */
const MAX_BYTES = 1200;
const MAX_RANDOM_BYTES = 80;
/** Share of inputs that owe nothing to the corpus, and of the others whose checksums are made to hold. */
const FRESH = 0.1;
const MENDED = 0.3;
/** Ends of ranges, signs, windows and limits, and the bytes a frame begins with. */
const INTERESTING = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 254, 255];
const INTERESTING_U32 = [0, 1, 0x4248, 0x01014248, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];

type Mutation = (bytes: Buffer, random: Random, other: Buffer) => Buffer;

const below = (random: Random, limit: number): number => Math.floor(random.next() * limit);
const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)]!;
const without = (bytes: Buffer, start: number, end: number): Buffer =>
  Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
const inserted = (bytes: Buffer, at: number, more: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);

function randomBytes(random: Random, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => random.u32() & 0xff));
}

/** A piece of `bytes`, short ones more often. */
function piece(bytes: Buffer, random: Random): Buffer {
  const start = below(random, bytes.length + 1);
  return bytes.subarray(start, start + below(random, random.next() < 0.5 ? 20 : bytes.length + 1));
}

const flipBit: Mutation = (bytes, random) => {
  if (bytes.length > 0) bytes[below(random, bytes.length)]! ^= 1 << below(random, 8);
  return bytes;
};

const setByte: Mutation = (bytes, random) => {
  if (bytes.length > 0) {
    bytes[below(random, bytes.length)] = random.next() < 0.5 ? pick(random, INTERESTING) : random.u32();
  }
  return bytes;
};

const setWord: Mutation = (bytes, random) => {
  if (bytes.length < 4) return bytes;
  const value = pick(random, INTERESTING_U32);
  const at = below(random, bytes.length - 3);
  if (random.next() < 0.5) bytes.writeUInt32LE(value, at);
  else bytes.writeUInt32BE(value, at);
  return bytes;
};

const remove: Mutation = (bytes, random) => {
  const start = below(random, bytes.length + 1);
  return without(bytes, start, start + 1 + below(random, 20));
};

const insertJunk: Mutation = (bytes, random) =>
  inserted(bytes, below(random, bytes.length + 1), randomBytes(random, 1 + below(random, 20)));

const repeat: Mutation = (bytes, random) => {
  const again = piece(bytes, random);
  return inserted(
    bytes,
    below(random, bytes.length + 1),
    Buffer.concat(new Array(1 + below(random, 4)).fill(again)),
  );
};

const splice: Mutation = (bytes, random, other) =>
  inserted(bytes, below(random, bytes.length + 1), piece(other, random));

const crossOver: Mutation = (bytes, random, other) =>
  Buffer.concat([
    bytes.subarray(0, below(random, bytes.length + 1)),
    other.subarray(below(random, other.length + 1)),
  ]);

const MUTATIONS = [flipBit, setByte, setWord, remove, insertJunk, repeat, splice, crossOver];

function mutated(corpus: readonly Buffer[], random: Random): Buffer {
  let bytes: Buffer = Buffer.from(pick(random, corpus));
  for (let left = 1 + below(random, 4); left > 0; left--) {
    bytes = pick(random, MUTATIONS)(bytes, random, pick(random, corpus));
  }
  if (random.next() < MENDED) mend(bytes);
  return bytes.subarray(0, MAX_BYTES);
}

/** Inputs for ever, each a buffer of its own. */
export function* rawInputs(corpus: readonly Buffer[], random: Random): Generator<Buffer, never> {
  for (;;) {
    const isFresh = corpus.length === 0 || random.next() < FRESH;
    yield isFresh ? randomBytes(random, below(random, MAX_RANDOM_BYTES)) : mutated(corpus, random);
  }
}
