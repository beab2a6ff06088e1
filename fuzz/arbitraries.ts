/**
 * Build-then-damage mode: for each target something valid, made by the arbitraries that `wirebeat/testing` gives to
 * users, then damaged or not, mended or not. It begins where raw mode rarely gets: behind the checksum.
 */
import fc from 'fast-check';
import { damageArbitrary, frameArbitrary, streamArbitrary } from '../src/testing/index.ts';
import { encodeFrame } from '../src/wire/frame.ts';
import { mend } from './mend.ts';
import { RAW } from './targets/decode-input.ts';
import { ABSOLUTE, HALF_RANGE, RESET } from './targets/window.ts';

type Input = fc.Arbitrary<Uint8Array>;

const byte = fc.nat(255);
const concatenated = (...parts: fc.Arbitrary<Uint8Array>[]): Input =>
  fc.tuple(...parts).map((all) => Buffer.concat(all));
const optionBytes = (count: number): Input =>
  fc.array(byte, { minLength: count, maxLength: count }).map((bytes) => Uint8Array.from(bytes));

/** One byte changed, any of them alike, under checksums that hold: the way to every field's own check. */
function oneByteOff(bytes: Uint8Array): Input {
  if (bytes.length === 0) return fc.constant(bytes);
  const at = fc.noBias(fc.nat(bytes.length - 1));
  return fc
    .tuple(at, byte)
    .map(([index, value]) => mend(Uint8Array.from(bytes).fill(value, index, index + 1)));
}

/** Whole, damaged, or damaged under checksums that hold. */
function perhapsDamaged(whole: Input): Input {
  return whole.chain((bytes) =>
    fc.oneof(fc.constant(bytes), damageArbitrary(bytes), damageArbitrary(bytes).map(mend), oneByteOff(bytes)),
  );
}

const streamBytes = (shared: boolean): Input => streamArbitrary({ shared }).map(({ bytes }) => bytes);

/** A frame, perhaps damaged, at an offset. */
export function frameInputs(): Input {
  const padding = fc.uint8Array({ maxLength: 3 });
  return concatenated(padding, perhapsDamaged(frameArbitrary().map(encodeFrame)), padding);
}

/** Option byte, cut byte, a stream. */
export function streamInputs(shared: boolean): Input {
  return concatenated(optionBytes(2), perhapsDamaged(streamBytes(shared)));
}

/** Steps of all kinds, most of them to an edge of the window or of its halves. */
export function windowInputs(): Input {
  const edge = fc
    .constantFrom(-65, -64, -63, -33, -32, -31, -1, 0, 1, 31, 32, 33, 63, 64, 65)
    .map((step) => [step & 0xff]);
  const anyStep = byte.map((step) => [step]);
  const jump = fc.tuple(byte, byte, byte, byte).map((seq) => [ABSOLUTE, ...seq]);
  const rare = fc.constantFrom([RESET], [HALF_RANGE]);
  const step = fc.oneof(
    { weight: 10, arbitrary: edge },
    { weight: 3, arbitrary: anyStep },
    { weight: 1, arbitrary: jump },
    { weight: 1, arbitrary: rare },
  );
  return fc.array(step, { maxLength: 60 }).map((steps) => Uint8Array.from(steps.flat()));
}

/** What people paste: hexadecimal text with separators, upper case, prefixes and slips of the hand; or raw bytes. */
export function decodeInputs(): Input {
  const bytes = perhapsDamaged(streamBytes(true));
  const separator = fc.constantFrom('', ' ', ':', ', ', '\n', ' 0x');
  const text = fc.tuple(bytes, separator, fc.boolean()).map(([all, between, upper]) => {
    const joined = between + Array.from(all, (one) => one.toString(16).padStart(2, '0')).join(between);
    return Buffer.from(upper ? joined.toUpperCase() : joined, 'latin1') as Uint8Array;
  });
  const slipped = text.chain((whole) => fc.oneof(fc.constant(whole), damageArbitrary(whole)));
  const asText = concatenated(fc.constantFrom(Uint8Array.of(0), Uint8Array.of(1)), slipped);
  const asBytes = concatenated(fc.constantFrom(Uint8Array.of(RAW), Uint8Array.of(RAW | 1)), bytes);
  return fc.oneof(asText, asBytes);
}

/** Streams without options, for the canary. */
export function plainStreams(): Input {
  return perhapsDamaged(streamBytes(false));
}
