/**
 * A TCP proxy on loopback that does to real sockets what bad networks do: each direction can be delayed, throttled,
 * stalled, black-holed, damaged, cut into pieces or merged, and connections can be ended or reset, all while running.
 *
 * It stands between a client and a server of one test: connect to `port` instead of the server. Half-closed
 * connections are passed on as such, a reset of one side as a reset of the other. What it cannot show, because both
 * sides keep a healthy TCP connection to the proxy: retransmission, and sends that fail for want of a path.
 */
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { integerIn, knownKeys, numberIn, oneOf } from '../base/assert.ts';
import { FAULT_LANE_DEFAULTS, FaultLane, type FaultLaneSettings } from './fault-lane.ts';

/** Which way: from the client to the server, or back. */
export type FaultDirection = 'there' | 'back';

export interface FaultProxyOptions {
  /** The server's port, and its address (default 127.0.0.1). */
  targetPort: number;
  targetHost?: string;
  /** Where to listen; 0 (default) takes a free port. */
  port?: number;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly lanes: readonly FaultLane[];
}

export class FaultProxy implements AsyncDisposable {
  /** Connections made through the proxy so far. */
  accepted = 0;
  readonly #targetPort: number;
  readonly #targetHost: string;
  readonly #listenPort: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #settings: Record<FaultDirection, FaultLaneSettings> = {
    there: { ...FAULT_LANE_DEFAULTS },
    back: { ...FAULT_LANE_DEFAULTS },
  };

  /** TypeError and RangeError name the option that is wrong. */
  constructor(options: FaultProxyOptions) {
    knownKeys('options', options, ['targetPort', 'targetHost', 'port']);
    this.#targetPort = integerIn('targetPort', options.targetPort, 1, 65_535);
    this.#targetHost = options.targetHost ?? '127.0.0.1';
    this.#listenPort = integerIn('port', options.port ?? 0, 0, 65_535);
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  /** Begin to listen on 127.0.0.1; resolves to the proxy itself. Rejects when the port is taken. */
  listen(): Promise<this> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#listenPort, '127.0.0.1', () => {
        this.#server.off('error', reject);
        resolve(this);
      });
    });
  }

  /** The port to connect to, once listening. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections open now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Change one direction, or both, of all connections, present and to come. Settings not named stay. */
  set(direction: FaultDirection | 'both', settings: Partial<FaultLaneSettings>): void {
    checkSettings(settings);
    for (const way of direction === 'both' ? (['there', 'back'] as const) : [direction]) {
      Object.assign(this.#settings[way], settings);
    }
    for (const { lanes } of this.#pairs) for (const lane of lanes) lane.pump();
  }

  /** No more faults. Bytes that were thrown away stay lost. */
  heal(): void {
    this.set('both', FAULT_LANE_DEFAULTS);
  }

  /** End all connections towards both sides, with FIN. What was held is dropped. */
  cut(): void {
    for (const pair of [...this.#pairs]) {
      for (const lane of pair.lanes) lane.stop();
      pair.client.destroySoon();
      pair.server.destroySoon();
    }
  }

  /** Reset all connections towards both sides. */
  reset(): void {
    for (const pair of [...this.#pairs]) this.#resetPair(pair);
  }

  /** Stop listening and destroy all connections. Resolves when nothing is left. Idempotent. */
  close(): Promise<void> {
    this.reset();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #accept(client: Socket): void {
    this.accepted++;
    const server = createConnection({
      port: this.#targetPort,
      host: this.#targetHost,
      allowHalfOpen: true,
      noDelay: true,
    });
    const there = new FaultLane(client, server, this.#settings.there);
    const back = new FaultLane(server, client, this.#settings.back);
    const pair = { client, server, lanes: [there, back] };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.on('error', () => this.#resetPair(pair));
      socket.on('close', () => this.#forgetIfOver(pair));
    }
  }

  #resetPair(pair: Pair): void {
    for (const lane of pair.lanes) lane.stop();
    pair.client.resetAndDestroy();
    pair.server.resetAndDestroy();
  }

  #forgetIfOver(pair: Pair): void {
    if (!pair.client.destroyed || !pair.server.destroyed) return;
    for (const lane of pair.lanes) lane.stop();
    this.#pairs.delete(pair);
  }
}

function checkSettings(settings: Partial<FaultLaneSettings>): void {
  knownKeys('settings', settings, Object.keys(FAULT_LANE_DEFAULTS));
  const { mode, delayMs, bytesPerSecond, pieceBytes, mergeMs } = { ...FAULT_LANE_DEFAULTS, ...settings };
  oneOf('mode', mode, ['pass', 'stall', 'black-hole']);
  numberIn('delayMs', delayMs, 0, 2 ** 31 - 1);
  numberIn('bytesPerSecond', bytesPerSecond, 1, Number.POSITIVE_INFINITY);
  numberIn('pieceBytes', pieceBytes, 1, Number.POSITIVE_INFINITY);
  numberIn('mergeMs', mergeMs, 0, 2 ** 31 - 1);
}
