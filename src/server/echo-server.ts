/**
 * The reference server: answers heartbeats on every connection and, in mixed mode, echoes length-prefixed frames on
 * the same connection. It is the counterpart of the commands and of implementations in other languages, and the
 * shortest complete example of a server that embeds heartbeats.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { HeartbeatHub } from '../net/hub.ts';
import { tuneServer } from '../net/tune.ts';
import type { AttachOptions, Link } from '../net/types.ts';
import { goAwayWord } from '../session/goaway.ts';
import { sessionPolicy } from '../session/policy.ts';
import { Flag, GoAwayReason } from '../wire/constants.ts';
import { encodeFrame } from '../wire/frame.ts';
import { Admission, type Refusal } from './admission.ts';
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

/** What a connection that is turned away may cost us. */
const REFUSED_LINGER_MS = 1_000;
const MAX_REFUSED_LINGERING = 256;

export function createEchoServer(options: EchoServerOptions = {}): EchoServer {
  const settings = echoServerSettings(options);
  const hub = options.hub ?? new HeartbeatHub();
  const admission = new Admission(settings.maxLinks, settings.maxLinksPerAddress);
  const refused: Record<Refusal, number> = { HB_ERR_TOO_MANY_LINKS: 0, HB_ERR_TOO_MANY_FROM_ADDRESS: 0 };
  const addresses = new Map<Link, string>();
  const attachOptions = attachOptionsOf(options, settings);
  let lingering = 0;

  const accept = (socket: Socket): void => {
    const address = socket.remoteAddress ?? '';
    const refusal = admission.admit(address);
    if (refusal === undefined) {
      addresses.set(hub.attach(socket, attachOptions), address);
      return;
    }
    refused[refusal]++;
    socket.on('error', () => {});
    if (lingering >= MAX_REFUSED_LINGERING) {
      socket.destroy();
      return;
    }
    lingering++;
    socket.once('close', () => lingering--);
    turnAway(socket);
  };

  const server = options.tls === undefined ? createServer() : createTlsServer(options.tls);
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', accept);
  if (options.tune !== false) tuneServer(server, options.tune);

  const onClosed = (link: Link): void => {
    const address = addresses.get(link);
    if (address === undefined) return;
    addresses.delete(link);
    admission.leave(address);
  };
  // A peer that takes none of its echoes for a whole detection time cannot be told anything: it is cut.
  const onWriteStall = (link: Link): void => {
    if (addresses.has(link)) link.destroy({ cause: 'peer-not-reading' });
  };
  hub.on('closed', onClosed);
  hub.on('write-stall', onWriteStall);

  return {
    hub,
    server,
    refused,
    get links() {
      return admission.links;
    },
    listen(where = {}, host) {
      const asked = typeof where === 'number' ? { port: where, ...(host !== undefined && { host }) } : where;
      return listenOn(server, asked);
    },
    address: () => server.address(),
    async close({ drainMs = 0 } = {}) {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...addresses.keys()].map((link) => link.leave({ drainMs })));
      if (options.hub === undefined) await hub.close();
      hub.off('closed', onClosed);
      hub.off('write-stall', onWriteStall);
      await stopped;
    },
  };
}

/** One options object for all links of a server. */
function attachOptionsOf(
  options: EchoServerOptions,
  settings: ReturnType<typeof echoServerSettings>,
): AttachOptions {
  const { intervalMs, deadAfter, suspectAfter, role, ask, preciseRtt } = options;
  const { firstLifeMs, reserved, maxPayloadBytes, maxQueuedBytes } = settings;
  const session = { intervalMs, deadAfter, suspectAfter, role, ask, preciseRtt, firstLifeMs };
  sessionPolicy(session); // refuse a bad option now, not at the first connection
  if (settings.mode === 'heartbeat') return { ...session, reserved };
  return {
    ...session,
    reserved,
    host: {
      frameLength: lengthPrefixedFrameLength,
      maxFrameBytes: PREFIX_BYTES + maxPayloadBytes,
      onFrame(link, bytes) {
        link.write(Buffer.from(bytes)); // the view is only ours during the call
        if (link.socket.writableLength > maxQueuedBytes) {
          link.pause();
          link.socket.once('drain', () => link.resume());
        }
      },
    },
  };
}

/** Say GOAWAY (overloaded) and close; whatever the peer sends meanwhile is thrown away. */
function turnAway(socket: Socket): void {
  const timestamp = goAwayWord(GoAwayReason.Overloaded, 0);
  socket.end(encodeFrame({ flags: Flag.GoAway | Flag.Param, seq: 0, timestamp }));
  socket.resume();
  socket.setTimeout(REFUSED_LINGER_MS, () => socket.destroy());
}
