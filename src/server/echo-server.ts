/**
 * The reference server: answers heartbeats on every connection and, in mixed mode, echoes length-prefixed frames on
 * the same connection. It is the counterpart of the commands and of implementations in other languages, and the
 * shortest complete example of a server that embeds heartbeats.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { HeartbeatHub } from '../net/hub.ts';
import { tuneServer } from '../net/tune.ts';
import type { AttachOptions } from '../net/types.ts';
import { pickSessionOptions, sessionPolicy } from '../session/policy.ts';
import type { Refusal } from './admission.ts';
import { Door } from './door.ts';
import { lengthPrefixedFrameLength, PREFIX_BYTES } from './length-prefix.ts';
import { type ListenOptions, listenOn } from './listen.ts';
import { type EchoServerOptions, echoServerSettings } from './options.ts';

export interface EchoServer {
  readonly hub: HeartbeatHub;
  readonly server: Server;
  /** Links of this server now. */
  readonly links: number;
  /** Connections turned away so far, by code. */
  readonly refused: Readonly<Record<Refusal, number>>;
  /** Listen on a port (0: any free one), an address, a unix socket. Resolves with the address in use. */
  listen(where?: number | ListenOptions, host?: string): Promise<AddressInfo | string>;
  /** Where it listens; null when it does not. */
  address(): AddressInfo | string | null;
  /** Stop accepting, say GOAWAY on every link, wait at most `drainMs` (default 0), close. */
  close(options?: { drainMs?: number }): Promise<void>;
}

/** As Node has it by default. */
const MAX_HANDSHAKE_MS = 120_000;

export function createEchoServer(options: EchoServerOptions = {}): EchoServer {
  const settings = echoServerSettings(options);
  const attachOptions = attachOptionsOf(options, settings);
  const hub = options.hub ?? new HeartbeatHub();
  const door = new Door(hub, settings, attachOptions);
  const server = serverOf(options.tls, settings.firstLifeMs);
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', door.accept);
  if (options.tune !== false) tuneServer(server, options.tune);
  /** TLS: every connection under its encryption, as those in their handshake are nobody's link. */
  const encrypted = new Set<Socket>();
  if (options.tls !== undefined) {
    server.on('connection', (socket: Socket) => {
      encrypted.add(socket);
      socket.once('close', () => encrypted.delete(socket));
    });
  }

  return {
    hub,
    server,
    refused: door.refused,
    get links() {
      return door.links;
    },
    listen(where = {}, host) {
      const asked = typeof where === 'number' ? { port: where, ...(host !== undefined && { host }) } : where;
      return listenOn(server, asked);
    },
    address: () => server.address(),
    async close({ drainMs = 0 } = {}) {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      await (options.hub === undefined ? hub.close({ drainMs }) : door.leave(drainMs));
      door.close();
      for (const socket of encrypted) socket.destroy();
      await stopped;
    },
  };
}

/** A TLS handshake is part of the time in which a connection must show life. */
function serverOf(tls: TlsOptions | undefined, firstLifeMs: number): Server {
  if (tls === undefined) return createServer();
  const server = createTlsServer({ handshakeTimeout: Math.min(firstLifeMs, MAX_HANDSHAKE_MS), ...tls });
  // Node only tells of a handshake that failed or took too long; the connection would stay.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

/** One options object for all links of a server. */
function attachOptionsOf(
  options: EchoServerOptions,
  settings: ReturnType<typeof echoServerSettings>,
): AttachOptions {
  const { firstLifeMs, reserved, maxPayloadBytes, maxQueuedBytes } = settings;
  const session = { ...pickSessionOptions(options), firstLifeMs };
  sessionPolicy(session); // refuse a bad option now, not at the first connection
  if (settings.mode === 'heartbeat') return { ...session, reserved };
  return {
    ...session,
    reserved,
    host: {
      frameLength: lengthPrefixedFrameLength,
      maxFrameBytes: PREFIX_BYTES + maxPayloadBytes,
      onFrame(link, bytes) {
        const { socket } = link;
        const hasRoom = link.write(Buffer.from(bytes)); // the view is only ours during the call
        // Not without back-pressure, as `drain` would not come; not twice for the frames of one chunk.
        if (hasRoom || socket.writableLength <= maxQueuedBytes || socket.isPaused()) return;
        link.pause();
        socket.once('drain', () => link.resume());
      },
    },
  };
}
