/** Checksums, sequence windows and parameter words. */
import {
  GOAWAY,
  littleEndian,
  PARAM,
  TwinRandom,
  TwinWindow,
  toHex,
  twinCrc,
  twinDigest,
  twinDistance,
  twinFrame,
  twinRestarts,
  twinWord,
} from '../../test/support/spec-twin.ts';
import type { VectorFile } from './generate.ts';

const U32 = 2 ** 32;
const ascii = (text: string): number[] => [...Buffer.from(text, 'ascii')];

export function crcs(): VectorFile {
  const random = new TwinRandom(1);
  const inputs: Array<[string, number[]]> = [
    ['the check value of the algorithm', ascii('123456789')],
    ['nothing: the initial value', []],
    ['one zero byte', [0]],
    ['one ff byte', [255]],
    ['one letter', ascii('A')],
    ['twelve zero bytes', new Array<number>(12).fill(0)],
    ['twelve ff bytes', new Array<number>(12).fill(255)],
    ['the covered bytes of the golden ping', twinFrame(1, 0xfffffffe, 0x12345678).slice(0, 12)],
    ['all byte values in order', Array.from({ length: 256 }, (_, i) => i)],
  ];
  for (let bit = 0; bit < 96; bit += 13) {
    const bytes = new Array<number>(12).fill(0);
    bytes[bit >> 3] = 1 << (bit & 7);
    inputs.push([`twelve bytes, byte ${bit >> 3} bit ${bit & 7} alone`, bytes]);
  }
  for (const length of [2, 3, 7, 11, 12, 13, 16, 64])
    inputs.push([`${length} arbitrary bytes`, Array.from({ length }, () => random.below(256))]);
  return {
    about: ['CRC-16/IBM-3740. name: what the input is. hex: the input. crc: the checksum as a number.'],
    cases: inputs.map(([name, bytes]) => ({ name, hex: toHex(bytes), crc: twinCrc(bytes) })),
  };
}

const plus = (base: number, ...steps: number[]): number[] => steps.map((step) => (base + step + U32) % U32);

/** What a list of sequence numbers does to a fresh window. */
function windowCases(): Array<[string, number[]]> {
  const cases: Array<[string, number[]]> = [
    ['F41: first sequence number 0', [0, 0, 1, 1]],
    ['first sequence number 2^32 - 1', [0xffffffff, 0, 0xffffffff]],
    ['in order', plus(100, 0, 1, 2, 3, 4)],
    ['out of order inside the window, each accepted once', plus(100, 0, 3, 1, 2, 2, 1, 3, 0)],
    ['across the wrap', plus(0xfffffffd, 0, 1, 2, 3, 4, 5, 0, 3, 2)],
    ['out of order across the wrap', [0xfffffffe, 1, 0xffffffff, 0, 0, 0xffffffff, 2]],
    ['a distance of exactly 2^31 is stale', [0, 0x80000000, 0x7fffffff, 0x80000000]],
    ['2^31 forward and back from the middle', [0x80000000, 0, 1, 0x80000001]],
    ['half the range forward, less one, is new', [5, 0x80000004, 5]],
    [
      'F44: after a huge jump the old numbers are stale',
      plus(10, 0, 1, 1_000_000, 2, 1_000_000, 999_937, 999_936),
    ],
  ];
  for (const jump of [1, 2, 30, 31, 32, 33, 34, 62, 63, 64, 65, 66, 95, 96, 97, 128]) {
    for (const base of [1000, U32 - 40]) {
      const steps = [
        0,
        jump,
        0,
        jump,
        jump - 1,
        jump - 31,
        jump - 32,
        jump - 33,
        jump - 62,
        jump - 63,
        jump - 64,
        jump - 65,
      ];
      cases.push([`F42: jump of ${jump} from ${base}, then every edge behind it`, plus(base, ...steps)]);
      cases.push([
        `F43: filled, jump of ${jump} from ${base}`,
        plus(base, -63, -33, -32, -31, -1, 0, jump, -63, -33, -32, -31, -1, 0, jump),
      ]);
    }
  }
  return cases;
}

function randomWalk(seed: number): [string, number[]] {
  const random = new TwinRandom(seed);
  let head = random.u32();
  const sequences = Array.from({ length: 120 }, () => {
    const kind = random.below(10);
    if (kind < 6) head = (head + random.below(3)) % U32;
    else if (kind === 6) head = (head + random.below(100)) % U32;
    return (head + U32 - (kind > 6 ? random.below(70) : 0)) % U32;
  });
  return [`random walk ${seed}`, sequences];
}

function restartCases(): Array<[string, number[]]> {
  return [
    ['a jump of 1024 is taken', plus(50, 0, 1024, 1025)],
    ['a jump of 1025 is a candidate, its successor proves a restart', plus(50, 0, 1025, 1026, 1027, 1025)],
    ['what proved a restart is a duplicate when it comes again', plus(50, 0, 1025, 1026, 1026, 1025, 1027)],
    ['63 behind is an ordinary late frame', plus(500, 0, -63, 1)],
    ['64 behind is a candidate, its successor proves a restart', plus(500, 0, -64, -63, -62)],
    ['the candidate again is only a candidate again', plus(500, 0, 9000, 9000, 9001)],
    ['an ordinary frame between forgets the candidate', plus(500, 0, 9000, 1, 9001, 2)],
    ['a second candidate replaces the first', plus(500, 0, 9000, 70000, 9001, 9002)],
    ['a counter that restarts at zero', [4_000_000_000, 0, 1, 2, 0]],
    ['candidate 2^32 - 1, its successor is 0', [1_000_000, 0xffffffff, 0, 1]],
    ['exactly 2^31 away is a candidate', [7, 0x80000007, 0x80000008]],
    ['the first frame of all needs no proof', [3_000_000_000, 3_000_000_001]],
  ];
}

