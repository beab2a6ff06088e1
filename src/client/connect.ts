/**
 * Connect to a service that speaks heartbeats and get the link. Resolves when the peer has shown a first sign of life,
 * because a bare TCP connect proves nothing: a load balancer accepts for a server that is gone.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { integerIn, numberIn, oneOf } from '../base/assert.ts';
import { typeError, WirebeatError } from '../base/errors.ts';
import { defaultHub, type HeartbeatHub } from '../net/hub.ts';
import { nativeSockets } from '../net/native/native.ts';
import type { AttachOptions, HostProtocol, Link } from '../net/types.ts';
import { pickSessionOptions, sessionPolicy } from '../session/policy.ts';
import { Returns } from './returns.ts';

export interface ConnectOptions extends Omit<AttachOptions, 'host' | 'head' | 'userTimeout'> {
  /**
   * As `AttachOptions.userTimeout`. Default: follow where the kernel can be reached (koffi) and the TCP connection
   * carries heartbeats alone; else false.
   */
  userTimeout?: 'follow' | false | number;
  /** TCP port; or `path`. */
  port?: number;
  /** Name or address; default 127.0.0.1. */
  host?: string;
  /** A unix socket. */
  path?: string;
  /** Present: the connection is shared with this protocol (`AttachOptions.host`). */
  protocol?: HostProtocol;
  /** true, or options of `tls.connect`: speak TLS. */
  tls?: boolean | ConnectionOptions;
  /** The hub that watches the link; default: the process's own. */
  hub?: HeartbeatHub;
  /** Gives up the attempt; the promise rejects with its reason. */
  signal?: AbortSignal;
  /** Longest wait until the promise settles, ms. Default 10 000. */
  timeoutMs?: number;
  /** up (default): resolve at the first sign of life. connect: as soon as the connection stands. */
  waitFor?: 'up' | 'connect';
  /**
   * Obey what the server told earlier links of ours (GOAWAY): wait as long as it asked before the connection is opened,
   * and send no faster than it allows. The wait is not part of `timeoutMs`; `signal` ends it.
   */
  returns?: Returns;
}

const CONNECT_DEFAULTS = Object.freeze({ host: '127.0.0.1', timeoutMs: 10_000, waitFor: 'up' } as const);

/**
 * Rejects with the system's code (ECONNREFUSED, ENOTFOUND ...), HB_ERR_TIMEOUT, HB_ERR_NEVER_ANSWERED, HB_ERR_CLOSED
 * (also when the server's first word is that it is leaving), the protocol error's code, or the signal's reason;
 * nothing is left open then. TypeError or RangeError for options.
 */
export async function connectHeartbeat(options: ConnectOptions): Promise<Link> {
  const { port, host, path, tls, hub, signal, timeoutMs, waitFor, protocol, returns, ...own } = options;
  const settings = checked(options);
  const attach = protocol === undefined ? own : { ...own, host: protocol };
  signal?.throwIfAborted();
  const link =
    returns === undefined
      ? open(settings, tls, hub, attach)
      : await openAgain(returns, settings, tls, hub, attach, signal);
  const { socket } = link;
  const settled = settings.waitFor === 'up' ? link.whenUp() : connected(socket, link);
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const givenUp = new Promise<never>((_resolve, reject) => {
    if (settings.timeoutMs !== Infinity) {
      timer = setTimeout(() => reject(timedOut(settings)), settings.timeoutMs);
    }
    onAbort = () => reject(signal?.reason);
    // It may have been aborted while the link was on its way to us.
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    const isUp = await Promise.race([settled, givenUp]);
    // A server that is full speaks once, to say goodbye: that is no connection to hand on.
    if (isUp && link.state !== 'leaving' && link.state !== 'closed') return link;
    throw failed(settings, await Promise.race([link.whenClosed(), givenUp]));
  } catch (error) {
    link.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}

interface Settings {
  port: number;
  host: string;
  path: string | undefined;
  timeoutMs: number;
  waitFor: 'up' | 'connect';
}

function checked(options: ConnectOptions): Settings {
  const { host, timeoutMs, waitFor } = { ...CONNECT_DEFAULTS, ...options };
  if (typeof host !== 'string' || host === '') throw typeError('host', 'a host name or address', host);
  if (options.path !== undefined && (typeof options.path !== 'string' || options.path === '')) {
    throw typeError('path', 'a socket path', options.path);
  }
  const port = options.path === undefined ? integerIn('port', options.port, 1, 65_535) : 0;
  numberIn('timeoutMs', timeoutMs, 1, Infinity);
  if (timeoutMs !== Infinity) numberIn('timeoutMs', timeoutMs, 1, 2 ** 31 - 1);
  oneOf('waitFor', waitFor, ['up', 'connect']);
  if (options.returns !== undefined && !(options.returns instanceof Returns)) {
    throw typeError('returns', 'a Returns', options.returns);
  }
  return { port, host, path: options.path, timeoutMs, waitFor };
}

function openSocket({ port, host, path }: Settings, tls: ConnectOptions['tls']): Socket {
  const where = path === undefined ? { port, host } : { path };
  if (tls === undefined || tls === false) return connectTcp(where);
  const asked = tls === true ? {} : tls;
  // A name is what certificates are checked against; an address is none.
  const servername = path === undefined && isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ ...servername, ...asked, ...where });
}

