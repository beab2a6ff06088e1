/**
 * A process of its own that listens on a free port and answers every PING it gets, judging nobody: the peers of the
 * stall test. Bare on purpose: it knows 16-byte frames and the ACK bit, and shares no code with src but the codec.
 *
 * It prints its port on the first line. A connection whose first byte is `d` is a mortal one: it falls silent, its
 * socket left open, as soon as the parent sends SIGUSR2.
 */
import { type AddressInfo, createServer } from 'node:net';
import { decodeFrame, encodeFrame } from '../../src/wire/frame.ts';

let isDead = false;
process.on('SIGUSR2', () => {
  isDead = true;
});

const server = createServer((socket) => {
  let rest = Buffer.alloc(0);
  let isMortal = false;
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (rest[0] === 0x64) {
      isMortal = true;
      rest = rest.subarray(1);
    }
    for (; rest.length >= 16; rest = rest.subarray(16)) {
      const frame = decodeFrame(rest);
      if (!frame.ok || (frame.flags & 1) === 0 || (isMortal && isDead)) continue;
      socket.write(encodeFrame({ flags: 4, seq: frame.seq, timestamp: frame.timestamp }));
    }
  });
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  console.log((server.address() as AddressInfo).port);
});
// Ends with the parent, however that ends.
process.stdin.on('end', () => process.exit()).resume();
