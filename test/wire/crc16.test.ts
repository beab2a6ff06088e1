/** The checksum: check value, ranges, and the per-position tables against the bitwise twin. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc16, frameCrc, frameCrcAt } from '../../src/wire/crc16.ts';
import { naiveCrc } from '../support/naive-codec.ts';

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('crc16', () => {
  it('gives the check value 29b1 over "123456789", ffff over nothing', () => {
    expect(crc16(ascii('123456789'))).toBe(0x29b1);
    expect(crc16(new Uint8Array(0))).toBe(0xffff);
    expect(crc16(ascii('A'))).toBe(0xb915);
  });

  it('covers start (inclusive) to end (exclusive)', () => {
    expect(crc16(ascii('xx123456789'), 2)).toBe(0x29b1);
    expect(crc16(ascii('xx123456789yy'), 2, 11)).toBe(0x29b1);
    expect(crc16(ascii('123'), 3)).toBe(0xffff);
  });

  it('equals the bitwise twin on any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => crc16(bytes) === naiveCrc(bytes)));
  });

  it('the per-position tables equal the walk over twelve bytes, for every value of every byte', () => {
    for (let at = 3; at < 12; at++) {
      for (let value = 0; value < 256; value++) {
        const bytes = Uint8Array.of(0x48, 0x42, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1);
        bytes[at] = value;
        const view = new DataView(bytes.buffer);
        const want = naiveCrc(bytes);
        expect(frameCrcAt(bytes, 0)).toBe(want);
        expect(frameCrc(bytes[3]!, view.getUint32(4, true), view.getUint32(8, true))).toBe(want);
      }
    }
  });

  it('refuses what is not bytes, and ranges outside them, by name and value', () => {
    expect(() => crc16([1, 2] as unknown as Uint8Array)).toThrow(
      new TypeError('bytes must be a Uint8Array, got an array'),
    );
    expect(() => crc16(ascii('123'), 0, 4)).toThrow(/^end must be an integer in 0\.\.3, got 4$/);
    expect(() => crc16(ascii('123'), 2, 1)).toThrow(/^start must be an integer in 0\.\.1, got 2$/);
    expect(() => crc16(ascii('123'), -1)).toThrow(RangeError);
    expect(() => crc16(ascii('123'), 0.5)).toThrow(RangeError);
  });
});
