/** An RPC server as it was before heartbeats: every message is a call, every call has one answer. */
import { createServer, type Server } from 'node:net';
import { makeMessage, onMessages, readMessage } from './protocol.ts';

export function createRpcServer(procedure: (body: Uint8Array) => Uint8Array): Server {
  return createServer((socket) => {
    const serve = (message: Uint8Array): void => {
      const { call, body } = readMessage(message);
      socket.write(makeMessage(call, procedure(body)));
    };
    socket.on('error', () => socket.destroy());
    onMessages(socket, serve);
  });
}
