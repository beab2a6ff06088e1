/**
 * The work of FrameSplitter that needs no state: joining held bytes with a chunk, finding the next start, and judging
 * what a host says of its frames.
 */
import { MAGIC_0 } from './constants.ts';
import type { SplitterCode } from './splitter-options.ts';

export const NO_BYTES = new Uint8Array(0);

/** A copy of `held` followed by the first `count` bytes of `chunk`. */
export function joinBytes(held: Uint8Array, chunk: Uint8Array, count: number): Uint8Array {
  const joined = new Uint8Array(held.length + count);
  joined.set(held);
  joined.set(chunk.subarray(0, count), held.length);
  return joined;
}

/** A copy of what remains of `held` followed by `chunk`, from position `cursor` of the two on. */
export function restBytes(held: Uint8Array, chunk: Uint8Array, cursor: number): Uint8Array {
  const chunkRest = chunk.subarray(Math.max(0, cursor - held.length));
  return joinBytes(held.subarray(cursor), chunkRest, chunkRest.length);
}

/** How many bytes from `at` on cannot begin a frame, given that the first cannot: up to the next 48, or to `end`. */
export function strayRun(bytes: Uint8Array, at: number, end: number): number {
  let next = at + 1;
  while (next < end && bytes[next] !== MAGIC_0) next++;
  return next - at;
}

/** What is wrong with a host frame of `length` bytes, said after `offeredBytes` of its header; undefined: nothing. */
export function refuseHostLength(
  length: number,
  offeredBytes: number,
  maxBytes: number,
): { readonly code: SplitterCode; readonly reason: string } | undefined {
  const code = 'HB_ERR_DESYNC';
  if (length === 0) return { code, reason: `a host header undecided after ${offeredBytes} bytes` };
  if (length > maxBytes) {
    return {
      code: 'HB_ERR_HOST_TOO_LARGE',
      reason: `a host frame of ${length} bytes, at most ${maxBytes} allowed`,
    };
  }
  if (Number.isInteger(length) && length > 0) return undefined;
  return { code, reason: length === -1 ? 'the host lost its framing' : `hostFrameLength gave ${length}` };
}
