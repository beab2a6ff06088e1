/**
 * The reference host protocol of the echo server: a 4-byte big-endian length of the payload alone (0 is legal, below
 * 2^24), then the payload. The first byte is therefore never 'H', as sharing with heartbeats demands.
 */
import { rangeError, typeError } from '../base/errors.ts';

export const PREFIX_BYTES = 4;
/** Payloads are shorter than this, so that the first byte of every frame is zero. */
export const PAYLOAD_LIMIT_BYTES = 2 ** 24;

/** Length of the frame that begins at `start`; 0 = more bytes needed; -1 = not this protocol. */
export function lengthPrefixedFrameLength(bytes: Uint8Array, start: number, end: number): number {
  if (start < end && bytes[start] !== 0) return -1;
  if (end - start < PREFIX_BYTES) return 0;
  const payloadBytes =
    ((bytes[start + 1] as number) << 16) | ((bytes[start + 2] as number) << 8) | (bytes[start + 3] as number);
  return PREFIX_BYTES + payloadBytes;
}

/** The frame that carries `payload`. */
export function lengthPrefixedFrame(payload: Uint8Array): Buffer {
  if (!(payload instanceof Uint8Array)) throw typeError('payload', 'a Uint8Array', payload);
  if (payload.length >= PAYLOAD_LIMIT_BYTES) {
    throw rangeError('payload.length', `below ${PAYLOAD_LIMIT_BYTES}`, payload.length);
  }
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.set(payload, PREFIX_BYTES);
  return frame;
}
