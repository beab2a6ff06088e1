/** The RPC server with heartbeats: the link reads the socket and hands over whole messages; answers go through it. */
import { createServer, type Server } from 'node:net';
import { defaultHub } from '../../../src/index.ts';
import { makeMessage, messageLength, readMessage } from './protocol.ts';

export function createRpcServer(procedure: (body: Uint8Array) => Uint8Array, hub = defaultHub()): Server {
  return createServer((socket) => {
    const serve = (message: Uint8Array): void => {
      const { call, body } = readMessage(message);
      link.write(makeMessage(call, procedure(body)));
    };
    socket.on('error', () => socket.destroy());
    const host = { frameLength: messageLength, onFrame: (_: unknown, bytes: Uint8Array) => serve(bytes) };
    const link = hub.attach(socket, { intervalMs: 100, deadAfter: 10, host });
  });
}
