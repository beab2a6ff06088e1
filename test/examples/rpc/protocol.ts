/**
 * The wire of a small RPC: four bytes of big-endian length, then that many: a call number of four bytes and a body.
 * Lengths stay below 2^24, so a message begins with a zero byte and never with 'H'.
 */
import type { Socket } from 'node:net';

const LENGTH_BYTES = 4;
const CALL_BYTES = 4;

/** Bytes of the message that begins at `start`; 0 = more are needed; -1 = this is no message. */
export function messageLength(bytes: Uint8Array, start: number, end: number): number {
  if (start < end && bytes[start] !== 0) return -1;
  if (end - start < LENGTH_BYTES) return 0;
  const length = (bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!;
  return length < CALL_BYTES ? -1 : LENGTH_BYTES + length;
}

export function makeMessage(call: number, body: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(LENGTH_BYTES + CALL_BYTES + body.length);
  message.writeUInt32BE(CALL_BYTES + body.length, 0);
  message.writeUInt32BE(call, LENGTH_BYTES);
  message.set(body, LENGTH_BYTES + CALL_BYTES);
  return message;
}

/** The body is a view: copy it to keep it. */
export function readMessage(message: Uint8Array): { call: number; body: Uint8Array } {
  const view = new DataView(message.buffer, message.byteOffset, message.length);
  return { call: view.getUint32(LENGTH_BYTES), body: message.subarray(LENGTH_BYTES + CALL_BYTES) };
}

/** Calls `handle` for each message this socket receives. */
export function onMessages(socket: Socket, handle: (message: Uint8Array) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    let length = messageLength(pending, 0, pending.length);
    while (length > 0 && length <= pending.length) {
      handle(pending.subarray(0, length));
      pending = pending.subarray(length);
      length = messageLength(pending, 0, pending.length);
    }
    if (length < 0) socket.destroy();
  });
}
