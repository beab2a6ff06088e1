/**
 * Every frame in a piece of recorded bytes, good or bad, with its place. Unlike a link's splitter, which must decide
 * what is alive, this explains: nothing is passed over in silence, and no budget ends it.
 *
 * Behind damage it goes on at the first good frame that begins inside the damaged sixteen bytes, else behind them;
 * bytes that are no heartbeat at all are one finding up to the next 48 42. Lazy, so a million frames cost no list.
 */
import { FRAME_BYTES, MAGIC_0, MAGIC_1 } from '../wire/constants.ts';
import { diagnoseFrame, type FrameDiagnosis } from '../wire/diagnose.ts';
import { checkFrame } from '../wire/frame.ts';

export interface Finding {
  /** Where it begins. */
  readonly offset: number;
  /** How many bytes it covers; findings cover everything, without overlap. */
  readonly bytes: number;
  readonly diagnosis: FrameDiagnosis;
}

export function* scanFrames(bytes: Uint8Array, reserved: 'strict' | 'ignore'): Generator<Finding> {
  let offset = 0;
  while (offset < bytes.length) {
    const diagnosis = diagnoseFrame(bytes, offset, { reserved });
    const next = diagnosis.ok
      ? offset + FRAME_BYTES
      : behind(diagnosis.code, bytes, offset, reserved === 'ignore');
    yield { offset, bytes: next - offset, diagnosis };
    offset = next;
  }
}

function behind(code: string, bytes: Uint8Array, offset: number, ignoreReserved: boolean): number {
  if (code === 'HB_ERR_LENGTH') return bytes.length;
  if (code === 'HB_ERR_MAGIC') {
    for (let at = offset + 1; at < bytes.length - 1; at++) {
      if (bytes[at] === MAGIC_0 && bytes[at + 1] === MAGIC_1) return at;
    }
    return bytes.length;
  }
  for (let at = offset + 1; at < offset + FRAME_BYTES; at++) {
    if (checkFrame(bytes, at, ignoreReserved) === 0) return at;
  }
  return offset + FRAME_BYTES;
}
