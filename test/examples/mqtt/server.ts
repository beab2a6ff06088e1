/** A broker as it was before heartbeats: what is published on a topic goes to all its subscribers, as it came. */
import { createServer, type Server } from 'node:net';
import { makePacket, onPackets, Packet, readPacket } from './protocol.ts';

interface Peer {
  write(bytes: Uint8Array): boolean;
}

export function createBroker(): Server {
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
    const peer: Peer = socket;
    onPackets(socket, (packet) => serve(packet, peer));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const known of subscribers.values()) known.delete(peer);
    });
  });
}
