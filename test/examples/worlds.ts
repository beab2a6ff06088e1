/**
 * Two worlds for the same clients and servers. The real one has TCP connections through a proxy that cuts every
 * stream anew; the virtual one has pipes in memory, delays and cuts of its own, and a clock that jumps from one
 * event to the next, so that ten minutes pass in seconds. Both draw everything from one seed.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { HeartbeatHub } from '../../src/index.ts';
import { VirtualHost } from '../time/virtual-host.ts';

export interface World {
  readonly random: Random;
  readonly hub: HeartbeatHub;
  /** Which share of the bursts is followed by a pause: time is short in one world and plentiful in the other. */
  readonly pauseShare: number;
  now(): number;
  sleep(ms: number): Promise<void>;
  /** A client's end of a new connection to this server. */
  connect(server: Server): Promise<Socket>;
  /** Lets time pass until `work` is done, at most until `limitMs`. */
  run(work: Promise<void>, limitMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Cuts `bytes` anew: mostly a few pieces, now and then single bytes. */
function cut(bytes: Buffer, random: Random): Buffer[] {
  const style = random.next();
  const pieces = style < 0.4 ? 1 : style < 0.95 ? 1 + (random.u32() % 8) : 40;
  const edges = Array.from({ length: pieces - 1 }, () => random.u32() % (bytes.length + 1));
  const sorted = [0, ...edges.sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).flatMap((edge, index) => {
    const piece = bytes.subarray(sorted[index], edge);
    return piece.length === 0 ? [] : [piece];
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class RealWorld implements World {
  readonly random: Random;
  readonly hub = new HeartbeatHub();
  readonly pauseShare = 0.1;
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  now(): number {
    return performance.now();
  }

  sleep(ms: number): Promise<void> {
    return ms === 0 ? turn() : new Promise((resolve) => setTimeout(resolve, ms));
  }

  async connect(server: Server): Promise<Socket> {
    if (!server.listening) await this.#listen(server);
    const proxy = createServer((near) => {
      const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as [Socket, Socket][]) {
        this.#sockets.push(from);
        this.#forward(from, to).catch(() => to.destroy());
      }
    });
    await this.#listen(proxy);
    const socket = connect((proxy.address() as AddressInfo).port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    this.#sockets.push(socket);
    return socket;
  }

  run(work: Promise<void>): Promise<void> {
    return work;
  }

  async close(): Promise<void> {
    await this.hub.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  async #listen(server: Server): Promise<void> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#servers.push(server);
  }

  /** A turn of the event loop between pieces, so that they are read apart. */
  async #forward(from: Socket, to: Socket): Promise<void> {
    to.setNoDelay(true);
    for await (const chunk of from) {
      for (const piece of cut(chunk as Buffer, this.random)) {
        if (to.destroyed) return;
        to.write(piece);
        await turn();
      }
    }
    to.end();
  }
}

export class VirtualWorld implements World {
  readonly random: Random;
  readonly hub: HeartbeatHub;
  readonly pauseShare = 1;
  readonly #host = new VirtualHost();

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.hub = new HeartbeatHub({ clock: this.#host, timers: this.#host, random: this.random });
  }

  now(): number {
    return this.#host.now();
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#host.setTimeout(resolve, ms));
  }

  async connect(server: Server): Promise<Socket> {
    const near = new PipeEnd(this.#host, this.random);
    const far = new PipeEnd(this.#host, this.random);
    near.peer = far;
    far.peer = near;
    server.emit('connection', far);
    return near as unknown as Socket;
  }

  /** One turn per event; after each, whatever it set going in streams and promises comes to rest. */
  async run(work: Promise<void>, limitMs: number): Promise<void> {
    let isDone = false;
    const finished = work.finally(() => (isDone = true));
    finished.catch(() => {}); // told by the await below
    for (await turn(); !isDone; await turn()) {
      const nextMs = Math.min(...this.#host.timeouts.map(({ atMs }) => atMs));
      if (this.#host.immediates.length === 0) this.#host.nowMs = Math.max(this.#host.nowMs, nextMs);
      if (this.#host.nowMs > limitMs) throw new Error(`still at work at ${limitMs} virtual ms`);
      this.#host.turn();
    }
    await finished;
  }

  async close(): Promise<void> {
    const closing = this.hub.close();
    await this.run(closing, this.now() + 10_000);
  }
}

/** One end of a pipe, as much of a socket as a link needs. Bytes arrive in order, cut anew, after a delay. */
class PipeEnd extends Duplex {
  peer: PipeEnd | undefined;
  bytesWritten = 0;
  readonly #host: VirtualHost;
  readonly #random: Random;
  #lastArrivalMs = 0;

  constructor(host: VirtualHost, random: Random) {
    super({ allowHalfOpen: false });
    this.#host = host;
    this.#random = random;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.bytesWritten += chunk.length;
    for (const piece of cut(Buffer.from(chunk), this.#random)) {
      this.#arrive(() => this.peer?.destroyed === false && this.peer.push(piece));
    }
    // Mostly the kernel takes bytes at once; sometimes its buffer is full for a while.
    if (this.#random.next() < 0.9) taken();
    else this.#host.setTimeout(taken, 1 + (this.#random.u32() % 30));
  }

  override _final(ended: () => void): void {
    this.#arrive(() => this.peer?.destroyed === false && this.peer.push(null));
    ended();
  }

  #arrive(deliver: () => void): void {
    const delayMs = this.#random.next() < 0.7 ? 1 : 1 + (this.#random.u32() % 20);
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, this.#host.nowMs + delayMs);
    this.#host.setTimeout(deliver, this.#lastArrivalMs - this.#host.nowMs);
  }
}
