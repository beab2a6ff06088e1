/**
 * The reference server: answers heartbeats on every connection and, in mixed mode, echoes length-prefixed frames on
 * the same connection. It is the counterpart of the commands and of implementations in other languages, and the
 * shortest complete example of a server that embeds heartbeats.
 */
import type { AddressInfo, Server } from 'node:net';
import { integerIn, knownKeys, numberIn } from '../base/assert.ts';
import { HeartbeatHub } from '../net/hub.ts';
import { nativeSockets } from '../net/native/native.ts';
import type { TuneOptions } from '../net/tuning/options.ts';
import { tuneServer } from '../net/tuning/tune-server.ts';
import type { AttachOptions } from '../net/types.ts';
import { MAX_DETECTION_MS } from '../session/negotiation.ts';
import { pickSessionOptions, sessionPolicy } from '../session/policy.ts';
import type { Refusal } from './admission.ts';
import { Door } from './door.ts';
import { Entrance } from './entrance.ts';
import { lengthPrefixedFrameLength, PREFIX_BYTES } from './length-prefix.ts';
import { Listener, type ListenOptions } from './listen.ts';
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
   * Stop accepting, say GOAWAY on every link, wait until they are closed; those left when the time to drain is over
   * are ended then. Until a link is closed it goes on beating, answering and echoing. A closed server stays closed.
   */
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  /** Longest wait until the links are closed, ms, 0..300 000. Default 0. */
  drainMs?: number;
  /** The GOAWAYs are spread over this, ms, 0..drainMs. Default: a quarter of drainMs, 2 000 at most. */
  spreadMs?: number;
  /**
   * How long clients are told to stay away, ms; each waits 1 to 1.5 times as long, so that they do not return as one.
   * 0: as they like. Infinity: for good. Default: one second, and one more for every thousand links.
   */
  retryAfterMs?: number;
}

const MAX_DRAIN_MS = 300_000;
const MAX_SPREAD_MS = 2_000;
/** The kernel's patience exceeds the longest verdict by this. */
const KERNEL_MARGIN_MS = 60_000;
/** Returns spread over half of the time to stay away: with one ms per link no more than two come in a ms. */
const AWAY_MS_PER_LINK = 1;
const LEAST_AWAY_MS = 1_000;
/** Clients wait five minutes at most, so that a longer time would bring them back all at once. */
const MOST_AWAY_MS = 200_000;

/** For how long the clients of so many links are told to stay away, ms. */
export function awayMs(links: number): number {
  return Math.min(LEAST_AWAY_MS + AWAY_MS_PER_LINK * links, MOST_AWAY_MS);
}

export function createEchoServer(options: EchoServerOptions = {}): EchoServer {
  const settings = echoServerSettings(options);
  const attachOptions = attachOptionsOf(options, settings);
  const hub = options.hub ?? new HeartbeatHub();
  const door = new Door(hub, settings, attachOptions);
  const entrance = new Entrance(door, { ...settings, tls: options.tls });
  const { server } = entrance;
  const listener = new Listener(server);
  if (options.tune !== false) tuneServer(server, { ...kernelPatience(), ...options.tune });

  return {
    hub,
    server,
    refused: door.refused,
    get links() {
      return door.links;
    },
    listen(where = {}, host) {
      const asked = typeof where === 'number' ? { port: where, ...(host !== undefined && { host }) } : where;
      return listener.listen(asked);
    },
    address: () => server.address(),
    async close(asked = {}) {
      const { drainMs, spreadMs, retryAfterMs } = checkCloseOptions(asked, door.links);
      const stopped = listener.stop();
      try {
        await door.leave(drainMs, spreadMs, retryAfterMs);
      } finally {
        if (options.hub === undefined) await hub.close();
        door.close();
        entrance.destroy();
        await stopped;
      }
    },
  };
}

/** The longest verdict that peers can agree on with us comes first; without the kernel a stalled peer is cut anyway. */
function kernelPatience(): TuneOptions {
  return nativeSockets() === undefined ? {} : { userTimeoutMs: MAX_DETECTION_MS + KERNEL_MARGIN_MS };
}

function checkCloseOptions(options: CloseOptions, links: number): Required<CloseOptions> {
  knownKeys('options', options, ['drainMs', 'spreadMs', 'retryAfterMs']);
  const drainMs = integerIn('drainMs', options.drainMs ?? 0, 0, MAX_DRAIN_MS);
  const spreadMs = numberIn('spreadMs', options.spreadMs ?? Math.min(drainMs / 4, MAX_SPREAD_MS), 0, drainMs);
  const retryAfterMs = numberIn('retryAfterMs', options.retryAfterMs ?? awayMs(links), 0, Infinity);
  return { drainMs, spreadMs, retryAfterMs };
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
