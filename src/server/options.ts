/** What the echo server can be told, the defaults with their reasons, and the checks. */
import type { TlsOptions } from 'node:tls';
import { integerIn, knownKeys, numberIn, oneOf } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';
import type { Check } from '../net/check-runner.ts';
import { HeartbeatHub } from '../net/hub.ts';
import { ATTACH_DEFAULTS } from '../net/options.ts';
import type { TuneOptions } from '../net/tuning/options.ts';
import { SESSION_OPTION_KEYS, type SessionOptions } from '../session/policy.ts';
import { PAYLOAD_LIMIT_BYTES } from './length-prefix.ts';
import { TrustedProxies } from './trusted-proxies.ts';

export interface EchoServerOptions extends SessionOptions {
  /** mixed (default): echoes length-prefixed frames beside heartbeats. heartbeat: heartbeats only. */
  mode?: 'mixed' | 'heartbeat';
  /** Serve TLS with these options (key and cert at least). */
  tls?: TlsOptions;
  /** Watch links on this hub instead of one of the server's own. */
  hub?: HeartbeatHub;
  /**
   * The kernel's part in accepted sockets (`tuneServer`); false leaves them alone. Default: keepalive after 300 s, 5
   * times every 30 s, no Nagle, and where the kernel can be reached (koffi) a user time-out of 360 s: a minute more
   * than the longest detection time that can be agreed on.
   */
  tune?: TuneOptions | false;
  reserved?: 'strict' | 'ignore';
  /** Links at once, 1..1 000 000. One more is told GOAWAY (overloaded). */
  maxLinks?: number;
  /** Links at once from one address, 1..1 000 000; loopback, unix sockets, trusted proxies are exempt. */
  maxLinksPerAddress?: number;
  /** Load balancers in front of this server: addresses and blocks (`10.0.0.0/8`). Default: none. */
  trustedProxies?: readonly string[];
  /** Trusted proxies must send a PROXY header (version 1 or 2), and the client it names counts by address. */
  proxyProtocol?: boolean;
  /** Largest payload echoed, bytes, 0..16 777 215. */
  maxPayloadBytes?: number;
  /** Echoes kept for a peer that does not read, bytes; above it (and above Node's own mark) we stop reading it. */
  maxQueuedBytes?: number;
  /** Heartbeats accepted per second on each link, >= 1, as `AttachOptions.maxFramesPerSecond`. Default 50. */
  maxFramesPerSecond?: number;
  /** Is this service's business well? Asked by peers that send business probes, as `AttachOptions.check`. */
  check?: Check;
  checkLimitMs?: number;
  /** A connection that said nothing valid within this time is closed, HB_ERR_SILENT. Infinity: never. */
  firstLifeMs?: number;
}

export const ECHO_SERVER_DEFAULTS = Object.freeze({
  mode: 'mixed',
  reserved: 'strict',
  /** Above the descriptor limit of most machines, so that the descriptors decide unless told otherwise. */
  maxLinks: 100_000,
  /** A NAT with a whole office behind it passes, a single flooding client does not take all. */
  maxLinksPerAddress: 4_096,
  trustedProxies: [],
  proxyProtocol: false,
  maxPayloadBytes: 2 ** 20,
  maxQueuedBytes: 2 ** 20,
  maxFramesPerSecond: ATTACH_DEFAULTS.maxFramesPerSecond,
  /** A slow TLS or satellite path needs a second or two; a port scanner gets no more than ten. */
  firstLifeMs: 10_000,
} as const);

const KEYS = [
  ...SESSION_OPTION_KEYS,
  'mode',
  'tls',
  'hub',
  'tune',
  'reserved',
  'maxLinks',
  'maxLinksPerAddress',
  'trustedProxies',
  'proxyProtocol',
  'maxPayloadBytes',
  'maxQueuedBytes',
  'maxFramesPerSecond',
  'check',
  'checkLimitMs',
];

/** All settings, checked. Session options are checked by the session itself at the first link. */
export function echoServerSettings(options: EchoServerOptions) {
  knownKeys('options', options, KEYS);
  const given = { ...ECHO_SERVER_DEFAULTS, ...options };
  if (given.hub !== undefined && !(given.hub instanceof HeartbeatHub)) {
    throw typeError('hub', 'a HeartbeatHub', given.hub);
  }
  if (typeof given.proxyProtocol !== 'boolean') {
    throw typeError('proxyProtocol', 'true or false', given.proxyProtocol);
  }
  if (given.proxyProtocol && given.trustedProxies.length === 0) {
    throw typeError('trustedProxies', 'given when proxyProtocol is on', given.trustedProxies);
  }
  return {
    mode: oneOf('mode', given.mode, ['mixed', 'heartbeat']),
    reserved: oneOf('reserved', given.reserved, ['strict', 'ignore']),
    maxLinks: integerIn('maxLinks', given.maxLinks, 1, 1_000_000),
    maxLinksPerAddress: integerIn('maxLinksPerAddress', given.maxLinksPerAddress, 1, 1_000_000),
    trustedProxies: new TrustedProxies(given.trustedProxies),
    proxyProtocol: given.proxyProtocol,
    maxPayloadBytes: integerIn('maxPayloadBytes', given.maxPayloadBytes, 0, PAYLOAD_LIMIT_BYTES - 1),
    maxQueuedBytes: integerIn('maxQueuedBytes', given.maxQueuedBytes, 1, 2 ** 30),
    maxFramesPerSecond: numberIn('maxFramesPerSecond', given.maxFramesPerSecond, 1, Infinity),
    firstLifeMs: numberIn('firstLifeMs', given.firstLifeMs, 1, Infinity),
  };
}
