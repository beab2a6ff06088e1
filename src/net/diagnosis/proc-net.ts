/**
 * /proc/net/tcp and /proc/net/tcp6: one line of text per connection of this network namespace, for want of TCP_INFO.
 * Pure: text in, figures out, never throwing. A connection is found by the addresses and ports of both ends, as the
 * kernel writes them: each 32-bit word of an address in hexadecimal, in the machine's byte order.
 *
 * Source: Documentation/networking/proc_net_tcp.rst, and get_tcp4_sock in net/ipv4/tcp_ipv4.c.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import { type KernelFigures, stateName } from './evidence.ts';

export type ProcTable = 'tcp' | 'tcp6';

/** Both ends of a connection. */
export interface Ends {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** Where to look for a connection, and the text that stands there for it: `0100007F:8513 0100007F:97B2`. */
export interface ProcPlace {
  readonly table: ProcTable;
  readonly key: string;
}

/** The kernel's zero-window probe timer. 1 = retransmission, 2 = keepalive. */
const TIMER_ZERO_WINDOW = 4;
/** Fewer bytes than this fill no receive buffer. They may wait behind others that did, but nothing here tells. */
const LEAST_WINDOW_BYTES = 1_024;
const LITTLE = endianness() === 'LE';
const KEY_LENGTH: Readonly<Record<ProcTable, number>> = { tcp: 27, tcp6: 75 };
/** State, tx_queue:rx_queue, timer:when, retransmits, (uid), probes. */
const FIELDS = /^ ([\dA-F]{2}) ([\dA-F]{8}):[\dA-F]{8} ([\dA-F]{2}):[\dA-F]+ ([\dA-F]+) +\d+ +(\d+) /;

/** Undefined: not a TCP connection, or not connected. IPv4 peers of an IPv6 listener stand in tcp6, mapped. */
export function procPlace(ends: Ends, little = LITTLE): ProcPlace | undefined {
  const local = addressBytes(ends.localAddress);
  const remote = addressBytes(ends.remoteAddress);
  if (local === undefined || remote?.length !== local.length) return undefined;
  if (ends.localPort === undefined || ends.remotePort === undefined) return undefined;
  const end = (address: readonly number[], port: number): string =>
    `${hexWords(address, little)}:${hex(port, 4)}`;
  return {
    table: local.length === 4 ? 'tcp' : 'tcp6',
    key: `${end(local, ends.localPort)} ${end(remote, ends.remotePort)}`,
  };
}

/** The key of a line; '' for what is none. */
export function keyOfLine(line: string, table: ProcTable): string {
  const at = line.indexOf(': ') + 2;
  return at < 2 ? '' : line.slice(at, at + KEY_LENGTH[table]);
}

/** What a line says after its key; undefined for what is no such line. */
export function parseProcLine(line: string, table: ProcTable): KernelFigures | undefined {
  const fields = FIELDS.exec(line.slice(line.indexOf(': ') + 2 + KEY_LENGTH[table]));
  if (fields === null) return undefined;
  const field = (at: number, radix: number): number => Number.parseInt(fields[at] as string, radix);
  const unackedBytes = field(2, 16);
  const probes = field(5, 10);
  // The same timer runs when our own machine cannot send.
  const windowClosed = field(3, 16) === TIMER_ZERO_WINDOW && unackedBytes >= LEAST_WINDOW_BYTES;
  return {
    ...NOT_TOLD,
    source: 'proc',
    state: stateName(field(1, 16)),
    unackedBytes,
    retransmits: field(4, 16),
    windowClosed,
    zeroWindowProbes: windowClosed ? probes : 0,
    unansweredProbes: probes,
  };
}

const NOT_TOLD = {
  ackAgeMs: undefined,
  dataAgeMs: undefined,
  rttMs: undefined,
  rttvarMs: undefined,
  rttMinMs: undefined,
  rtoMs: undefined,
  totalRetransmits: undefined,
  ackedBytes: undefined,
  unsentBytes: undefined,
};

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}

function hexWords(bytes: readonly number[], little: boolean): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bytes.slice(at, at + 4);
    text += (little ? word.reverse() : word).map((byte) => hex(byte, 2)).join('');
  }
  return text;
}

/** The 4 or 16 bytes of an address in network order; undefined for what is none. */
function addressBytes(text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  if (isIPv4(text)) return text.split('.').map(Number);
  if (!isIPv6(text)) return undefined;
  const [head = '', tail] = text.replace(/%.*/, '').split('::');
  const first = groupBytes(head);
  if (tail === undefined) return first;
  const last = groupBytes(tail);
  return [...first, ...new Array<number>(16 - first.length - last.length).fill(0), ...last];
}

/** Groups of an IPv6 address; the last may be an IPv4 address. */
function groupBytes(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >>> 8, value & 0xff];
  });
}
