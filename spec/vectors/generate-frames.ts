/** The single frames: good ones in every legal combination, and bad ones for every check and pair of checks. */
import {
  ACK,
  ACK_REQUEST,
  DEGRADED,
  GOAWAY,
  PARAM,
  RETRANSMIT,
  type TwinShape,
  toHex,
  twinDecode,
  twinFrame,
  twinFrameName,
  twinWord,
} from '../../test/support/spec-twin.ts';
import type { VectorFile } from './generate.ts';

const INFORM = twinWord(7, 2 * 65536 + 300);
const EDGES = [0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];

interface GoodCase {
  name: string;
  frame: string;
  hex: string;
  flags: number;
  seq: number;
  timestamp: number;
  encodes: boolean;
  reserved?: 'ignore';
}

function good(
  name: string,
  bytes: number[],
  extra: { encodes?: boolean; reserved?: 'ignore' } = {},
): GoodCase {
  const decoded = twinDecode(bytes, extra.reserved);
  if (!decoded.ok) throw new Error(`${name}: ${decoded.code}`);
  const { flags, seq, timestamp } = decoded.frame;
  const frame = twinFrameName(flags, timestamp);
  if (frame === undefined) throw new Error(`${name}: no such frame`);
  return { name, frame, hex: toHex(bytes), flags, seq, timestamp, encodes: true, ...extra };
}

/** The word to go with a flag combination: a reason to leave where one is due, otherwise some id that is none. */
function wordFor(flags: number): number {
  if ((flags & PARAM) === 0) return 0x01020304;
  return (flags & GOAWAY) !== 0 ? INFORM : twinWord(6, 125);
}

export function framesGood(): VectorFile {
  const cases: GoodCase[] = [];
  for (let flags = 0; flags < 128; flags++) {
    if (twinFrameName(flags, wordFor(flags)) === undefined) continue;
    cases.push(good(`flags ${flags.toString(16).padStart(2, '0')}`, twinFrame(flags, 7, wordFor(flags))));
  }
  for (const edge of EDGES) {
    cases.push(good(`ping with seq ${edge}`, twinFrame(ACK_REQUEST, edge, 0x12345678)));
    cases.push(good(`beat with timestamp ${edge}`, twinFrame(0, 9, edge)));
  }
  for (const id of [0, 1, 2, 3, 4, 5, 6, 8, 9, 127, 128, 255])
    cases.push(good(`parameter id ${id}`, twinFrame(PARAM, 10, twinWord(id, 0xfedcba))));
  cases.push(
    good('bit 7 set is masked off: a ping', twinFrame(0x81, 3, 4), { encodes: false }),
    good('bit 7 set is masked off: a beat', twinFrame(0x80, 3, 4), { encodes: false }),
    good('reserved bytes set and ignored', twinFrame(ACK_REQUEST, 3, 4, { reserved: 0xbeef }), {
      encodes: false,
      reserved: 'ignore',
    }),
  );
  return {
    about: [
      'Sixteen-byte frames that are good.',
      'name: what the case shows. frame: BEAT, PING, PONG, PARAM or GOAWAY. hex: the bytes.',
      'flags, seq, timestamp: the fields as a receiver reads them, flags without bit 7.',
      'encodes: true when encoding the three fields gives exactly these bytes.',
      'reserved: "ignore" when the frame is good only for a receiver told to ignore bytes 14 and 15.',
    ],
    cases,
  };
}

interface BadCase {
  name: string;
  hex: string;
  code: string;
  reserved?: 'ignore';
}

function bad(name: string, bytes: number[], code: string, reserved?: 'ignore'): BadCase {
  const decoded = twinDecode(bytes, reserved);
  if (decoded.ok || decoded.code !== code) throw new Error(`${name}: expected ${code}`);
  return { name, hex: toHex(bytes), code, ...(reserved === undefined ? {} : { reserved }) };
}

const PING = twinFrame(ACK_REQUEST, 0xfffffffe, 0x12345678);
const ILLEGAL = ACK_REQUEST | ACK;

function shaped(shape: TwinShape, flags = ACK_REQUEST): number[] {
  return twinFrame(flags, 0x0a0b0c0d, 0x01020304, shape);
}

/** The same bytes with the checksum made wrong. */
function crcBroken(bytes: number[]): number[] {
  return bytes.map((byte, index) => (index === 12 ? byte ^ 0xff : byte));
}