export function windows(): VectorFile {
  const distances: Array<[number, number]> = [
    [1, 0],
    [0, 1],
    [0, 0],
    [0, 0xffffffff],
    [0xffffffff, 0],
    [0x80000000, 0],
    [0, 0x80000000],
    [0x7fffffff, 0],
    [0x80000001, 0],
    [5, 0x80000005],
    [5, 0x80000006],
    [100, 4_294_967_290],
  ];
  return {
    about: [
      'Sequence arithmetic and the 64-entry window, each list on a fresh window.',
      'distances: [a, b, distance of a from b]; above zero means a is newer.',
      'cases: name, sequences in order of arrival, verdicts (new, duplicate, stale) one for each.',
      'restarts: the same with the candidate rule in front of the window; further verdicts: candidate',
      '(held back) and restart (window reset, holds the candidate and this one).',
    ],
    distances: distances.map(([a, b]) => [a, b, twinDistance(a, b)]),
    cases: [...windowCases(), ...[1, 2, 3, 4].map(randomWalk)].map(([name, sequences]) => {
      const window = new TwinWindow();
      return { name, sequences, verdicts: sequences.map((seq) => window.accept(seq)) };
    }),
    restarts: restartCases().map(([name, sequences]) => ({
      name,
      sequences,
      verdicts: twinRestarts(sequences),
    })),
  };
}

export function params(): VectorFile {
  const names = [
    'DESIRED_MIN_TX',
    'REQUIRED_MIN_RX',
    'DETECT_MULT',
    'POLL',
    'FINAL',
    'LOOP_LAG',
    'GOAWAY_INFO',
    'REFUSE',
  ];
  const words = names.flatMap((name, index) =>
    [0, 1, 0x123456, 0xffffff].map((value) => {
      const word = twinWord(index + 1, value);
      return { name, id: index + 1, value, word, hex: toHex(littleEndian(word, 4)) };
    }),
  );
  const groups = [
    [15000, 10000, 3],
    [0, 1, 1],
    [1000, 100, 255],
    [0xffffff, 0xffffff, 2],
  ];
  const polls = groups.map(([tx, rx, multiplier], index) => {
    const three = [twinWord(1, tx!), twinWord(2, rx!), twinWord(3, multiplier!)];
    const digest = twinDigest(three);
    const token = [0x5a, 0, 255, 1][index]!;
    const value = token * 65536 + digest;
    return { words: three, token, digest, poll: twinWord(4, value), final: twinWord(5, value) };
  });
  const goAways = [
    [0, 0],
    [1, 0],
    [2, 300],
    [3, 1],
    [6, 0xfffe],
    [7, 0xffff],
    [255, 50],
  ];
  const refusals = [
    [0x5a, 1],
    [0, 2],
    [255, 3],
    [1, 255],
  ];
  return {
    about: [
      'Parameter words: the 32 bits that stand in the timestamp field of a PARAM frame.',
      'words: name, id, value, word, hex of its four bytes on the wire.',
      'polls: words 1, 2 and 3 as sent, token, digest, and the POLL and FINAL words they give.',
      'goAways: reason, retryAfter in units of 100 ms, word. refusals: token, code, word.',
      'golden: whole frames, flags, seq, word, hex.',
    ],
    words,
    polls,
    goAways: goAways.map(([reason, retryAfter]) => ({
      reason,
      retryAfter,
      word: twinWord(7, reason! * 65536 + retryAfter!),
    })),
    refusals: refusals.map(([token, code]) => ({
      token,
      code,
      word: twinWord(8, token! * 65536 + code! * 256),
    })),
    golden: golden(),
  };
}

function golden(): unknown[] {
  const frames: Array<[string, number, number, number]> = [
    ['PING', 1, 0xfffffffe, 0x12345678],
    ['PONG to it', 4, 0xfffffffe, 0x12345678],
    ['DESIRED_MIN_TX 15000', PARAM, 1, twinWord(1, 15000)],
    ['REQUIRED_MIN_RX 10000', PARAM, 2, twinWord(2, 10000)],
    ['DETECT_MULT 3', PARAM, 3, twinWord(3, 3)],
    ['POLL token 5a digest b1c3', PARAM, 4, twinWord(4, 0x5ab1c3)],
    ['FINAL', PARAM, 77, twinWord(5, 0x5ab1c3)],
    ['GOAWAY_INFO too fast, 30.0 s', PARAM | GOAWAY, 78, twinWord(7, 2 * 65536 + 300)],
  ];
  return frames.map(([name, flags, seq, word]) => ({
    name,
    flags,
    seq,
    word,
    hex: toHex(twinFrame(flags, seq, word)),
  }));
}
