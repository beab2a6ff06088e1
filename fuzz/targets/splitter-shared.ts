/**
 * Invariant: whatever the bytes of a connection shared with a host protocol and however they are cut, the splitter
 * gives the naive splitter's events, holds less than a host header may have, and keeps no chunk.
 *
 * Input: an option byte, a byte that decides the cuts, the stream. Option bit 0 ignores reserved bytes, bits 1-2
 * choose the largest host frame, bit 3 a line protocol, whose header is decided by its end mark, in place of the
 * reference one; bit 4 then a short header limit. The naive splitter knows no lines: for them only the cuts count.
 */
import { joined, naiveSplit } from '../../test/support/naive-splitter.ts';
import { Recorder } from '../../test/support/splitter-recorder.ts';
import { same } from '../law.ts';
import { checkSplitting } from './splitting.ts';

/** The default, header included, and some that streams of a few hundred bytes run into. */
export const MAX_HOST_FRAMES = [2 ** 24, 64, 20, 4];
export const LINE_PROTOCOL = 0x08;
const SHORT_HEADERS = 0x10;
const LINE_END = 10;

function lineLength(bytes: Uint8Array, start: number, end: number): number {
  const mark = bytes.subarray(start, end).indexOf(LINE_END);
  return mark < 0 ? 0 : mark + 1;
}

export function fuzz(data: Buffer): void {
  const [optionByte = 0, cutByte = 0] = data;
  const stream = data.subarray(2);
  const reserved = (optionByte & 1) === 0 ? 'strict' : 'ignore';
  const maxHostFrameBytes = MAX_HOST_FRAMES[(optionByte >> 1) % MAX_HOST_FRAMES.length]!;
  if ((optionByte & LINE_PROTOCOL) !== 0) {
    const maxHostHeaderBytes = (optionByte & SHORT_HEADERS) === 0 ? 64 : 3;
    const options = { shared: false, reserved, maxHostFrameBytes, maxHostHeaderBytes } as const;
    const heldLimit = Math.max(15, maxHostHeaderBytes - 1);
    checkSplitting(
      stream,
      cutByte,
      heldLimit,
      () => new Recorder({ ...options, hostFrameLength: lineLength }),
    );
    return;
  }
  const options = { shared: true, reserved, maxHostFrameBytes } as const;
  // The reference header is four bytes: a heartbeat cut short is the most there is to hold.
  const events = checkSplitting(stream, cutByte, 15, () => new Recorder(options));
  same(events, joined(naiveSplit(stream, options)), 'other events than the naive splitter');
}
