/** The reference host protocol, byte by byte. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  lengthPrefixedFrame,
  lengthPrefixedFrameLength,
  PAYLOAD_LIMIT_BYTES,
} from '../../src/server/length-prefix.ts';

const length = (hex: string): number => {
  const bytes = Buffer.from(hex, 'hex');
  return lengthPrefixedFrameLength(bytes, 0, bytes.length);
};

test('four bytes big-endian, of the payload alone', () => {
  expect(lengthPrefixedFrame(Buffer.alloc(0)).toString('hex')).toBe('00000000');
  expect(lengthPrefixedFrame(Buffer.from('abc')).toString('hex')).toBe('00000003616263');
  expect(length('00000000')).toBe(4);
  expect(length('0001000061')).toBe(65_540);
  expect(length('00ffffff')).toBe(2 ** 24 + 3);
});

test('undecided until the fourth byte, lost when the first is not zero', () => {
  for (const hex of ['', '00', '0000', '000000']) expect(length(hex)).toBe(0);
  for (const hex of ['01', '48420101', 'ff000000']) expect(length(hex)).toBe(-1);
});

test('reads where it is told to', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 9 }), (payload, before) => {
      const frame = lengthPrefixedFrame(payload);
      const bytes = Buffer.concat([before, frame]);
      expect(lengthPrefixedFrameLength(bytes, before.length, bytes.length)).toBe(frame.length);
      expect(Buffer.from(payload).equals(frame.subarray(4))).toBe(true);
    }),
  );
});

test('a payload of 2^24 - 1 bytes is the largest', () => {
  expect(lengthPrefixedFrame(Buffer.alloc(PAYLOAD_LIMIT_BYTES - 1))[0]).toBe(0);
  expect(() => lengthPrefixedFrame(Buffer.alloc(PAYLOAD_LIMIT_BYTES))).toThrow(
    /^payload\.length .*16777216$/,
  );
  expect(() => lengthPrefixedFrame('abc' as never)).toThrow(/^payload must be .*"abc"$/);
});
