/**
 * A second, deliberately slow reading of spec/HB1.md: bit by bit, table row by table row, on arrays of numbers.
 * It generates spec/vectors and imports nothing from src, so an error would have to be made twice, in two styles,
 * to stay unseen. Whole streams only: it sees all bytes at once, so it cannot have a chunking error.
 */

export type Bytes = readonly number[];
export type ReservedRule = 'strict' | 'ignore';
export interface TwinFrame {
  flags: number;
  seq: number;
  timestamp: number;
}
export type TwinDecoded = { ok: true; frame: TwinFrame } | { ok: false; code: string };
export type TwinEvent = { frame: TwinFrame } | { host: string } | { error: string };

export const ACK_REQUEST = 0x01;
export const RETRANSMIT = 0x02;
export const ACK = 0x04;
const PROBE = 0x08;
export const DEGRADED = 0x10;
export const GOAWAY = 0x20;
export const PARAM = 0x40;

/** [C-1]: CRC-16/IBM-3740, most significant bit first. */
export function twinCrc(bytes: Bytes): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const top = (crc >> 15) & 1;
      crc = (crc << 1) & 0xffff;
      if (top !== ((byte >> bit) & 1)) crc ^= 0x1021;
    }
  }
  return crc;
}

/** Little-endian bytes of an unsigned number. */
export function littleEndian(value: number, count: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (let i = 0; i < count; i++) {
    bytes.push(rest % 256);
    rest = Math.floor(rest / 256);
  }
  return bytes;
}

function fromLittleEndian(bytes: Bytes): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
}

export function toHex(bytes: Bytes): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export interface TwinShape {
  magic?: number;
  version?: number;
  reserved?: number;
}

/** [F-1]: sixteen bytes with a good checksum; `shape` makes a wrong magic, version or reserved field on purpose. */
export function twinFrame(flags: number, seq: number, timestamp: number, shape: TwinShape = {}): number[] {
  const covered = [
    ...littleEndian(shape.magic ?? 0x4248, 2),
    shape.version ?? 1,
    flags,
    ...littleEndian(seq, 4),
    ...littleEndian(timestamp, 4),
  ];
  return [...covered, ...littleEndian(twinCrc(covered), 2), ...littleEndian(shape.reserved ?? 0, 2)];
}

/** The rows of section 2's table: name, flags that must be set, flags that may be set. */
const FRAME_ROWS: ReadonlyArray<readonly [name: string, must: number, may: readonly number[]]> = [
  ['BEAT', 0, [DEGRADED, RETRANSMIT]],
  ['PING', ACK_REQUEST, [PROBE, DEGRADED, GOAWAY, RETRANSMIT]],
  ['PONG', ACK, [PROBE, DEGRADED]],
  ['PARAM', PARAM, [GOAWAY, DEGRADED, RETRANSMIT]],
  ['GOAWAY', GOAWAY, [DEGRADED, RETRANSMIT]],
];

/** The frame's name, or undefined when the combination is illegal; the word decides about GOAWAY with PARAM. */
export function twinFrameName(flags: number, word: number): string | undefined {
  for (const [name, must, may] of FRAME_ROWS) {
    const allowed = may.reduce((sum, mask) => sum | mask, must);
    if ((flags & must) !== must || (flags & ~allowed) !== 0) continue;
    const informs = Math.floor(word / 2 ** 24) === 7;
    if (name === 'PARAM' && informs !== ((flags & GOAWAY) !== 0)) continue;
    return name;
  }
  return undefined;
}

/** [F-8]: read one frame by numbered steps, first failure wins. */
export function twinDecode(bytes: Bytes, reserved: ReservedRule = 'strict'): TwinDecoded {
  if (bytes.length < 16) return { ok: false, code: 'HB_ERR_LENGTH' };
  if (bytes[0] !== 0x48 || bytes[1] !== 0x42) return { ok: false, code: 'HB_ERR_MAGIC' };
  if (twinCrc(bytes.slice(0, 12)) !== fromLittleEndian(bytes.slice(12, 14)))
    return { ok: false, code: 'HB_ERR_CRC' };
  if (bytes[2] !== 1) return { ok: false, code: 'HB_ERR_VERSION' };
  if (reserved === 'strict' && (bytes[14] !== 0 || bytes[15] !== 0))
    return { ok: false, code: 'HB_ERR_RESERVED' };
  const flags = bytes[3]! % 128;
  const timestamp = fromLittleEndian(bytes.slice(8, 12));
  if (twinFrameName(flags, timestamp) === undefined) return { ok: false, code: 'HB_ERR_FLAGS' };
  return { ok: true, frame: { flags, seq: fromLittleEndian(bytes.slice(4, 8)), timestamp } };
}

/** [S-4], by plain division: above zero when `a` is newer; exactly half the range is behind. */
export function twinDistance(a: number, b: number): number {
  const forward = (a - b + 2 ** 32) % 2 ** 32;
  return forward >= 2 ** 31 ? forward - 2 ** 32 : forward;
}

export type TwinVerdict = 'new' | 'duplicate' | 'stale';

/** [W-1]: the window as a list of everything accepted. */
export class TwinWindow {
  #accepted = new Set<number>();
  #newest: number | undefined;

