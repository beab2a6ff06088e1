/**
 * The codec again, as plainly as it can be said: bit by bit, number by number, no table. It knows the specification's
 * section 1 and 2 and nothing of src. Slow on purpose; the fast one is compared with it.
 */

export function naiveCrc(bytes: ArrayLike<number>): number {
  let remainder = 0xffff;
  for (let index = 0; index < bytes.length; index++) {
    remainder ^= bytes[index]! * 256;
    for (let bit = 0; bit < 8; bit++) {
      remainder *= 2;
      if (remainder >= 0x10000) remainder = (remainder - 0x10000) ^ 0x1021;
    }
  }
  return remainder;
}

function littleEndian(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** index) % 256);
}

export interface NaiveFields {
  flags: number;
  seq: number;
  timestamp: number;
  version?: number;
  reserved?: number;
}

/** Sixteen bytes with a right CRC, whether the fields are legal or not. */
export function naiveEncode({ flags, seq, timestamp, version = 1, reserved = 0 }: NaiveFields): number[] {
  const covered = [0x48, 0x42, version, flags, ...littleEndian(seq, 4), ...littleEndian(timestamp, 4)];
  return [...covered, ...littleEndian(naiveCrc(covered), 2), ...littleEndian(reserved, 2)];
}

/** The frame's name by asking each row's question in words; undefined for a combination that is none. */
export function naiveName(flags: number, word: number): string | undefined {
  const names = ['ACK_REQ', 'RETRANSMIT', 'ACK', 'PROBE', 'DEGRADED', 'GOAWAY', 'PARAM'];
  const set = names.filter((_, bit) => Math.floor(flags / 2 ** bit) % 2 === 1);
  const consistsOf = (must: string[], may: string[]): boolean =>
    must.every((name) => set.includes(name)) &&
    set.every((name) => must.includes(name) || may.includes(name));
  const id = Math.floor(word / 2 ** 24);
  if (consistsOf([], ['DEGRADED', 'RETRANSMIT'])) return 'BEAT';
  if (consistsOf(['ACK_REQ'], ['PROBE', 'DEGRADED', 'GOAWAY', 'RETRANSMIT'])) return 'PING';
  if (consistsOf(['ACK'], ['PROBE', 'DEGRADED'])) return 'PONG';
  if (consistsOf(['GOAWAY'], ['DEGRADED', 'RETRANSMIT'])) return 'GOAWAY';
  if (id === 7 && consistsOf(['PARAM', 'GOAWAY'], ['DEGRADED', 'RETRANSMIT'])) return 'PARAM';
  if (id !== 7 && consistsOf(['PARAM'], ['DEGRADED', 'RETRANSMIT'])) return 'PARAM';
  return undefined;
}

export type NaiveResult =
  | { ok: true; flags: number; seq: number; timestamp: number }
  | { ok: false; code: string };

export function naiveDecode(bytes: ArrayLike<number>, reserved: 'strict' | 'ignore' = 'strict'): NaiveResult {
  const bad = (code: string): NaiveResult => ({ ok: false, code });
  const field = (at: number, count: number): number => {
    let value = 0;
    for (let index = count - 1; index >= 0; index--) value = value * 256 + bytes[at + index]!;
    return value;
  };
  if (bytes.length < 16) return bad('HB_ERR_LENGTH');
  if (field(0, 2) !== 0x4248) return bad('HB_ERR_MAGIC');
  if (naiveCrc(Array.from(bytes).slice(0, 12)) !== field(12, 2)) return bad('HB_ERR_CRC');
  if (field(2, 1) !== 1) return bad('HB_ERR_VERSION');
  if (reserved === 'strict' && field(14, 2) !== 0) return bad('HB_ERR_RESERVED');
  const flags = field(3, 1) % 128;
  if (naiveName(flags, field(8, 4)) === undefined) return bad('HB_ERR_FLAGS');
  return { ok: true, flags, seq: field(4, 4), timestamp: field(8, 4) };
}
