/** The codec: golden frames, every flag combination, the order of the checks, misuse, and the diagnosis. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameArbitrary } from '../../src/testing/arbitraries.ts';
import { FRAME_CODES } from '../../src/wire/constants.ts';
import { diagnoseFrame } from '../../src/wire/diagnose.ts';
import { frameName, isLegalFlags } from '../../src/wire/flags.ts';
import {
  checkFrame,
  decodeFrame,
  encodeFrame,
  encodeFrameInto,
  readFlags,
  readSeq,
  readTimestamp,
} from '../../src/wire/frame.ts';
import { naiveDecode, naiveEncode, naiveName } from '../support/naive-codec.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const GOLDEN: [name: string, flags: number, seq: number, timestamp: number, bytes: string][] = [
  ['PING', 0x01, 0xfffffffe, 0x12345678, '48 42 01 01 fe ff ff ff 78 56 34 12 16 8a 00 00'],
  ['PONG', 0x04, 0xfffffffe, 0x12345678, '48 42 01 04 fe ff ff ff 78 56 34 12 da fd 00 00'],
  ['PARAM', 0x40, 1, 0x01003a98, '48 42 01 40 01 00 00 00 98 3a 00 01 21 80 00 00'],
  ['PARAM', 0x40, 2, 0x02002710, '48 42 01 40 02 00 00 00 10 27 00 02 fe 21 00 00'],
  ['PARAM', 0x40, 3, 0x03000003, '48 42 01 40 03 00 00 00 03 00 00 03 21 f5 00 00'],
  ['PARAM', 0x40, 4, 0x045ab1c3, '48 42 01 40 04 00 00 00 c3 b1 5a 04 c1 d9 00 00'],
  ['PARAM', 0x40, 77, 0x055ab1c3, '48 42 01 40 4d 00 00 00 c3 b1 5a 05 39 66 00 00'],
  ['PARAM', 0x60, 78, 0x0702012c, '48 42 01 60 4e 00 00 00 2c 01 02 07 1f 00 00 00'],
];

describe('golden frames', () => {
  it.each(GOLDEN)(
    '%s %i seq %i: encodes to and decodes from the same bytes',
    (name, flags, seq, timestamp, bytes) => {
      expect(encodeFrame({ flags, seq, timestamp }).toString('hex')).toBe(bytes.replaceAll(' ', ''));
      expect(decodeFrame(hex(bytes))).toEqual({ ok: true, flags, seq, timestamp });
      expect(diagnoseFrame(hex(bytes))).toEqual({ ok: true, name, flags, seq, timestamp });
    },
  );
});

describe('decoding', () => {
  it('every flags byte 0..255: legal exactly where the specification has a row, bit 7 masked off', () => {
    for (let flags = 0; flags < 256; flags++) {
      for (const word of [0x00000001, 0x07000000]) {
        const bytes = Uint8Array.from(naiveEncode({ flags, seq: 5, timestamp: word }));
        const name = naiveName(flags % 128, word);
        const want =
          name === undefined
            ? { ok: false, code: 'HB_ERR_FLAGS' }
            : { ok: true, flags: flags % 128, seq: 5, timestamp: word };
        expect(decodeFrame(bytes), `flags ${flags} word ${word}`).toEqual(want);
        if (name !== undefined) expect(frameName(flags)).toBe(name);
      }
      const isLegal = [0, 0x07000000].some((word) => naiveName(flags % 128, word) !== undefined);
      expect(isLegalFlags(flags)).toBe(isLegal);
      if (!isLegal) expect(frameName(flags)).toBe('INVALID');
    }
  });

  it('a PARAM carries GOAWAY exactly when its id is 7; unassigned and private ids are legal', () => {
    for (let id = 0; id < 256; id++) {
      const word = id * 2 ** 24 + 42;
      const withGoAway = Uint8Array.from(naiveEncode({ flags: 0x60, seq: 1, timestamp: word }));
      const without = Uint8Array.from(naiveEncode({ flags: 0x40, seq: 1, timestamp: word }));
      expect(FRAME_CODES[checkFrame(withGoAway, 0) - 1]).toBe(id === 7 ? undefined : 'HB_ERR_FLAGS');
      expect(FRAME_CODES[checkFrame(without, 0) - 1]).toBe(id === 7 ? 'HB_ERR_FLAGS' : undefined);
    }
  });

  it('a doubly broken frame gives the earlier code of length, magic, crc, version, reserved, flags', () => {
    const breakers: [code: string, change: (bytes: number[]) => number[]][] = [
      ['HB_ERR_FLAGS', (b) => recrc(with_(b, 3, 0x05))],
      ['HB_ERR_RESERVED', (b) => with_(b, 14, 1)],
      ['HB_ERR_VERSION', (b) => recrc(with_(b, 2, 2))],
      ['HB_ERR_CRC', (b) => with_(b, 12, b[12]! ^ 0x10)],
      ['HB_ERR_MAGIC', (b) => with_(b, 1, 0x43)],
      ['HB_ERR_LENGTH', (b) => b.slice(0, 15)],
    ];
    const good = naiveEncode({ flags: 1, seq: 9, timestamp: 10 });
    for (let late = 0; late < breakers.length; late++) {
      for (let early = late; early < breakers.length; early++) {
        const once = breakers[late]![1](good);
        const twice = early === late ? once : breakers[early]![1](once);
        const code = breakers[early]![0];
        expect(decodeFrame(Uint8Array.from(twice)), `${breakers[late]![0]} + ${code}`).toEqual({
          ok: false,
          code,
        });
      }
    }
  });

  it('either reserved byte closes in strict mode and passes with ignore', () => {
    const good = naiveEncode({ flags: 0, seq: 0, timestamp: 0 });
    for (const at of [14, 15]) {
      const bytes = Uint8Array.from(with_(good, at, 0x80));
      expect(decodeFrame(bytes)).toEqual({ ok: false, code: 'HB_ERR_RESERVED' });
      expect(decodeFrame(bytes, 0, { reserved: 'strict' })).toEqual({ ok: false, code: 'HB_ERR_RESERVED' });
      expect(decodeFrame(bytes, 0, { reserved: 'ignore' })).toEqual({
        ok: true,
        flags: 0,
        seq: 0,
        timestamp: 0,
      });
      expect(checkFrame(bytes, 0, true)).toBe(0);
    }
  });

  it('a single flipped bit anywhere is never a good frame with other fields', () => {
    const good = naiveEncode({ flags: 1, seq: 0x01020304, timestamp: 0x05060708 });
    for (let bit = 0; bit < 128; bit++) {
      const bytes = Uint8Array.from(with_(good, bit >> 3, good[bit >> 3]! ^ (1 << (bit & 7))));
      expect(decodeFrame(bytes).ok).toBe(false);
    }
  });

  it("F47: sixteen bytes of anything get the naive twin's answer and never throw", () => {
    const prefix = fc.constantFrom([], [0x48], [0x48, 0x42], [0x48, 0x42, 1], [0x48, 0x42, 2]);
    const anything = fc
      .tuple(prefix, fc.uint8Array({ maxLength: 24 }), fc.boolean())
      .map(([head, tail, mend]) => {
        const bytes = Uint8Array.of(...head, ...tail);
        return mend && bytes.length >= 14 ? Uint8Array.from(recrc(Array.from(bytes))) : bytes;
      });
    fc.assert(
      fc.property(anything, fc.constantFrom<'strict' | 'ignore'>('strict', 'ignore'), (bytes, reserved) => {
        const want = naiveDecode(bytes, reserved);
        expect(decodeFrame(bytes, 0, { reserved })).toEqual(want);
        const code = want.ok ? 0 : 1 + (FRAME_CODES as readonly string[]).indexOf(want.code);
        expect(checkFrame(bytes, 0, reserved === 'ignore')).toBe(code);
        const diagnosis = diagnoseFrame(bytes, 0, { reserved });
        expect(diagnosis.ok ? undefined : diagnosis.code).toBe(want.ok ? undefined : want.code);
      }),
      { numRuns: 400 },
    );
  });

  it("an offset outside the bytes is HB_ERR_LENGTH, a wrong type is the caller's mistake", () => {
    const bytes = Buffer.alloc(20);
    expect(decodeFrame(bytes, 5)).toEqual({ ok: false, code: 'HB_ERR_LENGTH' });
    expect(decodeFrame(bytes, 2 ** 40)).toEqual({ ok: false, code: 'HB_ERR_LENGTH' });
    expect(checkFrame(bytes, -1)).toBe(1);
    expect(checkFrame(bytes, Number.NaN)).toBe(1);
    for (const decode of [decodeFrame, diagnoseFrame]) {
      expect(() => decode('48' as unknown as Uint8Array)).toThrow(/^bytes must be a Uint8Array, got "48"$/);
      expect(() => decode(bytes, 0.5)).toThrow(new TypeError('offset must be an integer, got 0.5'));
      expect(() => decode(bytes, -1)).toThrow(new RangeError('offset must be not negative, got -1'));
      expect(() => decode(bytes, 0, { reserved: 'lax' as 'strict' })).toThrow(
        /^reserved must be .* got "lax"$/,
      );
    }
  });
});

describe('encoding', () => {
  it('equals the naive twin and reads back, at any offset, touching nothing else', () => {
    fc.assert(
      fc.property(frameArbitrary(), fc.nat(9), (frame, offset) => {
        const target = new Uint8Array(offset + 16 + 3).fill(0xee);
        encodeFrameInto(target, offset, frame.flags, frame.seq, frame.timestamp);
        const padding = (count: number): number[] => new Array(count).fill(0xee);
        expect(Array.from(target)).toEqual([...padding(offset), ...naiveEncode(frame), ...padding(3)]);
        expect(checkFrame(target, offset)).toBe(0);
        expect(readFlags(target, offset)).toBe(frame.flags);
        expect(readSeq(target, offset)).toBe(frame.seq);
        expect(readTimestamp(target, offset)).toBe(frame.timestamp);
        expect(decodeFrame(target, offset)).toEqual({ ok: true, ...frame });
      }),
    );
  });

  it('accepts the ends of every range', () => {
    expect(encodeFrame({ flags: 0, seq: 0, timestamp: 0 }).toString('hex')).toMatch(/^48420100(00){8}/);
    expect(encodeFrame({ flags: 0, seq: 0xffffffff, timestamp: 0xffffffff }).toString('hex')).toMatch(
      /^48420100f{16}/,
    );
    const target = new Uint8Array(17);
    encodeFrameInto(target, 1, 0, 0, 0);
    expect(target[1]).toBe(0x48);
  });

  it.each<[string, unknown[], ErrorConstructor, RegExp]>([
    ['a target of another type', [[], 0, 0, 0, 0], TypeError, /^target must be a Uint8Array/],
    ['a target too small', [new Uint8Array(15), 0, 0, 0, 0], RangeError, /^target must be at least 16 bytes/],
    [
      'an offset past the last place',
      [new Uint8Array(16), 1, 0, 0, 0],
      RangeError,
      /^offset .* 0\.\.0, got 1$/,
    ],
    ['a negative offset', [new Uint8Array(16), -1, 0, 0, 0], RangeError, /^offset/],
    ['a fraction as offset', [new Uint8Array(20), 0.5, 0, 0, 0], RangeError, /^offset/],
    [
      'bit 7',
      [new Uint8Array(16), 0, 0x80, 0, 0],
      RangeError,
      /^flags must be an integer in 0\.\.127, got 128$/,
    ],
    [
      'flags that make no frame',
      [new Uint8Array(16), 0, 5, 0, 0],
      RangeError,
      /^flags must be a legal .*"0x05"$/,
    ],
    [
      'flags of another type',
      [new Uint8Array(16), 0, '1', 0, 0],
      TypeError,
      /^flags must be a number, got "1"$/,
    ],
    ['a seq above u32', [new Uint8Array(16), 0, 0, 2 ** 32, 0], RangeError, /^seq .* got 4294967296$/],
    ['a negative seq', [new Uint8Array(16), 0, 0, -1, 0], RangeError, /^seq/],
    ['a timestamp above u32', [new Uint8Array(16), 0, 0, 0, 2 ** 32], RangeError, /^timestamp/],
    ['a fraction as timestamp', [new Uint8Array(16), 0, 0, 0, 1.5], RangeError, /^timestamp .* got 1\.5$/],
    ['NaN', [new Uint8Array(16), 0, 0, Number.NaN, 0], RangeError, /^seq .* got NaN$/],
    ['a missing field', [new Uint8Array(16), 0, 0, 0, undefined], TypeError, /^timestamp must be a number/],
    ['GOAWAY with id 6', [new Uint8Array(16), 0, 0x60, 0, 0x06000000], RangeError, /^timestamp .*"id 6"$/],
    ['id 7 without GOAWAY', [new Uint8Array(16), 0, 0x40, 0, 0x07000000], RangeError, /^timestamp .*"id 7"$/],
  ])('refuses %s and leaves the target alone', (_, args, type, message) => {
    const encode = (): void => encodeFrameInto(...(args as Parameters<typeof encodeFrameInto>));
    expect(encode).toThrow(type);
    expect(encode).toThrow(message);
    expect(Array.from(args[0] as Uint8Array).every((byte) => byte === 0)).toBe(true);
  });

  it('encodeFrame refuses what is no object', () => {
    expect(() => encodeFrame(undefined as never)).toThrow(
      new TypeError('frame must be an object, got undefined'),
    );
  });
});

describe('diagnoseFrame', () => {
  const good = naiveEncode({ flags: 1, seq: 10, timestamp: 0 });
  it.each([
    ['too short', good.slice(0, 15), 'HB_ERR_LENGTH', 15, '16 bytes', '15 bytes'],
    ['magic, first byte', with_(good, 0, 0x00), 'HB_ERR_MAGIC', 0, '0x48', '0x00'],
    ['magic, second byte', with_(good, 1, 0x48), 'HB_ERR_MAGIC', 1, '0x42', '0x48'],
    ['version', recrc(with_(good, 2, 2)), 'HB_ERR_VERSION', 2, '1', '2'],
    ['reserved, first byte', with_(good, 14, 7), 'HB_ERR_RESERVED', 14, '0x00', '0x07'],
    ['reserved, second byte', with_(good, 15, 255), 'HB_ERR_RESERVED', 15, '0x00', '0xff'],
    ['flags', recrc(with_(good, 3, 5)), 'HB_ERR_FLAGS', 3, 'a legal combination', '0x05'],
    ['GOAWAY with id 1', recrc(with_(with_(good, 3, 0x60), 11, 1)), 'HB_ERR_FLAGS', 11, 'id 7', 'id 1'],
    [
      'id 7, no GOAWAY',
      recrc(with_(with_(good, 3, 0x40), 11, 7)),
      'HB_ERR_FLAGS',
      11,
      'another id than 7',
      'id 7',
    ],
  ])('%s: code, byte, expected, found', (_, bytes, code, at, expected, found) => {
    const diagnosis = diagnoseFrame(Uint8Array.of(9, 9, ...bytes), 2);
    expect(diagnosis).toMatchObject({ ok: false, code, at, expected, found });
  });

  it('a wrong CRC shows the computed and the stored one', () => {
    expect(diagnoseFrame(hex('48420101000000000a00000000000000'))).toEqual({
      ok: false,
      code: 'HB_ERR_CRC',
      at: 12,
      expected: '0x4aba',
      found: '0x0000',
      text: 'damaged, or not a heartbeat: expected 0x4aba, found 0x0000',
    });
  });
});

function with_(bytes: number[], at: number, value: number): number[] {
  return bytes.map((byte, index) => (index === at ? value : byte));
}

/** The same bytes with the CRC put right, by the naive twin. */
function recrc(bytes: number[]): number[] {
  const [version, flags] = [bytes[2]!, bytes[3]!];
  const number = (at: number): number => Buffer.from(bytes).readUInt32LE(at);
  const mended = naiveEncode({ version, flags, seq: number(4), timestamp: number(8) });
  return [
    ...bytes.slice(0, 12),
    ...(bytes[0] === 0x48 && bytes[1] === 0x42 ? mended.slice(12, 14) : [0, 0]),
    ...bytes.slice(14),
  ];
}
