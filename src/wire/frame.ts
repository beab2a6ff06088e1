/**
 * The codec: sixteen bytes to three numbers and back (spec/HB1.md sections 1 and 2).
 *
 * Contract: encoding refuses misuse with an exception; checking answers with a number and decoding with a value,
 * whatever the peer sent. The order of the checks is normative: length, magic, crc, version, reserved, flags; the
 * first that fails names the code. `checkFrame` followed by `readFlags`, `readSeq` and `readTimestamp` is the path
 * without allocation; `decodeFrame` and `encodeFrame` make one object each.
 *
 * Bytes are read and written one by one: that works at any offset of any Uint8Array, and a DataView made per chunk
 * costs more than it saves. The constants are copied into this module because V8 folds a module's own constants into
 * the machine code, while an imported or exported binding is loaded at each use; measured, that is a third of a check.
 */
import { integerIn } from '../base/assert.ts';
import { rangeError, typeError } from '../base/errors.ts';
import type { FrameCode } from './constants.ts';
import * as fixed from './constants.ts';
import { crc16, frameCrc, frameCrcAt } from './crc16.ts';
import { isLegalFlags, isLegalFrame } from './flags.ts';

const U32_MAX = 0xffffffff;

const { FLAGS_MASK, FRAME_BYTES, FRAME_CODES, MAGIC_0, MAGIC_1, Offset, VERSION } = fixed;

/** What `checkFrame` answers: 0 for a good frame, else 1 + the index of the code in FRAME_CODES. */
const GOOD = 0;
const BAD_LENGTH = failureOf('HB_ERR_LENGTH');
const BAD_MAGIC = failureOf('HB_ERR_MAGIC');
const BAD_CRC = failureOf('HB_ERR_CRC');
const BAD_VERSION = failureOf('HB_ERR_VERSION');
const BAD_RESERVED = failureOf('HB_ERR_RESERVED');
const BAD_FLAGS = failureOf('HB_ERR_FLAGS');

/** The number by which `checkFrame` names `code`. Internal. */
export function failureOf(code: FrameCode): number {
  return 1 + fixed.FRAME_CODES.indexOf(code);
}

/** The fields of a frame. `flags` 0..127, `seq` and `timestamp` u32; with Flag.Param the timestamp is the word. */
export interface Frame {
  flags: number;
  seq: number;
  timestamp: number;
}

/** `ignore` accepts any value in bytes 14-15, for C peers that leave their padding uninitialised. */
export interface DecodeOptions {
  reserved?: 'strict' | 'ignore';
}

export type DecodeResult =
  | { ok: true; flags: number; seq: number; timestamp: number }
  | { ok: false; code: FrameCode };

/**
 * Write the frame's sixteen bytes into `target` at `offset`. Allocates nothing.
 * TypeError when `target` is not a Uint8Array or a field is not a number. RangeError when a field is out of range,
 * bit 7 is set, the flags make no frame, or fewer than sixteen bytes are left at `offset`.
 */
export function encodeFrameInto(
  target: Uint8Array,
  offset: number,
  flags: number,
  seq: number,
  timestamp: number,
): void {
  if (
    !(target instanceof Uint8Array) ||
    offset >>> 0 !== offset ||
    offset + FRAME_BYTES > target.length ||
    (flags & FLAGS_MASK) !== flags ||
    seq >>> 0 !== seq ||
    timestamp >>> 0 !== timestamp ||
    !isLegalFrame(flags, timestamp >>> 24)
  ) {
    throw encodeMisuse(target, offset, flags, seq, timestamp);
  }
  const crc = frameCrc(flags, seq, timestamp);
  target[offset] = MAGIC_0;
  target[offset + 1] = MAGIC_1;
  target[offset + 2] = VERSION;
  target[offset + 3] = flags;
  target[offset + 4] = seq;
  target[offset + 5] = seq >>> 8;
  target[offset + 6] = seq >>> 16;
  target[offset + 7] = seq >>> 24;
  target[offset + 8] = timestamp;
  target[offset + 9] = timestamp >>> 8;
  target[offset + 10] = timestamp >>> 16;
  target[offset + 11] = timestamp >>> 24;
  target[offset + 12] = crc;
  target[offset + 13] = crc >>> 8;
  target[offset + 14] = 0;
  target[offset + 15] = 0;
}

