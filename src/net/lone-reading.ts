/**
 * Reading for connections that this library opens itself and that carry nothing but heartbeats: Node is asked to read
 * into one buffer for all of them and to call back, in place of a buffer and a stream event for each chunk, which cost
 * more than the heartbeat in it. What nobody owns any more, or somebody else reads too, goes through the stream as usual.
 *
 * Source: the option `onread` of `net.Socket`.
 */
import type { OnReadOpts, Socket } from 'node:net';
import { FRAME_BYTES } from '../wire/constants.ts';
import { receiveDirectly } from './ownership.ts';

/** Bytes are looked at before the callback returns, and nobody keeps them: one buffer serves every socket. */
const BUFFER = Buffer.allocUnsafeSlow(16_384);
const ONE_FRAME = BUFFER.subarray(0, FRAME_BYTES);

/** For the options of `net.connect`; `socketOf` is asked when something was read. Empty where reads may overlap. */
export function loneReading(socketOf: () => Socket): { onread?: OnReadOpts } {
  if (process.platform === 'win32') return {};
  const callback = (bytesRead: number): boolean => {
    const socket = socketOf();
    const chunk = bytesRead === FRAME_BYTES ? ONE_FRAME : BUFFER.subarray(0, bytesRead);
    return receiveDirectly(socket, chunk) || socket.push(Buffer.from(chunk));
  };
  return { onread: { buffer: BUFFER, callback } };
}
