/**
 * Invariant: whatever the bytes of a heartbeat-only stream and however they are cut, the splitter gives the naive
 * splitter's events, holds at most fifteen bytes and keeps no chunk.
 *
 * Input: an option byte (bit 0 ignores reserved bytes, bits 1-3 choose the resync budget), a byte that decides the
 * cuts, the stream.
 */
import { joined, naiveSplit } from '../../test/support/naive-splitter.ts';
import { Recorder } from '../../test/support/splitter-recorder.ts';
import { same } from '../law.ts';
import { checkSplitting } from './splitting.ts';

/** The default, and some at the edges: of one skipped byte, of one frame, of a strike or two. */
export const RESYNC_BUDGETS = [1024, 0, 1, 15, 16, 20, 32, 48];
const MAX_HELD_BYTES = 15;

export function fuzz(data: Buffer): void {
  const [optionByte = 0, cutByte = 0] = data;
  const stream = data.subarray(2);
  const reserved = (optionByte & 1) === 0 ? 'strict' : 'ignore';
  const resyncBudgetBytes = RESYNC_BUDGETS[(optionByte >> 1) % RESYNC_BUDGETS.length]!;
  const options = { shared: false, reserved, resyncBudgetBytes } as const;
  const events = checkSplitting(stream, cutByte, MAX_HELD_BYTES, () => new Recorder(options));
  same(events, joined(naiveSplit(stream, options)), 'other events than the naive splitter');
}
