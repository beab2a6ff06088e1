/** The broker's client with heartbeats. */
import type { Socket } from 'node:net';
import { defaultHub } from '../../../src/index.ts';
import { makePacket, makeTopic, Packet, packetLength, readPacket } from './protocol.ts';

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

export class BrokerClient {
  readonly #onMessage: (topic: string, payload: Uint8Array) => void;
  readonly #waiting: Waiting[] = [];
  readonly #wire: { write(bytes: Uint8Array): boolean };

  /** `onMessage` gets payloads that it may keep. */
  constructor(socket: Socket, onMessage: (topic: string, payload: Uint8Array) => void, hub = defaultHub()) {
    this.#onMessage = onMessage;
    const onFrame = (_: unknown, packet: Uint8Array): void => this.#received(packet);
    this.#wire = hub.attach(socket, {
      intervalMs: 100,
      deadAfter: 10,
      host: { frameLength: packetLength, onFrame },
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the connection is closed'));
    });
  }

  subscribe(topic: string): Promise<void> {
    return this.#ask(makePacket(Packet.Subscribe, makeTopic(topic)));
  }

  publish(topic: string, payload: Uint8Array): Promise<void> {
    return this.#ask(makePacket(Packet.Publish, makeTopic(topic), payload));
  }

  ping(): Promise<void> {
    return this.#ask(makePacket(Packet.PingRequest));
  }

  #ask(packet: Buffer): Promise<void> {
    this.#wire.write(packet);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #received(packet: Uint8Array): void {
    const { type, topic, payload } = readPacket(packet);
    if (type === Packet.Publish) this.#onMessage(topic, Uint8Array.from(payload));
    else this.#waiting.shift()?.resolve();
  }
}
