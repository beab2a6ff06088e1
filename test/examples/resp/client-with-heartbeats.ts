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
  #writing: Promise<void> = Promise.resolve();

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
    return this.#ask(() => {
      this.#socket.write(`*${words.length}\r\n`);
      for (const word of words) {
        const bytes = Buffer.from(word);
        this.#socket.write(`$${bytes.length}\r\n`);
        this.#socket.write(bytes);
        this.#socket.write('\r\n');
      }
    });
  }

  /** SET with a value that comes little by little, `length` bytes in all. */
  upload(key: string, length: number, parts: AsyncIterable<Uint8Array>): Promise<Reply> {
    return this.#ask(async () => {
      this.#socket.write(`*3\r\n$3\r\nSET\r\n$${key.length}\r\n${key}\r\n$${length}\r\n`);
      for await (const part of parts) this.#socket.write(part);
      this.#socket.write('\r\n');
    });
  }

  /** Commands are written one after the other. */
  #ask(write: () => void | Promise<void>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#writing = this.#writing
        .then(() => {
          this.#waiting.push({ resolve, reject });
          return write();
        })
        .catch(reject);
    });
  }
}
