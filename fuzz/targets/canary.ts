/**
 * Invariant: behind the first sixteen bytes of a stream comes nothing, or the start of another frame. It is untrue on
 * purpose: damage breaks it at once. A fuzzer that finds nothing here would find nothing anywhere.
 */
import { FRAME_BYTES, MAGIC_0 } from '../../src/wire/constants.ts';
import { holds } from '../law.ts';

export function fuzz(data: Buffer): void {
  if (data.length > FRAME_BYTES) holds(data[FRAME_BYTES] === MAGIC_0, 'the canary is dead, as it should be');
}
