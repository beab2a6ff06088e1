/** Host protocols for the tests: the reference length prefix, and a protocol of lines. */
import type { HostProtocol, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrameLength } from '../../src/server/length-prefix.ts';

/** A host that keeps copies of what it gets; `more` overrides and adds. */
export function recordingHost(more: Partial<HostProtocol> = {}): { host: HostProtocol; got: Buffer[] } {
  const got: Buffer[] = [];
  const host: HostProtocol = {
    frameLength: lengthPrefixedFrameLength,
    onFrame: (_link: Link, bytes: Uint8Array) => got.push(Buffer.from(bytes)),
    ...more,
  };
  return { host, got };
}

const NEWLINE = 0x0a;

/** Lines of at most 60 bytes, the line feed included. */
export function lineLength(bytes: Uint8Array, start: number, end: number): number {
  const feed = bytes.subarray(start, Math.min(end, start + 60)).indexOf(NEWLINE);
  if (feed >= 0) return feed + 1;
  return end - start >= 60 ? -1 : 0;
}
