/**
 * What a splitter must deliver, told on the whole stream at once: no chunks, no carry, no state but a position. It
 * uses the naive codec and the reference host protocol (four bytes of big-endian payload length).
 */
import { naiveDecode } from './naive-codec.ts';

export type SplitEvent =
  | { frame: [flags: number, seq: number, timestamp: number] }
  | { host: string }
  | { skipped: number; code: string }
  | { error: string; offset: number };

export interface NaiveSplitterOptions {
  shared: boolean;
  reserved?: 'strict' | 'ignore';
  resyncBudgetBytes?: number;
  maxHostFrameBytes?: number;
}

/** Events of `stream`, followed by those of its end. A host frame cut off by the end yields the bytes that came. */
export function naiveSplit(stream: Uint8Array, options: NaiveSplitterOptions): SplitEvent[] {
  const events: SplitEvent[] = [];
  const budget = options.resyncBudgetBytes ?? 1024;
  let spent = 0;
  let at = 0;
  const fail = (error: string, offset = at): SplitEvent[] => [...events, { error, offset }];
  const skip = (bytes: number, code: string): boolean => {
    if (spent + bytes > budget) return false;
    spent += bytes;
    at += bytes;
    events.push({ skipped: bytes, code });
    return true;
  };
  while (at < stream.length) {
    const rest = stream.slice(at);
    const mayBeBeat = rest[0] === 0x48 && (rest.length === 1 || rest[1] === 0x42);
    if (!mayBeBeat && options.shared) {
      if (rest.length < 4) return fail('HB_ERR_TRUNCATED', stream.length);
      const length = 4 + Buffer.from(rest).readUInt32BE(0);
      if (rest[0] !== 0) return fail('HB_ERR_DESYNC');
      if (length > (options.maxHostFrameBytes ?? 2 ** 24)) return fail('HB_ERR_HOST_TOO_LARGE');
      events.push({ host: Buffer.from(rest.slice(0, length)).toString('hex') });
      if (length > rest.length) return fail('HB_ERR_TRUNCATED', stream.length);
      at += length;
    } else if (!mayBeBeat) {
      if (!skip(1, 'HB_ERR_MAGIC')) return fail('HB_ERR_RESYNC');
    } else if (rest.length < 16) {
      return fail('HB_ERR_TRUNCATED', stream.length);
    } else {
      const result = naiveDecode(rest, options.reserved);
      if (result.ok) {
        events.push({ frame: [result.flags, result.seq, result.timestamp] });
        spent = Math.max(0, spent - 16);
        at += 16;
      } else if (result.code === 'HB_ERR_VERSION' || result.code === 'HB_ERR_RESERVED') {
        return fail(result.code);
      } else if (options.shared) {
        return fail('HB_ERR_DESYNC');
      } else if (!skip(result.code === 'HB_ERR_FLAGS' ? 16 : 1, result.code)) {
        return fail('HB_ERR_RESYNC');
      }
    }
  }
  return events;
}

/** Join what may legally arrive in pieces: skipped bytes of one code, so that only what matters is compared. */
export function joined(events: SplitEvent[]): SplitEvent[] {
  const result: SplitEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (last !== undefined && 'skipped' in event && 'skipped' in last && event.code === last.code) {
      result[result.length - 1] = { skipped: last.skipped + event.skipped, code: event.code };
    } else result.push(event);
  }
  return result;
}
