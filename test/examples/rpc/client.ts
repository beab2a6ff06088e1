/** An RPC client as it was before heartbeats: many calls may be under way, answers find theirs by number. */
import type { Socket } from 'node:net';
import { makeMessage, onMessages, readMessage } from './protocol.ts';

interface Waiting {
  resolve(body: Uint8Array): void;
  reject(error: Error): void;
}

export class RpcClient {
  readonly #waiting = new Map<number, Waiting>();
  readonly #wire: { write(bytes: Uint8Array): boolean };
  #lastCall = 0;

  constructor(socket: Socket) {
    this.#wire = socket;
    onMessages(socket, (message) => this.#answered(message));
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
