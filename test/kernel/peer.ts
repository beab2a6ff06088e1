/**
 * The far ends of lab links, one role per kind of trouble. Says `listening` with its port, and does what the lab
 * tells it. Runs in the namespace of its host.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Link } from '../../src/net/types.ts';
import { createEchoServer } from '../../src/server/echo-server.ts';
import type { EchoServerOptions } from '../../src/server/options.ts';
import { blockLoop, type Commands, obey, programOptions, say } from './program.ts';

export interface PeerOptions {
  /**
   * echo: the reference server. The others never say a word: swallow reads everything, slow reads at a crawl, deaf
   * reads nothing.
   */
  role: 'echo' | 'swallow' | 'slow' | 'deaf';
  /** For the echo server. */
  server?: EchoServerOptions;
}

const ANY = '0.0.0.0';
/** Between two reads of a slow reader, ms; each takes up to 64 KiB. */
const REST_MS = 40;

async function echo(options: EchoServerOptions): Promise<Commands> {
  let isStuck = false;
  const server = createEchoServer({
    ...options,
    check: () => (isStuck ? new Promise<boolean>(() => {}) : true),
  });
  for (const event of ['up', 'suspect', 'dead', 'closed'] as const) {
    server.hub.on(event, (_link: Link, detail: object) => say(event, detail));
  }
  const { port } = (await server.listen({ host: ANY, port: 0 })) as AddressInfo;
  say('listening', { port });
  return {
    block: blockLoop,
    // The heartbeat goes on; only what the check stands for never comes back.
    stick: () => {
      isStuck = true;
    },
    leave: (drainMs) => server.close({ drainMs }),
  };
}

function bare(take: (socket: Socket) => void): Commands {
  const server = createServer((socket) => {
    socket.on('error', (error: NodeJS.ErrnoException) => say('error', { code: error.code }));
    take(socket);
  });
  server.listen({ host: ANY, port: 0 }, () =>
    say('listening', { port: (server.address() as AddressInfo).port }),
  );
  return {};
}

/** A mouthful at a time, then a rest. */
function crawl(socket: Socket): void {
  socket.on('data', () => {
    socket.pause();
    setTimeout(() => socket.resume(), REST_MS);
  });
}

const { role, server } = programOptions<PeerOptions>();
if (role === 'echo') obey(await echo(server ?? {}));
else if (role === 'slow') obey(bare(crawl));
else obey(bare((socket) => (role === 'swallow' ? socket.resume() : socket.pause())));
