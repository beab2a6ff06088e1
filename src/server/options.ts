/** What the echo server can be told, the defaults with their reasons, and the checks. */
import type { TlsOptions } from 'node:tls';
import { integerIn, knownKeys, numberIn, oneOf } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';
import { HeartbeatHub } from '../net/hub.ts';
import type { TuneOptions } from '../net/tune.ts';
import { SESSION_OPTION_KEYS, type SessionOptions } from '../session/policy.ts';
import { PAYLOAD_LIMIT_BYTES } from './length-prefix.ts';

export interface EchoServerOptions extends SessionOptions {
  /** mixed (default): echoes length-prefixed frames beside heartbeats. heartbeat: heartbeats only. */
  mode?: 'mixed' | 'heartbeat';
  /** Serve TLS with these options (key and cert at least). */
  tls?: TlsOptions;
  /** Watch links on this hub instead of one of the server's own. */
  hub?: HeartbeatHub;
  /** Kernel keepalive and Nagle of accepted sockets; false leaves them alone. */
  tune?: TuneOptions | false;
  reserved?: 'strict' | 'ignore';
  /** Links at once, 1..1 000 000. One more is told GOAWAY (overloaded). */
  maxLinks?: number;
  /** Links at once from one address, 1..1 000 000; loopback and unix sockets are exempt. */
  maxLinksPerAddress?: number;
  /** Largest payload echoed, bytes, 0..16 777 215. */
  maxPayloadBytes?: number;
  /** Echoes kept for a peer that does not read, bytes; above it (and above Node's own mark) we stop reading it. */
  maxQueuedBytes?: number;
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
  maxPayloadBytes: 2 ** 20,
  maxQueuedBytes: 2 ** 20,
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
  'maxPayloadBytes',
  'maxQueuedBytes',
];

/** All settings, checked. Session options are checked by the session itself at the first link. */
export function echoServerSettings(options: EchoServerOptions) {
  knownKeys('options', options, KEYS);
  const given = { ...ECHO_SERVER_DEFAULTS, ...options };
  if (given.hub !== undefined && !(given.hub instanceof HeartbeatHub)) {
    throw typeError('hub', 'a HeartbeatHub', given.hub);
  }
  return {
    mode: oneOf('mode', given.mode, ['mixed', 'heartbeat']),
    reserved: oneOf('reserved', given.reserved, ['strict', 'ignore']),
    maxLinks: integerIn('maxLinks', given.maxLinks, 1, 1_000_000),
    maxLinksPerAddress: integerIn('maxLinksPerAddress', given.maxLinksPerAddress, 1, 1_000_000),
    maxPayloadBytes: integerIn('maxPayloadBytes', given.maxPayloadBytes, 0, PAYLOAD_LIMIT_BYTES - 1),
    maxQueuedBytes: integerIn('maxQueuedBytes', given.maxQueuedBytes, 1, 2 ** 30),
    firstLifeMs: numberIn('firstLifeMs', given.firstLifeMs, 1, Infinity),
  };
}
