/**
 * Real loopback connections for the tests of `net`, `server` and `client`: pairs of sockets (TCP over IPv4 and IPv6,
 * unix, TLS), a raw peer that speaks only what a test makes it say, and a net that catches whatever a test leaves
 * open. Call `closeAll` after each test.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  type AddressInfo,
  connect,
  createServer,
  type Server,
  Socket,
  type SocketConstructorOpts,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { TEST_TLS } from './certificates.ts';

export type Kind = 'tcp' | 'tcp6' | 'unix' | 'tls';

const closers: (() => unknown)[] = [];

/** Something to be closed after the test, whatever happened in it. */
export function later(close: () => unknown): void {
  closers.push(close);
}

export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

/** A folder of its own for unix sockets, removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'wb-'));
  later(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Destroy a socket after the test; errors nobody waits for end nothing. */
export function tame<S extends Socket>(socket: S): S {
  socket.on('error', () => {});
  later(() => socket.destroy());
  return socket;
}

/** Fails unless it happens soon enough for a machine under load. */
export async function eventually(happened: () => boolean, what: string, limitMs = 10_000): Promise<void> {
  const untilMs = Date.now() + limitMs;
  while (!happened()) {
    if (Date.now() > untilMs) throw new Error(`did not happen within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Listen on a free address of this kind; resolves with what `net.connect` takes. */
export async function listening(
  server: Server,
  kind: Kind,
): Promise<{ port: number; host: string } | { path: string }> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  later(() => {
    for (const socket of connections) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const path = kind === 'unix' ? join(temporaryFolder(), 's') : undefined;
  server.listen(path === undefined ? { port: 0, host: kind === 'tcp6' ? '::1' : '127.0.0.1' } : { path });
  await once(server, 'listening');
  if (path !== undefined) return { path };
  const { port, address } = server.address() as AddressInfo;
  return { port, host: address };
}

export interface Pair {
  /** Accepted by a server. */
  readonly accepted: Socket;
  /** Connected by a client. */
  readonly connected: Socket;
}

export interface PairOptions {
  readonly pauseOnConnect?: boolean;
  readonly allowHalfOpen?: boolean;
}

/** Two ends of one connection that stands (for TLS: after the handshake). */
export async function socketPair(kind: Kind = 'tcp', options: PairOptions = {}): Promise<Pair> {
  const server = kind === 'tls' ? createTlsServer(TEST_TLS.server) : createServer(options);
  const where = await listening(server, kind);
  const accepting = once(server, kind === 'tls' ? 'secureConnection' : 'connection');
  const connected = tame(
    kind === 'tls'
      ? connectTls({ ...where, ca: TEST_TLS.ca, servername: 'localhost' })
      : connect({ ...where, ...options }),
  );
  const [[accepted]] = (await Promise.all([
    accepting,
    once(connected, kind === 'tls' ? 'secureConnect' : 'connect'),
  ])) as [[Socket], unknown];
  connected.setNoDelay(true);
  return { accepted: tame(accepted), connected };
}

/** A TLS client over a socket of its own options, still in its handshake. */
export function tlsClient(where: { port: number } | { path: string }, options = {}): TLSSocket {
  return tame(connectTls({ ...where, ca: TEST_TLS.ca, servername: 'localhost', ...options }));
}

/** A socket with a small receive buffer would be best; a paused one fills both buffers all the same. */
export function newSocket(options?: SocketConstructorOpts): Socket {
  return tame(new Socket(options));
}
