/** A client of the broker as it was before heartbeats. */
import type { Socket } from 'node:net';
import { makePacket, makeTopic, onPackets, Packet, readPacket } from './protocol.ts';

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

export class BrokerClient {
  readonly #onMessage: (topic: string, payload: Uint8Array) => void;
  readonly #waiting: Waiting[] = [];
  readonly #wire: { write(bytes: Uint8Array): boolean };

  /** `onMessage` gets payloads that it may keep. */
  constructor(socket: Socket, onMessage: (topic: string, payload: Uint8Array) => void) {
    this.#onMessage = onMessage;
    this.#wire = socket;
    onPackets(socket, (packet) => this.#received(packet));
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
