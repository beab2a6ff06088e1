/**
 * The header a load balancer may put before a connection's own bytes to tell whose connection it is: PROXY protocol
 * versions 1 (a line of text) and 2 (binary). Only read from proxies that are trusted, since anybody can write one.
 *
 * Contract: a pure function of the bytes so far; asks for more until it can decide, and never for more than 232 bytes
 * beyond what version 1 needs. Source: HAProxy's proxy-protocol.txt, version 2.
 */

/** What the bytes so far say. `address` undefined: the proxy speaks for itself (LOCAL, UNKNOWN). */
export type ProxyHeader =
  | { readonly kind: 'more' }
  | { readonly kind: 'bad'; readonly reason: string }
  | { readonly kind: 'header'; readonly bytes: number; readonly address: string | undefined };

const V1_START = Buffer.from('PROXY ');
const V2_START = Buffer.from('\r\n\r\n\0\r\nQUIT\n');
/** Longest line of version 1, CR LF included. */
const V1_MAX_BYTES = 107;
const V2_FIXED_BYTES = 16;
/** Addresses take at most 216 bytes; some room for extensions, which are skipped. */
const V2_MAX_BODY_BYTES = 512;
/** No header is longer: a reader may stop collecting here. */
export const MAX_PROXY_HEADER_BYTES = V2_FIXED_BYTES + V2_MAX_BODY_BYTES;

const bad = (reason: string): ProxyHeader => ({ kind: 'bad', reason });

export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsLike(bytes, V2_START)) return bytes.length < V2_FIXED_BYTES ? { kind: 'more' } : parseV2(bytes);
  if (startsLike(bytes, V1_START)) return parseV1(bytes);
  return bad('no PROXY header');
}

/** Do the bytes agree with `start`, as far as both go? */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

function parseV1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n');
  if (end < 0) return bytes.length >= V1_MAX_BYTES ? bad('the PROXY line does not end') : { kind: 'more' };
  const words = bytes.toString('latin1', 0, end).split(' ');
  if (words[1] === 'UNKNOWN') return { kind: 'header', bytes: end + 2, address: undefined };
  const isKnown = words.length === 6 && (words[1] === 'TCP4' || words[1] === 'TCP6');
  const address = words[2] ?? '';
  if (!isKnown || !/^[0-9a-fA-F:.]{2,45}$/.test(address)) return bad('the PROXY line is malformed');
  return { kind: 'header', bytes: end + 2, address };
}

function parseV2(bytes: Buffer): ProxyHeader {
  const command = bytes.readUInt8(12);
  const family = bytes.readUInt8(13) >>> 4;
  const bodyBytes = bytes.readUInt16BE(14);
  if (command !== 0x20 && command !== 0x21) return bad(`PROXY version or command 0x${command.toString(16)}`);
  if (bodyBytes > V2_MAX_BODY_BYTES) return bad(`a PROXY header of ${bodyBytes} bytes`);
  const total = V2_FIXED_BYTES + bodyBytes;
  if (bytes.length < total) return { kind: 'more' };
  const body = bytes.subarray(V2_FIXED_BYTES, total);
  if (command === 0x20) return { kind: 'header', bytes: total, address: undefined };
  if (family === 1 && bodyBytes >= 12) {
    return { kind: 'header', bytes: total, address: [...body.subarray(0, 4)].join('.') };
  }
  if (family === 2 && bodyBytes >= 36) return { kind: 'header', bytes: total, address: ipv6(body) };
  return family === 0 || family === 3
    ? { kind: 'header', bytes: total, address: undefined }
    : bad('the PROXY addresses are cut short');
}

/** All eight groups written out: only compared, never shown. */
function ipv6(body: Buffer): string {
  return Array.from({ length: 8 }, (_, group) => body.readUInt16BE(2 * group).toString(16)).join(':');
}
