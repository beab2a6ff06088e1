/**
 * The header a load balancer may put before a connection's own bytes to tell whose connection it is: PROXY protocol
 * versions 1 (a line of text) and 2 (binary). Only read from proxies that are trusted, since anybody can write one.
 *
 * Contract: a pure function of the bytes so far; asks for more until it can decide, and never when it has 528 bytes.
 * Addresses come out in their shortest form, so that both versions write the same client alike. Source: HAProxy's
 * proxy-protocol.txt, version 2.
 */
import { isIP, SocketAddress } from 'node:net';

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
  const [, family, source = '', destination = '', ...ports] = words;
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : undefined;
  const isWellFormed = version === isIP(source) && version === isIP(destination) && ports.length === 2;
  if (!isWellFormed || !ports.every(isPort)) return bad('the PROXY line is malformed');
  return { kind: 'header', bytes: end + 2, address: version === 6 ? shortIPv6(source) : source };
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

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

function ipv6(body: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, group) => body.readUInt16BE(2 * group).toString(16));
  return shortIPv6(groups.join(':'));
}

function shortIPv6(address: string): string {
  return new SocketAddress({ address, family: 'ipv6' }).address;
}