function open(
  settings: Settings,
  tls: ConnectOptions['tls'],
  hub: HeartbeatHub = defaultHub(),
  attach: AttachOptions,
): Link {
  const socket = openSocket(settings, tls);
  try {
    return hub.attach(socket, { firstPhase: 0, ...kernelPatience(settings, attach), ...attach });
  } catch (error) {
    socket.on('error', () => {});
    socket.destroy();
    throw error;
  }
}

/**
 * Whoever connects writes first, and data that nobody acknowledges stops the kernel's keepalive: so its patience
 * follows our verdict. Only where it costs one call; without access to the kernel the verdict alone must do. Not beside
 * a host protocol: to the kernel a living peer that does not read for so long is as dead as any other.
 */
function kernelPatience({ path }: Settings, { host }: AttachOptions): Pick<AttachOptions, 'userTimeout'> {
  const isAlone = path === undefined && host === undefined;
  return isAlone && nativeSockets() !== undefined ? { userTimeout: 'follow' } : {};
}

/** The same when we may come back there, and no faster than we may. */
async function openAgain(
  returns: Returns,
  settings: Settings,
  tls: ConnectOptions['tls'],
  hub: HeartbeatHub = defaultHub(),
  attach: AttachOptions,
  signal: AbortSignal | undefined,
): Promise<Link> {
  const asked = sessionPolicy(pickSessionOptions(attach)); // a bad option is refused before a long wait
  const destination = whereOf(settings);
  await returns.wait(destination, signal);
  const intervalMs = returns.intervalMs(destination, asked.intervalMs);
  const link = open(settings, tls, hub, { ...attach, intervalMs });
  returns.watch(hub, link, destination, intervalMs);
  return link;
}

/** True when the connection stands, false when it closed first. */
function connected(socket: Socket, link: Link): Promise<boolean> {
  const secure = 'encrypted' in socket ? 'secureConnect' : 'connect';
  return Promise.race([
    new Promise<boolean>((resolve) => socket.once(secure, () => resolve(true))),
    link.whenClosed().then(() => false),
  ]);
}

function whereOf({ host, port, path }: Settings): string {
  if (path !== undefined) return `unix:${path}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function timedOut(settings: Settings): WirebeatError {
  return new WirebeatError(
    'HB_ERR_TIMEOUT',
    `${whereOf(settings)} gave no sign of life within ${settings.timeoutMs} ms`,
  );
}

function failed(
  settings: Settings,
  detail: { cause: string; code?: string; reason?: string },
): WirebeatError {
  const code = detail.code ?? (detail.cause === 'never-answered' ? 'HB_ERR_NEVER_ANSWERED' : 'HB_ERR_CLOSED');
  // The system's own messages begin with their code, or nearly.
  const named = detail.reason?.includes(code) || detail.code === undefined ? undefined : detail.code;
  const why = [detail.cause, named, detail.reason].filter((word) => word !== undefined).join(': ');
  return new WirebeatError(code, `${whereOf(settings)} closed before the link was up (${why})`);
}
