/**
 * The wire of a small broker in the manner of MQTT: a byte of type (upper half) and flags (lower half), the length of
 * the rest as a varint of one to four bytes, the rest.
 *
 * Why it may share a connection: 'H' is 48, type 4 with flags 8. Type 4 is PUBACK, whose flags must be zero, so a
 * packet that begins so is malformed whatever follows, and `packetLength` says so before heartbeats come into play.
 * (In an MQTT with a type that allows flags 8 at 4, it could not.)
 */
import type { Socket } from 'node:net';

export const Packet = { Publish: 3, PubAck: 4, Subscribe: 8, SubAck: 9, PingRequest: 12, PingResponse: 13 };

/** The flags a type must have; PUBLISH may have any. */
const FIXED_FLAGS = new Map([
  [Packet.PubAck, 0],
  [Packet.Subscribe, 2],
  [Packet.SubAck, 0],
  [Packet.PingRequest, 0],
  [Packet.PingResponse, 0],
]);

/** Bytes of the packet that begins at `start`; 0 = more are needed; -1 = this is no packet. */
export function packetLength(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0;
  const type = bytes[start]! >> 4;
  const fixed = FIXED_FLAGS.get(type);
  if (type !== Packet.Publish && (bytes[start]! & 15) !== fixed) return -1;
  let rest = 0;
  for (let at = start + 1; at < end && at <= start + 4; at++) {
    rest |= (bytes[at]! & 0x7f) << (7 * (at - start - 1));
    if (bytes[at]! < 0x80) return at + 1 - start + rest;
  }
  return end - start > 4 ? -1 : 0;
}

export function makePacket(type: number, ...rest: Uint8Array[]): Buffer {
  const body = Buffer.concat(rest);
  const head = [(type << 4) | (FIXED_FLAGS.get(type) ?? 0)];
  let length = body.length;
  for (; length >= 0x80; length >>>= 7) head.push((length & 0x7f) | 0x80);
  return Buffer.concat([Uint8Array.of(...head, length), body]);
}

/** A topic (up to 255 bytes) with its length, and what follows it in a packet. */
export function makeTopic(topic: string): Buffer {
  return Buffer.concat([Uint8Array.of(Buffer.byteLength(topic)), Buffer.from(topic)]);
}

/** `payload` is a view: copy it to keep it. */
export function readPacket(packet: Uint8Array): { type: number; topic: string; payload: Uint8Array } {
  let at = 1;
  while (packet[at]! >= 0x80) at++;
  const body = packet.subarray(at + 1);
  const topicBytes = body[0] ?? 0;
  const topic = Buffer.from(body.subarray(1, 1 + topicBytes)).toString();
  return { type: packet[0]! >> 4, topic, payload: body.subarray(1 + topicBytes) };
}

/** Calls `handle` for each packet this socket receives. */
export function onPackets(socket: Socket, handle: (packet: Uint8Array) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    let length = packetLength(pending, 0, pending.length);
    while (length > 0 && length <= pending.length) {
      handle(pending.subarray(0, length));
      pending = pending.subarray(length);
      length = packetLength(pending, 0, pending.length);
    }
    if (length < 0) socket.destroy();
  });
}