/** Why `encodeFrameInto` refused. Kept apart so that the hot path stays small enough to be inlined. */
function encodeMisuse(target: unknown, offset: number, flags: number, seq: number, timestamp: number): Error {
  if (!(target instanceof Uint8Array)) return typeError('target', 'a Uint8Array', target);
  if (target.length < FRAME_BYTES) {
    return rangeError('target', `at least ${FRAME_BYTES} bytes long`, `${target.length} bytes`);
  }
  integerIn('offset', offset, 0, target.length - FRAME_BYTES);
  integerIn('flags', flags, 0, FLAGS_MASK);
  integerIn('seq', seq, 0, U32_MAX);
  integerIn('timestamp', timestamp, 0, U32_MAX);
  if (!isLegalFlags(flags)) {
    return rangeError('flags', 'a legal combination', `0x${flags.toString(16).padStart(2, '0')}`);
  }
  return rangeError(
    'timestamp',
    'a word with id 7 exactly when a PARAM carries GOAWAY',
    `id ${timestamp >>> 24}`,
  );
}

/** The frame's sixteen bytes in a Buffer of their own. TypeError and RangeError as `encodeFrameInto`. */
export function encodeFrame(frame: Frame): Buffer {
  if (typeof frame !== 'object' || frame === null) throw typeError('frame', 'an object', frame);
  const bytes = Buffer.alloc(FRAME_BYTES);
  encodeFrameInto(bytes, 0, frame.flags, frame.seq, frame.timestamp);
  return bytes;
}

/**
 * Is there a good frame at `offset`? 0 for yes, else 1 + the index into FRAME_CODES of the first check that failed.
 * With `ignoreReserved` bytes 14-15 may hold anything. Allocates nothing, never throws on peer bytes; an offset
 * outside the bytes is HB_ERR_LENGTH.
 */
export function checkFrame(bytes: Uint8Array, offset: number, ignoreReserved = false): number {
  if (!(offset >= 0 && offset + FRAME_BYTES <= bytes.length)) return BAD_LENGTH;
  if (bytes[offset] !== MAGIC_0 || bytes[offset + 1] !== MAGIC_1) return BAD_MAGIC;
  const crc = bytes[offset + 12]! | (bytes[offset + 13]! << 8);
  if (bytes[offset + 2] !== VERSION) {
    // The tables hold for version 1 only; another version keeps the CRC's place and coverage, not our constant.
    return crc16(bytes, offset, offset + Offset.Crc) === crc ? BAD_VERSION : BAD_CRC;
  }
  if (frameCrcAt(bytes, offset) !== crc) return BAD_CRC;
  if (!ignoreReserved && (bytes[offset + 14]! | bytes[offset + 15]!) !== 0) return BAD_RESERVED;
  return isLegalFrame(bytes[offset + 3]!, bytes[offset + 11]!) ? GOOD : BAD_FLAGS;
}

/** The flags of the frame at `offset`, 0..127: bit 7 is masked off. Meaningful after `checkFrame` answered 0. */
export function readFlags(bytes: Uint8Array, offset: number): number {
  return bytes[offset + 3]! & FLAGS_MASK;
}

/** The sequence number of the frame at `offset`, u32. Meaningful after `checkFrame` answered 0. */
export function readSeq(bytes: Uint8Array, offset: number): number {
  return readU32(bytes, offset + 4);
}

/** The timestamp (with Flag.Param: the parameter word) of the frame at `offset`, u32. After `checkFrame`. */
export function readTimestamp(bytes: Uint8Array, offset: number): number {
  return readU32(bytes, offset + 8);
}

function readU32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/**
 * The frame at `offset` (default 0) of `bytes`; bytes behind it are not looked at. Peer bytes never throw: damage is
 * `{ ok: false, code }`. TypeError when `bytes` is not a Uint8Array or `offset` not an integer, RangeError when
 * `offset` is negative or `reserved` is neither 'strict' (default) nor 'ignore'.
 */
export function decodeFrame(bytes: Uint8Array, offset = 0, options?: DecodeOptions): DecodeResult {
  if (!(bytes instanceof Uint8Array)) throw typeError('bytes', 'a Uint8Array', bytes);
  if (!Number.isInteger(offset)) throw typeError('offset', 'an integer', offset);
  if (offset < 0) throw rangeError('offset', 'not negative', offset);
  const failure = checkFrame(bytes, offset, isReservedIgnored(options?.reserved));
  if (failure !== GOOD) return { ok: false, code: FRAME_CODES[failure - 1]! };
  return {
    ok: true,
    flags: readFlags(bytes, offset),
    seq: readSeq(bytes, offset),
    timestamp: readTimestamp(bytes, offset),
  };
}

/** Validate the option `reserved`; unset means 'strict'. Internal. */
export function isReservedIgnored(reserved: 'strict' | 'ignore' | undefined): boolean {
  if (reserved === undefined || reserved === 'strict') return false;
  if (reserved === 'ignore') return true;
  throw rangeError('reserved', "'strict' or 'ignore'", reserved);
}