/** One broken check each, in validation order. */
function singly(): BadCase[] {
  return [
    ...[0, 1, 2, 15].map((length) => bad(`only ${length} bytes`, PING.slice(0, length), 'HB_ERR_LENGTH')),
    bad('magic bytes exchanged', shaped({ magic: 0x4842 }), 'HB_ERR_MAGIC'),
    bad('first magic byte wrong', shaped({ magic: 0x4247 }), 'HB_ERR_MAGIC'),
    bad('second magic byte wrong', shaped({ magic: 0x4348 }), 'HB_ERR_MAGIC'),
    bad('sixteen zero bytes', new Array<number>(16).fill(0), 'HB_ERR_MAGIC'),
    bad('sixteen ff bytes', new Array<number>(16).fill(255), 'HB_ERR_MAGIC'),
    bad('checksum wrong', crcBroken(PING), 'HB_ERR_CRC'),
    bad('checksum stored big-endian', [...PING.slice(0, 12), PING[13]!, PING[12]!, 0, 0], 'HB_ERR_CRC'),
    bad('checksum zero', [...PING.slice(0, 12), 0, 0, 0, 0], 'HB_ERR_CRC'),
    ...[0, 2, 255].map((version) => bad(`version ${version}`, shaped({ version }), 'HB_ERR_VERSION')),
    bad('reserved byte 14 set', shaped({ reserved: 0x0001 }), 'HB_ERR_RESERVED'),
    bad('reserved byte 15 set', shaped({ reserved: 0x8000 }), 'HB_ERR_RESERVED'),
  ];
}

/** Two or more broken checks: the earlier one names the code. */
function doubly(): BadCase[] {
  const magic = 0x4243;
  return [
    bad('short and wrong magic', shaped({ magic }).slice(0, 15), 'HB_ERR_LENGTH'),
    bad('wrong magic and checksum', crcBroken(shaped({ magic })), 'HB_ERR_MAGIC'),
    bad('wrong magic and version', shaped({ magic, version: 2 }), 'HB_ERR_MAGIC'),
    bad('wrong checksum and version', crcBroken(shaped({ version: 2 })), 'HB_ERR_CRC'),
    bad('wrong checksum and reserved', crcBroken(shaped({ reserved: 1 })), 'HB_ERR_CRC'),
    bad('wrong checksum and flags', crcBroken(shaped({}, ILLEGAL)), 'HB_ERR_CRC'),
    bad('wrong version and reserved', shaped({ version: 2, reserved: 1 }), 'HB_ERR_VERSION'),
    bad('wrong version and flags', shaped({ version: 2 }, ILLEGAL), 'HB_ERR_VERSION'),
    bad('reserved set and wrong flags', shaped({ reserved: 1 }, ILLEGAL), 'HB_ERR_RESERVED'),
    bad('reserved ignored, flags wrong', shaped({ reserved: 1 }, ILLEGAL), 'HB_ERR_FLAGS', 'ignore'),
    bad('reserved ignored, version wrong', shaped({ reserved: 1, version: 2 }), 'HB_ERR_VERSION', 'ignore'),
    bad('everything wrong', crcBroken(shaped({ magic, version: 2, reserved: 1 }, ILLEGAL)), 'HB_ERR_MAGIC'),
  ];
}

function illegalCombinations(): BadCase[] {
  const cases: BadCase[] = [];
  for (let flags = 0; flags < 128; flags++) {
    if (twinFrameName(flags, wordFor(flags)) !== undefined) continue;
    const name = `flags ${flags.toString(16).padStart(2, '0')}`;
    cases.push(bad(name, twinFrame(flags, 7, wordFor(flags)), 'HB_ERR_FLAGS'));
  }
  const notInforming = twinFrame(PARAM | GOAWAY, 7, twinWord(6, 125));
  cases.push(
    bad('bit 7 does not hide illegal flags', twinFrame(0x80 | ILLEGAL, 7, 0), 'HB_ERR_FLAGS'),
    bad('GOAWAY with PARAM, id 6', notInforming, 'HB_ERR_FLAGS'),
    bad('PARAM id 7 without GOAWAY', twinFrame(PARAM, 7, INFORM), 'HB_ERR_FLAGS'),
    bad(
      'PARAM id 7, degraded, again, without GOAWAY',
      twinFrame(PARAM | DEGRADED | RETRANSMIT, 7, INFORM),
      'HB_ERR_FLAGS',
    ),
  );
  return cases;
}

/** Every single flipped bit of one ping: 16 in the magic, 96 the checksum finds, 16 in the reserved bytes. */
function flippedBits(): BadCase[] {
  return Array.from({ length: 128 }, (_, bit) => {
    const index = bit >> 3;
    const bytes = PING.map((byte, at) => (at === index ? byte ^ (1 << (bit & 7)) : byte));
    const code = index < 2 ? 'HB_ERR_MAGIC' : index < 14 ? 'HB_ERR_CRC' : 'HB_ERR_RESERVED';
    return bad(`golden ping, byte ${index} bit ${bit & 7} flipped`, bytes, code);
  });
}

export function framesBad(): VectorFile {
  return {
    about: [
      'Bytes that are no good frame, each with the code of the first check that fails.',
      'name: what is wrong. hex: the bytes; fewer than sixteen only for HB_ERR_LENGTH. code: the verdict.',
      'reserved: "ignore" when the receiver is told to ignore bytes 14 and 15; otherwise it is strict.',
    ],
    singly: singly(),
    doubly: doubly(),
    flags: illegalCombinations(),
    flipped: flippedBits(),
  };
}
