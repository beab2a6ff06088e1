/**
 * CRC-16/IBM-3740 (also called CRC-16/CCITT-FALSE): width 16, polynomial 0x1021, initial 0xFFFF, nothing reflected,
 * no final XOR, check value 0x29B1 over "123456789". Source: spec/HB1.md section 1; the CRC RevEng catalogue.
 *
 * Two ways to the same number. `crc16` walks any bytes, one table look-up each, every step waiting for the last.
 * `frameCrc` serves the fixed twelve bytes of a frame without that chain. It is legal because a CRC is linear over
 * XOR: for messages of one length, crc(a ^ b) = crc(a) ^ crc0(b), where crc0 starts from zero. So the frame's CRC is
 * the CRC of its constant part XOR one contribution per variable byte, and a contribution depends on nothing but the
 * byte's value and its place. Nine tables of 256 entries (4.5 KiB) hold them all.
 */

import { integerIn } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';
import { MAGIC_0, MAGIC_1, Offset, VERSION } from './constants.ts';

const POLYNOMIAL = 0x1021;
const INITIAL = 0xffff;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

function step(crc: number, byte: number): number {
  return ((crc << 8) & 0xff00) ^ TABLE[(crc >>> 8) ^ byte]!;
}

/**
 * CRC-16/IBM-3740 of `bytes` from `start` (default 0) to before `end` (default the length); 0xFFFF for no bytes.
 * TypeError when `bytes` is not a Uint8Array, RangeError when the range does not lie inside it.
 */
export function crc16(bytes: Uint8Array, start = 0, end?: number): number {
  if (!(bytes instanceof Uint8Array)) throw typeError('bytes', 'a Uint8Array', bytes);
  const last = end === undefined ? bytes.length : integerIn('end', end, 0, bytes.length);
  integerIn('start', start, 0, last);
  let crc = INITIAL;
  for (let index = start; index < last; index++) crc = step(crc, bytes[index]!);
  return crc;
}

/** What each value of the byte at `offset` adds to the CRC of a frame: itself, then zeros up to the CRC field. */
function contributionsAt(offset: number): Uint16Array {
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = step(0, byte);
    for (let rest = offset + 1; rest < Offset.Crc; rest++) crc = step(crc, 0);
    return crc;
  });
}

/** The constant part: magic, version, and zero in every variable byte. */
const CONSTANT = crc16(Uint8Array.of(MAGIC_0, MAGIC_1, VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0));
const FLAGS = contributionsAt(Offset.Flags);
const SEQ_0 = contributionsAt(Offset.Seq);
const SEQ_1 = contributionsAt(Offset.Seq + 1);
const SEQ_2 = contributionsAt(Offset.Seq + 2);
const SEQ_3 = contributionsAt(Offset.Seq + 3);
const TIMESTAMP_0 = contributionsAt(Offset.Timestamp);
const TIMESTAMP_1 = contributionsAt(Offset.Timestamp + 1);
const TIMESTAMP_2 = contributionsAt(Offset.Timestamp + 2);
const TIMESTAMP_3 = contributionsAt(Offset.Timestamp + 3);

/** The CRC a version 1 frame with these fields must carry. `flags` is the whole byte, bit 7 included. Internal. */
export function frameCrc(flags: number, seq: number, timestamp: number): number {
  return (
    CONSTANT ^
    FLAGS[flags & 0xff]! ^
    SEQ_0[seq & 0xff]! ^
    SEQ_1[(seq >>> 8) & 0xff]! ^
    SEQ_2[(seq >>> 16) & 0xff]! ^
    SEQ_3[seq >>> 24]! ^
    TIMESTAMP_0[timestamp & 0xff]! ^
    TIMESTAMP_1[(timestamp >>> 8) & 0xff]! ^
    TIMESTAMP_2[(timestamp >>> 16) & 0xff]! ^
    TIMESTAMP_3[timestamp >>> 24]!
  );
}

/** The CRC that belongs to bytes 0-11 at `offset`, magic and version 1 taken for granted. Internal. */
export function frameCrcAt(bytes: Uint8Array, offset: number): number {
  return (
    CONSTANT ^
    FLAGS[bytes[offset + 3]!]! ^
    SEQ_0[bytes[offset + 4]!]! ^
    SEQ_1[bytes[offset + 5]!]! ^
    SEQ_2[bytes[offset + 6]!]! ^
    SEQ_3[bytes[offset + 7]!]! ^
    TIMESTAMP_0[bytes[offset + 8]!]! ^
    TIMESTAMP_1[bytes[offset + 9]!]! ^
    TIMESTAMP_2[bytes[offset + 10]!]! ^
    TIMESTAMP_3[bytes[offset + 11]!]!
  );
}
