/** Read the PROXY header off a fresh connection, leaving the connection's own bytes for whoever comes next. */
import type { Socket } from 'node:net';
import { WirebeatError } from '../base/errors.ts';
import { parseProxyHeader } from './proxy-header.ts';

export interface Proxied {
  /** The client's address as the proxy tells it; undefined when the proxy speaks for itself. */
  readonly address: string | undefined;
  /** Bytes that came behind the header. */
  readonly head: Buffer;
}

/** Longest time-out Node keeps, ms; a longer limit means none. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Resolves with the socket paused. Rejects with HB_ERR_PROXY_HEADER when there is no header, it is malformed, the
 * connection ends first, or it does not come within `limitMs`.
 */
export function readProxyHeader(socket: Socket, limitMs: number): Promise<Proxied> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      socket.off('data', onData);
      socket.off('close', onClose);
      socket.pause();
      act();
    };
    const refuse = (reason: string): void => {
      settle(() => reject(new WirebeatError('HB_ERR_PROXY_HEADER', reason)));
    };
    const onClose = (): void => refuse('the connection closed before its PROXY header');
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const parsed = parseProxyHeader(bytes);
      if (parsed.kind === 'bad') refuse(parsed.reason);
      else if (parsed.kind === 'header') {
        const { address, bytes: length } = parsed;
        settle(() => resolve({ address, head: bytes.subarray(length) }));
      }
    };
    const timer =
      limitMs > MAX_TIMEOUT_MS
        ? undefined
        : setTimeout(() => refuse(`no PROXY header within ${limitMs} ms`), limitMs);
    socket.on('error', () => {}); // `close` follows
    socket.on('data', onData);
    socket.on('close', onClose);
  });
}
