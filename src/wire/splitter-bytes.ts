/** The byte work of FrameSplitter that needs no state: joining held bytes with a chunk, and finding the next start. */
import { MAGIC_0 } from './constants.ts';

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
