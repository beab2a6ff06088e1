/**
 * Run by a test in a process of its own, with --expose-gc: links on one hub, and what is left of memory once a flood
 * is over. Argument: the hard cap, heartbeats per second (or Infinity). Prints a line of JSON for the port, and one
 * for each link when it has read `FLOOD_FRAMES` frames or is closed.
 */
import { type AddressInfo, createServer } from 'node:net';
import { HeartbeatHub } from '../../src/net/hub.ts';

const FLOOD_FRAMES = 1_000_000;

const say = (words: object): void => console.log(JSON.stringify(words));
const collect = (globalThis as unknown as { gc(): void }).gc;

/** After several collections: what the first one finalises, only the next one frees. */
function usedBytes(): number {
  for (let round = 0; round < 4; round++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const hub = new HeartbeatHub();
const server = createServer((socket) => {
  const link = hub.attach(socket, { maxFramesPerSecond: Number(process.argv[2]) });
  let mostQueuedBytes = 0;
  let isTold = false;
  const tell = (detail: object): void => {
    if (isTold) return;
    isTold = true;
    const { framesReceived, pongsSent, pongsCoalesced } = link.stats();
    say({ ...detail, framesReceived, pongsSent, pongsCoalesced, mostQueuedBytes, usedBytes: usedBytes() });
  };
  // Added after the link's own listener, so it looks when the chunk is dealt with.
  socket.on('data', () => {
    mostQueuedBytes = Math.max(mostQueuedBytes, socket.writableLength);
    if (link.stats().framesReceived >= FLOOD_FRAMES) setImmediate(tell, { cause: 'alive' });
  });
  void link.whenClosed().then(({ cause, code }) => setImmediate(tell, { cause, code }));
});
server.listen(0, '127.0.0.1', () => say({ port: (server.address() as AddressInfo).port }));
process.stdin.on('end', () => process.exit()).resume();
