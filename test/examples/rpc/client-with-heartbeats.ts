/** The RPC client with heartbeats: what it gave to the socket and took from it now goes through the link. */
import type { Socket } from 'node:net';
import { defaultHub } from '../../../src/index.ts';
import { makeMessage, messageLength, readMessage } from './protocol.ts';

interface Waiting {
  resolve(body: Uint8Array): void;
  reject(error: Error): void;
}

export class RpcClient {
  readonly #waiting = new Map<number, Waiting>();
  readonly #wire: { write(bytes: Uint8Array): boolean };
  #lastCall = 0;

  constructor(socket: Socket, hub = defaultHub()) {
    const onFrame = (_: unknown, message: Uint8Array): void => this.#answered(message);
    this.#wire = hub.attach(socket, {
      intervalMs: 100,
      deadAfter: 10,
      host: { frameLength: messageLength, onFrame },
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#closed());
  }

  call(body: Uint8Array): Promise<Uint8Array> {
    const call = ++this.#lastCall;
    this.#wire.write(makeMessage(call, body));
    return new Promise((resolve, reject) => this.#waiting.set(call, { resolve, reject }));
  }

  #answered(message: Uint8Array): void {
    const { call, body } = readMessage(message);
    this.#waiting.get(call)?.resolve(Uint8Array.from(body));
    this.#waiting.delete(call);
  }

  #closed(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error('the connection is closed'));
    this.#waiting.clear();
  }
}
