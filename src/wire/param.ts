/**
 * The parameter word: what the timestamp field means when Flag.Param is set (spec/HB1.md section 2). The id stands in
 * bits 24-31, the value in bits 0-23; some values are themselves two or three fields.
 *
 * Makers refuse misuse (TypeError, RangeError); readers take any u32 and only cut bits, because a peer's word may hold
 * anything. Unassigned ids, 0 included, make legal frames that the session ignores.
 */
import { integerIn } from '../base/assert.ts';
import { PARAM_VALUE_MAX, Param } from './constants.ts';
import { crc16 } from './crc16.ts';

const U8_MAX = 0xff;
const U16_MAX = 0xffff;
const U32_MAX = 0xffffffff;

/** The word with this id (0..255) and value (0..0xFFFFFF). */
export function makeParam(id: number, value: number): number {
  integerIn('id', id, 0, U8_MAX);
  integerIn('value', value, 0, PARAM_VALUE_MAX);
  return ((id << 24) | value) >>> 0;
}

/** The id of a word, 0..255. */
export function paramId(word: number): number {
  return word >>> 24;
}

/** The value of a word, 0..0xFFFFFF. */
export function paramValue(word: number): number {
  return word & PARAM_VALUE_MAX;
}

/** GOAWAY_INFO: reason (0..255) and retry-after in units of 100 ms (0 own backoff, 0xFFFF do not return). */
export function makeGoAwayInfo(reason: number, retryAfterUnits: number): number {
  integerIn('reason', reason, 0, U8_MAX);
  integerIn('retryAfterUnits', retryAfterUnits, 0, U16_MAX);
  return makeParam(Param.GoAwayInfo, (reason << 16) | retryAfterUnits);
}

/** The reason of a GOAWAY_INFO word, 0..255. */
export function goAwayReason(word: number): number {
  return (word >>> 16) & U8_MAX;
}

/** The retry-after of a GOAWAY_INFO word in units of 100 ms, 0..0xFFFF. */
export function goAwayRetryAfterUnits(word: number): number {
  return word & U16_MAX;
}

/** POLL: token (0..255) and the digest of words 1, 2, 3 as sent. */
export function makePoll(token: number, digest: number): number {
  integerIn('token', token, 0, U8_MAX);
  integerIn('digest', digest, 0, U16_MAX);
  return makeParam(Param.Poll, (token << 16) | digest);
}

/** FINAL: the value of the POLL word it answers. */
export function makeFinal(pollWord: number): number {
  integerIn('pollWord', pollWord, 0, U32_MAX);
  return makeParam(Param.Final, paramValue(pollWord));
}

/** The digest of a POLL or FINAL word, 0..0xFFFF. */
export function pollDigest(word: number): number {
  return word & U16_MAX;
}

/** REFUSE: the token of the POLL refused (0..255) and a RefuseCode (0..255). */
export function makeRefuse(token: number, code: number): number {
  integerIn('token', token, 0, U8_MAX);
  integerIn('code', code, 0, U8_MAX);
  return makeParam(Param.Refuse, (token << 16) | (code << 8));
}

/** The code of a REFUSE word, 0..255. */
export function refuseCode(word: number): number {
  return (word >>> 8) & U8_MAX;
}

/** The token of a POLL, FINAL or REFUSE word, 0..255: the three carry it in the same place. */
export function paramToken(word: number): number {
  return (word >>> 16) & U8_MAX;
}

/**
 * What a POLL vouches for: CRC-16 over the words DESIRED_MIN_TX, REQUIRED_MIN_RX and DETECT_MULT (u32 each, id
 * included), in this order, little-endian as they were sent. Allocates; negotiation is rare.
 */
export function parameterDigest(desiredMinTx: number, requiredMinRx: number, detectMult: number): number {
  const bytes = new DataView(new ArrayBuffer(12));
  bytes.setUint32(0, integerIn('desiredMinTx', desiredMinTx, 0, U32_MAX), true);
  bytes.setUint32(4, integerIn('requiredMinRx', requiredMinRx, 0, U32_MAX), true);
  bytes.setUint32(8, integerIn('detectMult', detectMult, 0, U32_MAX), true);
  return crc16(new Uint8Array(bytes.buffer));
}
