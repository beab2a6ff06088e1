/**
 * The reference server: answers heartbeats on every connection and, in mixed mode, echoes length-prefixed frames on
 * the same connection. It is the counterpart of the commands and of implementations in other languages, and the
 * shortest complete example of a server that embeds heartbeats.
 */
import type { AddressInfo, Server } from 'node:net';
import { integerIn, knownKeys, numberIn } from '../base/assert.ts';
import { HeartbeatHub } from '../net/hub.ts';
import { tuneServer } from '../net/tune.ts';
import type { AttachOptions } from '../net/types.ts';
import { pickSessionOptions, sessionPolicy } from '../session/policy.ts';
import type { Refusal } from './admission.ts';
import { Door } from './door.ts';
import { Entrance } from './entrance.ts';
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
  /**
   * Stop accepting, say GOAWAY on every link, wait at most `drainMs` (0..300 000, default 0) until they are closed;
   * those left are ended then. Until a link is closed it goes on beating, answering and echoing. The GOAWAYs are
   * spread over `spreadMs` (default: a quarter of drainMs, 2 000 at most), so that not all clients return at once.
   */
  close(options?: { drainMs?: number; spreadMs?: number }): Promise<void>;
}

const MAX_DRAIN_MS = 300_000;
const MAX_SPREAD_MS = 2_000;

export function createEchoServer(options: EchoServerOptions = {}): EchoServer {
  const settings = echoServerSettings(options);
  const attachOptions = attachOptionsOf(options, settings);
  const hub = options.hub ?? new HeartbeatHub();
  const door = new Door(hub, settings, attachOptions);
  const entrance = new Entrance(door, { ...settings, tls: options.tls });
  const { server } = entrance;
  if (options.tune !== false) tuneServer(server, options.tune);

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
    async close(asked = {}) {
      const { drainMs, spreadMs } = checkCloseOptions(asked);
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      try {
        await door.leave(drainMs, spreadMs);
      } finally {
        if (options.hub === undefined) await hub.close();
        door.close();
        entrance.destroy();
        await stopped;
      }
    },
  };
}

function checkCloseOptions(options: { drainMs?: number; spreadMs?: number }) {
  knownKeys('options', options, ['drainMs', 'spreadMs']);
  const drainMs = integerIn('drainMs', options.drainMs ?? 0, 0, MAX_DRAIN_MS);
  const spreadMs = numberIn('spreadMs', options.spreadMs ?? Math.min(drainMs / 4, MAX_SPREAD_MS), 0, drainMs);
  return { drainMs, spreadMs };
}

/** One options object for all links of a server. */
function attachOptionsOf(
  options: EchoServerOptions,
  settings: ReturnType<typeof echoServerSettings>,
): AttachOptions {
  const { firstLifeMs, reserved, maxFramesPerSecond, maxPayloadBytes, maxQueuedBytes } = settings;
  const { check, checkLimitMs } = options;
  const asked = { ...(check && { check }), ...(checkLimitMs !== undefined && { checkLimitMs }) };
  const session = { ...pickSessionOptions(options), firstLifeMs };
  sessionPolicy(session); // refuse a bad option now, not at the first connection
  if (settings.mode === 'heartbeat') return { ...session, ...asked, reserved, maxFramesPerSecond };
  return {
    ...session,
    ...asked,
    reserved,
    maxFramesPerSecond,
    maxQueuedBytes: Infinity, // a peer that does not read is no longer read either, long before
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
