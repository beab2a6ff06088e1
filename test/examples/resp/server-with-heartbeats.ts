/** The store with heartbeats. It goes on writing in pieces: `outboundFrameLength` finds the boundaries for it. */
import { createServer, type Server, type Socket } from 'node:net';
import { defaultHub } from '../../../src/index.ts';
import { elementLength, RespReader } from './protocol.ts';

export function createStore(hub = defaultHub()): Server {
  const values = new Map<string, Buffer>();
  return createServer((socket) => {
    const reader = new RespReader(
      (command) => execute(values, command as Buffer[], socket),
      () => socket.destroy(),
    );
    socket.on('error', () => socket.destroy());
    const onFrame = (_: unknown, bytes: Uint8Array): void => reader.push(bytes);
    const framing = { frameLength: elementLength, outboundFrameLength: elementLength };
    hub.attach(socket, { intervalMs: 100, deadAfter: 10, host: { ...framing, delivery: 'pieces', onFrame } });
  });
}

function execute(values: Map<string, Buffer>, [name, key, value]: Buffer[], socket: Socket): void {
  const known = values.get(String(key));
  switch (String(name)) {
    case 'SET':
      values.set(String(key), value ?? Buffer.alloc(0));
      socket.write('+OK\r\n');
      return;
    case 'GET':
      if (known === undefined) socket.write('$-1\r\n');
      else {
        socket.write(`$${known.length}\r\n`);
        socket.write(known);
        socket.write('\r\n');
      }
      return;
    case 'DEL':
      socket.write(`:${values.delete(String(key)) ? 1 : 0}\r\n`);
      return;
    default:
      socket.write('-ERR no such command\r\n');
  }
}
