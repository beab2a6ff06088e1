/**
 * Gives damaged bytes right checksums again. A checksum turns nearly all damage into the same short answer; mended,
 * the damage reaches the checks behind it: version, reserved bytes, flags, and what a session makes of the fields.
 */
import { FRAME_BYTES, MAGIC_0, MAGIC_1, Offset } from '../src/wire/constants.ts';
import { crc16 } from '../src/wire/crc16.ts';

/** Write the checksum of each sixteen bytes that begin like a frame, in place. */
export function mend(bytes: Uint8Array): Uint8Array {
  for (let at = 0; at + FRAME_BYTES <= bytes.length; at++) {
    if (bytes[at] !== MAGIC_0 || bytes[at + 1] !== MAGIC_1) continue;
    const crc = crc16(bytes, at, at + Offset.Crc);
    bytes[at + Offset.Crc] = crc;
    bytes[at + Offset.Crc + 1] = crc >>> 8;
    at += FRAME_BYTES - 1;
  }
  return bytes;
}
