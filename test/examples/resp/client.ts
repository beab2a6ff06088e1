/** A client of the store as it was before heartbeats: answers come in the order of the commands. */
import type { Socket } from 'node:net';
import { type Reply, RespReader } from './protocol.ts';

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

export class StoreClient {
  readonly #waiting: Waiting[] = [];
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    const reader = new RespReader(
      (reply) => this.#waiting.shift()?.resolve(reply as Reply),
      () => socket.destroy(),
    );
    socket.on('data', (chunk) => reader.push(chunk));
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
