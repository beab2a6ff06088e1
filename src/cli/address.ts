/** Where a service listens, as it is written on the command line. Nothing is resolved or opened here. */
import { isIPv6 } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { integerOf } from './numbers.ts';

export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

const FORMS = 'Expected HOST:PORT, [::1]:PORT, PORT or unix:/path.';
/** The kernel's room for a socket path, its closing zero not counted; longer ones are cut off silently. */
const MAX_PATH_BYTES = 107;

/** `HOST:PORT`, `[IPV6]:PORT`, `PORT` (on 127.0.0.1) or `unix:/path`. Throws what commander reports. */
export function parseAddress(text: string): Address {
  if (text.startsWith('unix:')) return { path: parsePath(text.slice('unix:'.length)) };
  if (integerOf(text) !== undefined) return { host: '127.0.0.1', port: parsePort(text) };
  const bracketed = /^\[(.*)\]:([^:]*)$/.exec(text);
  if (bracketed !== null) {
    const host = bracketed[1]!;
    if (!isIPv6(host)) throw new InvalidArgumentError(`"${host}" is not an IPv6 address.`);
    return { host, port: parsePort(bracketed[2]!) };
  }
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, Math.max(0, colon));
  if (host.includes(':')) {
    const hint = text.includes('//') ? 'not a URL' : 'and IPv6 addresses in brackets, as in [::1]:7400';
    throw new InvalidArgumentError(`${FORMS.slice(0, -1)}, ${hint}.`);
  }
  if (!isHostName(host)) throw new InvalidArgumentError(FORMS);
  return { host, port: parsePort(text.slice(colon + 1)) };
}

/** A socket path that the kernel can hold. */
export function parsePath(path: string): string {
  if (path === '') throw new InvalidArgumentError('Expected a path.');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new InvalidArgumentError(`Expected a path of at most ${MAX_PATH_BYTES} bytes.`);
  }
  return path;
}

/** A host to listen on: a name or an address, without a port. */
export function parseHost(host: string): string {
  if (isIPv6(host) || isHostName(host)) return host;
  throw new InvalidArgumentError('Expected a host name or an address.');
}

/** As `parseAddress` reads it. */
export function formatAddress(address: Address): string {
  if ('path' in address) return `unix:${address.path}`;
  const { host, port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function isHostName(host: string): boolean {
  return /^[\w.-]{1,253}$/.test(host);
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('Expected a port from 1 to 65535.');
  return port;
}
