/**
 * Random frames, streams, cuts and damage for property tests with fast-check (an optional peer dependency: install
 * it to use this file). Everything shrinks, and replays from the seed that fast-check prints.
 */
import fc from 'fast-check';
import { FLAGS_MASK, Flag, FRAME_BYTES, Param } from '../wire/constants.ts';
import { isLegalFlags } from '../wire/flags.ts';
import { encodeFrame, type Frame } from '../wire/frame.ts';

/** One unit of a stream: a heartbeat, or a whole frame of the reference host protocol, header included. */
export type StreamUnit = { kind: 'frame'; frame: Frame } | { kind: 'host'; bytes: Uint8Array };

/** A stream that is good from end to end, and the units it is made of. */
export interface Stream {
  bytes: Uint8Array;
  units: StreamUnit[];
}

const LEGAL_FLAGS = Array.from({ length: FLAGS_MASK + 1 }, (_, flags) => flags).filter(isLegalFlags);

/** Numbers of 32 bits, with the ends and the sign change more often than chance would have them. */
const u32 = fc.oneof(
  fc.nat(0xffffffff),
  fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff),
);

/** Every legal frame, each flag combination equally likely. */
export function frameArbitrary(): fc.Arbitrary<Frame> {
  return fc
    .record({ flags: fc.constantFrom(...LEGAL_FLAGS), seq: u32, timestamp: u32 })
    .map((frame) => ({ ...frame, timestamp: withFittingId(frame.flags, frame.timestamp) }));
}

/** A PARAM carries GOAWAY exactly when its id is 7: move the id where the flags demand it. */
function withFittingId(flags: number, word: number): number {
  if ((flags & Flag.Param) === 0) return word;
  const isGoAwayInfo = word >>> 24 === Param.GoAwayInfo;
  if ((flags & Flag.GoAway) !== 0) return ((word & 0xffffff) | (Param.GoAwayInfo << 24)) >>> 0;
  return isGoAwayInfo ? (word ^ 0x08000000) >>> 0 : word;
}

/** Frame of the reference host protocol: four bytes of big-endian payload length, then the payload. */
function hostFrameArbitrary(): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ maxLength: 90 }).map((payload) => {
    const bytes = Buffer.alloc(4 + payload.length);
    bytes.writeUInt32BE(payload.length);
    bytes.set(payload, 4);
    return bytes;
  });
}

/** A good stream: heartbeats only, or with `shared` mixed with frames of the reference host protocol. */
export function streamArbitrary(options: { shared?: boolean; maxUnits?: number } = {}): fc.Arbitrary<Stream> {
  const beat = frameArbitrary().map((frame): StreamUnit => ({ kind: 'frame', frame }));
  const host = hostFrameArbitrary().map((bytes): StreamUnit => ({ kind: 'host', bytes }));
  const unit = options.shared === true ? fc.oneof(beat, host) : beat;
  return fc.array(unit, { maxLength: options.maxUnits ?? 12 }).map((units) => ({
    units,
    // A plain Uint8Array: `slice` of a Buffer would share its memory.
    bytes: Uint8Array.from(
      Buffer.concat(units.map((u) => (u.kind === 'frame' ? encodeFrame(u.frame) : u.bytes))),
    ),
  }));
}

/** A place between the bytes. Each as likely: left to itself fast-check prefers both ends. */
const anywhere = (bytes: Uint8Array): fc.Arbitrary<number> => fc.noBias(fc.nat(bytes.length));

/** The same bytes in chunks: whole, byte by byte, or cut at random places. Empty chunks occur. */
export function chunkingArbitrary(bytes: Uint8Array): fc.Arbitrary<Uint8Array[]> {
  const whole: Uint8Array[] = [bytes.slice()];
  const single: Uint8Array[] = Array.from(bytes, (byte) => Uint8Array.of(byte));
  const cutAt = (cuts: number[]): Uint8Array[] => {
    const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
    return edges.slice(1).map((edge, index) => bytes.slice(edges[index], edge));
  };
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(whole) },
    { weight: 1, arbitrary: fc.constant(single) },
    { weight: 6, arbitrary: fc.array(anywhere(bytes), { maxLength: 20 }).map(cutAt) },
  );
}

/** A damaged copy: one to four flipped bits, overwritten, removed or inserted bytes. Empty bytes only gain some. */
export function damageArbitrary(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  const strike = fc.record({
    kind: fc.constantFrom('flip', 'overwrite', 'remove', 'insert'),
    at: anywhere(bytes),
    bit: fc.nat(7),
    // Bytes that look like the start of a frame do more harm than others.
    junk: fc.array(fc.oneof(fc.nat(255), fc.constantFrom(0x48, 0x42, 0x01)), {
      minLength: 1,
      maxLength: FRAME_BYTES,
    }),
  });
  return fc.array(strike, { minLength: 1, maxLength: 4 }).map((strikes) => {
    const damaged = Array.from(bytes);
    for (const { kind, at, bit, junk } of strikes) {
      if (kind === 'insert') damaged.splice(at, 0, ...junk);
      else if (kind === 'remove') damaged.splice(at, junk.length);
      else if (at < damaged.length) damaged[at] = kind === 'flip' ? damaged[at]! ^ (1 << bit) : junk[0]!;
    }
    return Uint8Array.from(damaged);
  });
}
