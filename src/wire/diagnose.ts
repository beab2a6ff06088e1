/**
 * Why a frame is bad, for people: the code, the byte it failed at, what should have stood there and what did. Not for
 * the hot path; it asks `checkFrame` first, so it can never disagree with it.
 */
import { rangeError, typeError } from '../base/errors.ts';
import {
  Flag,
  FRAME_BYTES,
  FRAME_CODES,
  type FrameCode,
  MAGIC_0,
  MAGIC_1,
  Offset,
  VERSION,
} from './constants.ts';
import { crc16 } from './crc16.ts';
import { type FrameName, frameName, isLegalFlags } from './flags.ts';
import {
  checkFrame,
  type DecodeOptions,
  isReservedIgnored,
  readFlags,
  readSeq,
  readTimestamp,
} from './frame.ts';

/** What is wrong: `at` is the byte within the frame (0..15), `text` one sentence without a full stop. */
export interface FrameFault {
  code: FrameCode;
  at: number;
  expected: string;
  found: string;
  text: string;
}

export type FrameDiagnosis =
  | { ok: true; name: FrameName; flags: number; seq: number; timestamp: number }
  | ({ ok: false } & FrameFault);

/**
 * Describe the frame at `offset` (default 0). TypeError when `bytes` is not a Uint8Array or `offset` not an integer,
 * RangeError when `offset` is negative.
 */
export function diagnoseFrame(bytes: Uint8Array, offset = 0, options?: DecodeOptions): FrameDiagnosis {
  if (!(bytes instanceof Uint8Array)) throw typeError('bytes', 'a Uint8Array', bytes);
  if (!Number.isInteger(offset)) throw typeError('offset', 'an integer', offset);
  if (offset < 0) throw rangeError('offset', 'not negative', offset);
  const failure = checkFrame(bytes, offset, isReservedIgnored(options?.reserved));
  if (failure !== 0) {
    const frame = bytes.subarray(offset, offset + FRAME_BYTES);
    return { ok: false, ...describe(FRAME_CODES[failure - 1]!, frame) };
  }
  const flags = readFlags(bytes, offset);
  return {
    ok: true,
    name: frameName(flags) as FrameName,
    flags,
    seq: readSeq(bytes, offset),
    timestamp: readTimestamp(bytes, offset),
  };
}

function describe(code: FrameCode, frame: Uint8Array): FrameFault {
  const fault = (at: number, what: string, expected: string, found: string): FrameFault => ({
    code,
    at,
    expected,
    found,
    text: `${what}: expected ${expected}, found ${found}`,
  });
  switch (code) {
    case 'HB_ERR_LENGTH':
      return fault(frame.length, 'too short', `${FRAME_BYTES} bytes`, `${frame.length} bytes`);
    case 'HB_ERR_MAGIC': {
      const at = frame[0] === MAGIC_0 ? 1 : 0;
      return fault(at, 'not a heartbeat', hex(at === 0 ? MAGIC_0 : MAGIC_1, 2), hex(frame[at]!, 2));
    }
    case 'HB_ERR_CRC':
      return fault(
        Offset.Crc,
        'damaged, or not a heartbeat',
        hex(crc16(frame, 0, Offset.Crc), 4),
        hex(frame[Offset.Crc]! | (frame[Offset.Crc + 1]! << 8), 4),
      );
    case 'HB_ERR_VERSION':
      return fault(Offset.Version, 'another version', String(VERSION), String(frame[Offset.Version]));
    case 'HB_ERR_RESERVED': {
      const at = frame[Offset.Reserved] === 0 ? Offset.Reserved + 1 : Offset.Reserved;
      return fault(at, 'reserved byte in use', '0x00', hex(frame[at]!, 2));
    }
    case 'HB_ERR_FLAGS': {
      const flags = readFlags(frame, 0);
      if (!isLegalFlags(flags)) {
        return fault(Offset.Flags, 'flags that make no frame', 'a legal combination', hex(flags, 2));
      }
      // Legal by themselves and refused all the same: a PARAM whose GOAWAY and id do not belong together.
      const expected = (flags & Flag.GoAway) !== 0 ? 'id 7' : 'another id than 7';
      return fault(11, 'a PARAM carries GOAWAY exactly when its id is 7', expected, `id ${frame[11]}`);
    }
  }
}

function hex(value: number, digits: number): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}