  accept(seq: number): TwinVerdict {
    if (this.#newest === undefined) {
      this.#newest = seq;
      this.#accepted.add(seq);
      return 'new';
    }
    const distance = twinDistance(seq, this.#newest);
    if (distance <= -64) return 'stale';
    if (distance > 0) {
      // What was accepted more than a window ago must not come back as a duplicate: after 2^32 frames, or after a
      // jump of nearly half the range, from where it would look ahead.
      if (distance >= 64) this.#accepted.clear();
      for (const old of this.#accepted) if (twinDistance(old, seq) <= -64) this.#accepted.delete(old);
      this.#newest = seq;
    } else if (this.#accepted.has(seq)) return 'duplicate';
    this.#accepted.add(seq);
    return 'new';
  }

  distanceFromNewest(seq: number): number {
    return this.#newest === undefined ? 1 : twinDistance(seq, this.#newest);
  }
}

export type TwinRestartVerdict = TwinVerdict | 'candidate' | 'restart';

/** [S-5] to [S-7] over a whole list of sequence numbers. */
export function twinRestarts(sequences: readonly number[]): TwinRestartVerdict[] {
  let window = new TwinWindow();
  let candidate: number | undefined;
  return sequences.map((seq) => {
    if (candidate !== undefined && seq === (candidate + 1) % 2 ** 32) {
      window = new TwinWindow();
      window.accept(candidate);
      window.accept(seq);
      candidate = undefined;
      return 'restart';
    }
    const distance = window.distanceFromNewest(seq);
    if (distance > 1024 || distance <= -64) {
      candidate = seq;
      return 'candidate';
    }
    candidate = undefined;
    return window.accept(seq);
  });
}

export interface TwinStreamOptions {
  mode: 'heartbeat-only' | 'shared';
  host?: 'length32' | 'undecided';
  reserved?: ReservedRule;
  resyncBudgetBytes?: number;
  maxHostFrameBytes?: number;
}

type Step = { take: number; event?: TwinEvent; skipped?: number } | { fatal: string } | 'wait for more';

/** Sections 4.2 to 4.4: all events of one byte stream. */
export function twinStream(stream: Bytes, options: TwinStreamOptions): TwinEvent[] {
  const events: TwinEvent[] = [];
  const fullBudget = options.resyncBudgetBytes ?? 1024;
  let budget = fullBudget;
  let at = 0;
  while (at < stream.length) {
    const rest = stream.slice(at);
    const step = options.mode === 'shared' ? sharedStep(rest, options) : aloneStep(rest, options);
    if (step === 'wait for more') break;
    if ('fatal' in step) return [...events, { error: step.fatal }];
    budget -= step.skipped ?? 0;
    if (budget < 0) return [...events, { error: 'HB_ERR_RESYNC' }];
    if (step.event !== undefined) push(events, step.event);
    if (step.event !== undefined && 'frame' in step.event) budget = Math.min(fullBudget, budget + 16);
    at += step.take;
  }
  return events;
}

/** Neighbouring host bytes are one event: where a chunk ended is not part of the stream's meaning. */
export function push(events: TwinEvent[], event: TwinEvent): void {
  const last = events.at(-1);
  if (last !== undefined && 'host' in last && 'host' in event) last.host += event.host;
  else events.push(event);
}

function aloneStep(rest: Bytes, options: TwinStreamOptions): Step {
  if (rest[0] !== 0x48) return { take: 1, skipped: 1 };
  if (rest.length < 2) return 'wait for more';
  if (rest[1] !== 0x42) return { take: 1, skipped: 1 };
  if (rest.length < 16) return 'wait for more';
  const decoded = twinDecode(rest, options.reserved);
  if (decoded.ok) return { take: 16, event: { frame: decoded.frame } };
  if (decoded.code === 'HB_ERR_CRC') return { take: 1, skipped: 1 };
  if (decoded.code === 'HB_ERR_FLAGS') return { take: 16, skipped: 16 };
  return { fatal: decoded.code };
}

function sharedStep(rest: Bytes, options: TwinStreamOptions): Step {
  if (rest[0] === 0x48 && rest.length < 2) return 'wait for more';
  if (rest[0] === 0x48 && rest[1] === 0x42) {
    if (rest.length < 16) return 'wait for more';
    const decoded = twinDecode(rest, options.reserved);
    if (decoded.ok) return { take: 16, event: { frame: decoded.frame } };
    const loud = decoded.code === 'HB_ERR_VERSION' || decoded.code === 'HB_ERR_RESERVED';
    return { fatal: loud ? decoded.code : 'HB_ERR_DESYNC' };
  }
  const length = options.host === 'undecided' ? 0 : twinHostLength(rest);
  if (length < 0) return { fatal: 'HB_ERR_DESYNC' };
  if (length === 0) return rest.length >= 64 ? { fatal: 'HB_ERR_DESYNC' } : 'wait for more';
  if (length > (options.maxHostFrameBytes ?? 2 ** 24)) return { fatal: 'HB_ERR_HOST_TOO_LARGE' };
  const there = rest.slice(0, length);
  return { take: there.length, event: { host: toHex(there) } };
}

/** The reference host protocol: 4 bytes big-endian length of the payload, below 2^24. */
export function twinHostLength(rest: Bytes): number {
  if (rest[0] !== 0) return -1;
  if (rest.length < 4) return 0;
  return 4 + rest[1]! * 65536 + rest[2]! * 256 + rest[3]!;
}

export function hostFrame(payload: Bytes): number[] {
  return [...littleEndian(payload.length, 4).reverse(), ...payload];
}

/** A parameter word: id in bits 24-31, value in bits 0-23. */
export function twinWord(id: number, value: number): number {
  return id * 2 ** 24 + value;
}

/** The digest in a POLL: the checksum over words 1, 2 and 3 as they stand in the frames. */
export function twinDigest(words: readonly number[]): number {
  return twinCrc(words.flatMap((word) => littleEndian(word, 4)));
}

/** Reproducible bytes for vectors: a plain linear congruential generator (Numerical Recipes constants). */
export class TwinRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  u32(): number {
    this.#state = Number((BigInt(this.#state) * 1664525n + 1013904223n) % 2n ** 32n);
    return this.#state;
  }

  below(limit: number): number {
    return Math.floor((this.u32() / 2 ** 32) * limit);
  }
}
