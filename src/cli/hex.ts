/** Hexadecimal text to bytes, forgiving about how it was copied (spaces, colons, commas, 0x), strict about the rest. */
import { UsageError } from './errors.ts';

/** UsageError that says which character is wrong, or that a digit is missing. */
export function parseHex(text: string): Buffer {
  const digits = text.replace(/0x/gi, '  ');
  const strange = /[^\da-f\s:,]/i.exec(digits);
  if (strange !== null) {
    const shown = JSON.stringify(String.fromCodePoint(text.codePointAt(strange.index) as number));
    throw new UsageError(`not hexadecimal: ${shown} at character ${strange.index + 1}`);
  }
  const packed = digits.replace(/[\s:,]+/g, '');
  if (packed.length % 2 !== 0) {
    throw new UsageError(`half a byte: ${packed.length} hexadecimal digits, an even number is needed`);
  }
  return Buffer.from(packed, 'hex');
}
