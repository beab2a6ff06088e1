/**
 * Before the door, when the PROXY protocol is on: what comes from a trusted proxy must begin with a PROXY header,
 * which says whose connection it is; what comes from anybody else is taken as it is, since anybody can write such a
 * header. Without a good header in time a connection is cut, HB_ERR_PROXY_HEADER: it speaks another protocol.
 */
import type { Socket } from 'node:net';
import { readProxyHeader } from './read-proxy-header.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** A connection, whose it is ('' = no address), and the bytes of it that were read already. */
export type Enter = (socket: Socket, address: string, head: Buffer) => void;

const NOTHING = Buffer.alloc(0);

export class ProxyGate {
  readonly #trusted: TrustedProxies;
  readonly #limitMs: number;
  readonly #enter: Enter;
  readonly #onRefused: () => void;

  constructor(trusted: TrustedProxies, limitMs: number, enter: Enter, onRefused: () => void) {
    this.#trusted = trusted;
    this.#limitMs = limitMs;
    this.#enter = enter;
    this.#onRefused = onRefused;
  }

  readonly accept = (socket: Socket): void => {
    const proxy = socket.remoteAddress ?? '';
    if (!this.#trusted.includes(proxy)) {
      this.#enter(socket, proxy, NOTHING);
      return;
    }
    readProxyHeader(socket, this.#limitMs).then(
      ({ address, head }) => this.#enter(socket, address ?? proxy, head),
      () => {
        this.#onRefused();
        socket.destroy();
      },
    );
  };
}
