/**
 * What must hold before so many connections are opened, found out beforehand rather than halfway: descriptors for
 * all of them, local ports for all of them, and a service that answers at each address.
 */
import { readFileSync } from 'node:fs';
import { type Address, formatAddress } from '../address.ts';
import { UsageError } from '../errors.ts';

/** Descriptors of the process itself, and some room: pipes, the event loop, files of certificates. */
const SPARE_DESCRIPTORS = 100;

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return []; // no Linux: nothing is known, and the system will say so itself
  }
}

/** Open descriptors this process may have; Infinity when unlimited or unknown. */
export function descriptorLimit(limits = linesOf('/proc/self/limits')): number {
  const soft = /^Max open files\s+(\S+)/.exec(limits.find((line) => line.startsWith('Max open files')) ?? '');
  const limit = Number(soft?.[1] ?? Number.NaN);
  return Number.isNaN(limit) ? Infinity : limit;
}

/** Local ports for connections to one address and port; Infinity when unknown. */
export function portsPerDestination(range = linesOf('/proc/sys/net/ipv4/ip_local_port_range')): number {
  const [first = Number.NaN, last = Number.NaN] = (range[0] ?? '').split(/\s+/).map(Number);
  return Number.isNaN(last - first) ? Infinity : last - first + 1;
}

/** UsageError when this machine cannot hold so many links to so many addresses. */
export function checkCapacity(
  links: number,
  destinations: readonly Address[],
  limit = descriptorLimit(),
  ports = portsPerDestination(),
): void {
  const needed = links + SPARE_DESCRIPTORS;
  if (needed > limit) {
    throw new UsageError(
      `${grouped(links)} links need ${grouped(needed)} descriptors, limit ${grouped(limit)} (ulimit -n)`,
    );
  }
  const each = Math.ceil(links / destinations.length);
  if (each > ports && !destinations.some((address) => 'path' in address)) {
    throw new UsageError(
      `${grouped(each)} links to one address need as many local ports, there are ${grouped(ports)}: use --spread`,
    );
  }
}

/** The addresses to connect to in turn: the one given, or `count` in a row beginning with that loopback address. */
export function destinationsOf(address: Address, count: number): Address[] {
  if (count === 1) return [address];
  const parts = 'host' in address ? /^127\.0\.(\d{1,3})\.(\d{1,3})$/.exec(address.host) : null;
  if (parts === null || !('port' in address)) {
    throw new UsageError(`--spread needs a loopback address, not ${formatAddress(address)}`);
  }
  const first = 256 * Number(parts[1]) + Number(parts[2]);
  if (first + count > 65_535) throw new UsageError('--spread leaves 127.0.0.0/16');
  const { port } = address;
  return Array.from({ length: count }, (_, index) => {
    const at = first + index;
    return { host: `127.0.${at >>> 8}.${at & 255}`, port };
  });
}

/** `19 100`: for people. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ' ');
}
