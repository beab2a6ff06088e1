/** The broker with heartbeats: a packet that is passed on is copied, since its bytes are lent for the call only. */
import { createServer, type Server } from 'node:net';
import { defaultHub } from '../../../src/index.ts';
import { makePacket, Packet, packetLength, readPacket } from './protocol.ts';

interface Peer {
  write(bytes: Uint8Array): boolean;
}

export function createBroker(hub = defaultHub()): Server {
  const subscribers = new Map<string, Set<Peer>>();
  const serve = (packet: Uint8Array, peer: Peer): void => {
    const { type, topic } = readPacket(packet);
    const known = subscribers.get(topic) ?? new Set();
    if (type === Packet.Subscribe) {
      subscribers.set(topic, known.add(peer));
      peer.write(makePacket(Packet.SubAck));
    } else if (type === Packet.Publish) {
      for (const subscriber of known) subscriber.write(packet);
      peer.write(makePacket(Packet.PubAck));
    } else if (type === Packet.PingRequest) {
      peer.write(makePacket(Packet.PingResponse));
    }
  };
  return createServer((socket) => {
    const onFrame = (link: Peer, bytes: Uint8Array): void => serve(Uint8Array.from(bytes), link);
    const host = { frameLength: packetLength, onFrame };
    const peer: Peer = hub.attach(socket, { intervalMs: 100, deadAfter: 10, host });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const known of subscribers.values()) known.delete(peer);
    });
  });
}
