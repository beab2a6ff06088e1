/**
 * Invariant: whatever is given to `wirebeat decode`, it is refused with one line that points into the input, or
 * covered from end to end by findings that point into it, the good ones among them exactly the good frames.
 *
 * Input: an option byte (bit 0 ignores reserved bytes, bit 1 takes the rest as `--raw` bytes, not as text), the rest.
 * Refusal is exit code 2 of the command, a bad finding 1; an exception of any other kind would be a stack trace.
 */
import { UsageError } from '../../src/cli/errors.ts';
import { describeFrame } from '../../src/cli/frame-text.ts';
import { parseHex } from '../../src/cli/hex.ts';
import { scanFrames } from '../../src/cli/scan.ts';
import { naiveDecode, naiveName } from '../../test/support/naive-codec.ts';
import { holds, same } from '../law.ts';

export const RAW = 0x02;

export function fuzz(data: Buffer): void {
  const optionByte = data[0] ?? 0;
  const rest = data.subarray(1);
  const reserved = (optionByte & 1) === 0 ? 'strict' : 'ignore';
  const bytes = (optionByte & RAW) === 0 ? checkHex(rest.toString('latin1')) : rest;
  if (bytes !== undefined) checkScan(bytes, reserved);
}

/** The bytes of the text, or undefined when it was rightly refused. */
function checkHex(text: string): Buffer | undefined {
  const due = naiveHex(text);
  let found: Buffer;
  try {
    found = parseHex(text);
  } catch (error) {
    holds(error instanceof UsageError, `a ${String(error)} in place of a UsageError`);
    holds(!error.message.includes('\n'), 'a message of more than one line');
    if (due.problem === 'half') holds(error.message.startsWith('half a byte'), `wrong: ${error.message}`);
    else same(/at character (\d+)$/.exec(error.message)?.[1], String(due.problem), error.message);
    return undefined;
  }
  same({ bytes: [...found] }, due, 'other bytes than the text says');
  return found;
}

/** Character by character: the bytes, or what is wrong: the character's number, or half a byte at the end. */
function naiveHex(text: string): { bytes: number[]; problem?: number | 'half' } {
  const digits: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const digit = '0123456789abcdef'.indexOf(text[at]!.toLowerCase());
    if (text[at] === '0' && text[at + 1]?.toLowerCase() === 'x') at++;
    else if (digit >= 0) digits.push(digit);
    else if (!/[\s:,]/.test(text[at]!)) return { bytes: [], problem: at + 1 };
  }
  if (digits.length % 2 === 1) return { bytes: [], problem: 'half' };
  return {
    bytes: Array.from({ length: digits.length / 2 }, (_, at) => digits[at * 2]! * 16 + digits[at * 2 + 1]!),
  };
}

function checkScan(bytes: Buffer, reserved: 'strict' | 'ignore'): void {
  const good: number[] = [];
  let covered = 0;
  for (const { offset, bytes: length, diagnosis } of scanFrames(bytes, reserved)) {
    same(offset, covered, 'findings leave a gap or overlap');
    holds(length > 0 && offset + length <= bytes.length, `the finding at ${offset} ends beyond the input`);
    covered += length;
    if (diagnosis.ok) {
      good.push(offset);
      const name = naiveName(diagnosis.flags, diagnosis.timestamp) ?? 'nothing legal';
      holds(describeFrame(diagnosis).text.startsWith(`${name} seq=${diagnosis.seq} `), `not a ${name}`);
    } else {
      // A frame cut short by the end is bad at the byte that is missing, the first behind the input.
      const last = bytes.length - (diagnosis.code === 'HB_ERR_LENGTH' ? 0 : 1);
      holds(offset + diagnosis.at <= last, `byte ${offset + diagnosis.at} is not in the input`);
    }
  }
  same(covered, bytes.length, 'findings do not cover the input');
  same(good, naiveScan(bytes, reserved), 'other good frames than there are');
}

/** Where good frames stand, each looked for behind the one before. */
function naiveScan(bytes: Buffer, reserved: 'strict' | 'ignore'): number[] {
  const found: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== 0x48 || !naiveDecode(bytes.subarray(at, at + 16), reserved).ok) continue;
    found.push(at);
    at += 15;
  }
  return found;
}
