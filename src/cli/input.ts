/**
 * Bounded reading of a file or of standard input, so that a wrong name (/dev/zero) costs a line and not the machine.
 */
import { createReadStream } from 'node:fs';
import { messageOf, UsageError } from './errors.ts';

/** A million frames, or hexadecimal text of half a million. */
export const INPUT_LIMIT_BYTES = 2 ** 24;

/** All of `file`, or of standard input when undefined. UsageError when it cannot be read or is too large. */
export async function readInput(file: string | undefined): Promise<Buffer> {
  if (file === undefined && process.stdin.isTTY) {
    throw new UsageError('nothing to decode: give hexadecimal text, --file, or pipe something in');
  }
  const stream = file === undefined ? process.stdin : createReadStream(file);
  const name = file ?? 'standard input';
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > INPUT_LIMIT_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new UsageError(`${name} cannot be read: ${messageOf(error)}`);
  }
  if (bytes > INPUT_LIMIT_BYTES) throw new UsageError(`${name} is larger than ${INPUT_LIMIT_BYTES} bytes`);
  return Buffer.concat(chunks, bytes);
}
