/** The store's client with heartbeats. Its writes stay as they were: the link follows them. */
import type { Socket } from 'node:net';
import { defaultHub } from '../../../src/index.ts';
import { elementLength, type Reply, RespReader } from './protocol.ts';

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

export class StoreClient {
  readonly #waiting: Waiting[] = [];
  readonly #socket: Socket;

  constructor(socket: Socket, hub = defaultHub()) {
    this.#socket = socket;
    const reader = new RespReader(
      (reply) => this.#waiting.shift()?.resolve(reply as Reply),
      () => socket.destroy(),
    );
    const onFrame = (_: unknown, bytes: Uint8Array): void => reader.push(bytes);
    const framing = { frameLength: elementLength, outboundFrameLength: elementLength };
    hub.attach(socket, { intervalMs: 100, deadAfter: 10, host: { ...framing, delivery: 'pieces', onFrame } });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the connection is closed'));
    });
  }

  command(...words: (string | Uint8Array)[]): Promise<Reply> {
    this.#socket.write(`*${words.length}\r\n`);
    for (const word of words) {
      const bytes = Buffer.from(word);
      this.#socket.write(`$${bytes.length}\r\n`);
      this.#socket.write(bytes);
      this.#socket.write('\r\n');
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
}
