/**
 * What accepted connections pass before they stand at the door: the PROXY header where a proxy must send one, then
 * the TLS handshake. Behind a proxy that is two servers, one that listens and one that only encrypts.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, type Server as TlsServer } from 'node:tls';
import type { Door } from './door.ts';
import { ProxyGate } from './proxy-gate.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

export interface EntranceOptions {
  readonly tls: TlsOptions | undefined;
  readonly proxyProtocol: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly firstLifeMs: number;
}

/** As Node has it by default. */
const MAX_HANDSHAKE_MS = 120_000;

export class Entrance {
  /** The one that listens. */
  readonly server: Server;
  /** Connections that are or were on their way through; those still on it are nobody's link. */
  readonly #passing = new Set<Socket>();

  constructor(door: Door, options: EntranceOptions) {
    const secure = options.tls === undefined ? undefined : secureServer(options.tls, options.firstLifeMs);
    this.server = options.proxyProtocol ? createServer() : (secure ?? createServer());
    if (secure !== undefined || options.proxyProtocol) this.server.on('connection', this.#watch);
    if (options.proxyProtocol) this.server.on('connection', proxyGate(door, options, secure).accept);
    else this.server.on(secure === undefined ? 'connection' : 'secureConnection', door.accept);
  }

  /** Cut whatever did not get through. */
  destroy(): void {
    for (const socket of this.#passing) socket.destroy();
  }

  readonly #watch = (socket: Socket): void => {
    this.#passing.add(socket);
    socket.once('close', () => this.#passing.delete(socket));
  };
}

function proxyGate(door: Door, options: EntranceOptions, secure: TlsServer | undefined): ProxyGate {
  const { trustedProxies, firstLifeMs } = options;
  const onRefused = (): void => {
    door.refused.HB_ERR_PROXY_HEADER++;
  };
  if (secure === undefined) {
    return new ProxyGate(trustedProxies, firstLifeMs, door.enter.bind(door), onRefused);
  }
  /** Whose connection it is, by the only thing that a connection and the TLS on top of it have in common. */
  const addresses = new Map<string, string>();
  secure.on('secureConnection', (socket) => door.enter(socket, addresses.get(pairOf(socket)) ?? ''));
  const enter = (socket: Socket, address: string, head: Buffer): void => {
    const pair = pairOf(socket);
    addresses.set(pair, address);
    socket.once('close', () => addresses.delete(pair));
    if (head.length > 0) socket.unshift(head);
    secure.emit('connection', socket);
  };
  return new ProxyGate(trustedProxies, firstLifeMs, enter, onRefused);
}

/** Unique while the connection stands, as the server's own end is the same for all. */
function pairOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}

/** A TLS handshake is part of the time in which a connection must show life. */
function secureServer(tls: TlsOptions, firstLifeMs: number): TlsServer {
  const server = createTlsServer({ handshakeTimeout: Math.min(firstLifeMs, MAX_HANDSHAKE_MS), ...tls });
  // Node only tells of a handshake that failed or took too long; the connection would stay.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}
