/**
 * What both splitter targets demand: a stream fed whole, byte by byte and in chunks drawn from the input gives the
 * same events; after each push no more than the limit is held, and it is the end of what was pushed, although every
 * chunk was overwritten as soon as `push` returned.
 */
import { joined, type SplitEvent } from '../../test/support/naive-splitter.ts';
import type { Recorder } from '../../test/support/splitter-recorder.ts';
import { holds, same } from '../law.ts';

/** Upper bounds of the chunk sizes; the low bits of the cut byte choose one. */
const CHUNK_SIZES = [4, 17, 40, 130];

/** Chunks of `stream`, empty ones among them; the same for the same `cutByte` always. */
function cut(stream: Uint8Array, cutByte: number): Uint8Array[] {
  const span = CHUNK_SIZES[cutByte % CHUNK_SIZES.length]!;
  const chunks: Uint8Array[] = [];
  let state = cutByte;
  for (let at = 0; at < stream.length; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const size = (state >>> 16) % span;
    chunks.push(stream.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function feed(
  recorder: Recorder,
  stream: Uint8Array,
  chunks: Iterable<Uint8Array>,
  heldLimit: number,
): SplitEvent[] {
  let pushed = 0;
  for (const chunk of chunks) {
    recorder.feed(chunk);
    pushed += chunk.length;
    const held = recorder.splitter.carried();
    holds(
      held.length <= heldLimit,
      `${held.length} bytes are held after ${pushed}, at most ${heldLimit} allowed`,
    );
    const due = stream.subarray(pushed - held.length, pushed);
    holds(Buffer.compare(held, due) === 0, `after ${pushed} bytes others are held than were pushed last`);
  }
  return joined(recorder.end());
}

/** Hold the law for one stream. `makeRecorder` gives a fresh one for each way of feeding. The events, for more. */
export function checkSplitting(
  stream: Uint8Array,
  cutByte: number,
  heldLimit: number,
  makeRecorder: () => Recorder,
): SplitEvent[] {
  const whole = feed(makeRecorder(), stream, [stream], heldLimit);
  const singles = Array.from(stream, (_, at) => stream.subarray(at, at + 1));
  same(feed(makeRecorder(), stream, singles, heldLimit), whole, 'byte by byte gives other events than whole');
  const chunks = cut(stream, cutByte);
  same(feed(makeRecorder(), stream, chunks, heldLimit), whole, 'in chunks gives other events than whole');
  return whole;
}
