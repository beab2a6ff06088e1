/** Checks of what callers pass in: every refusal names the option and shows the value. */
import type { Socket } from 'node:net';
import { functionOf, integerIn, knownKeys, numberIn, oneOf } from '../base/assert.ts';
import { typeError, WirebeatError } from '../base/errors.ts';
import { MAX_INTERVAL_MS, MIN_INTERVAL_MS, SESSION_OPTION_KEYS } from '../session/policy.ts';
import { ownerOf } from './ownership.ts';
import { checkUserTimeout } from './tuning/options.ts';
import type { AttachOptions, HostProtocol, LeaveOptions, LinkRates } from './types.ts';

export const ATTACH_DEFAULTS = Object.freeze({
  /** C peers that copy a zeroed struct pass; padding garbage is caught on the first frame. */
  reserved: 'strict',
  noDelay: true,
  /** Below the 5 s after which the peer that asks calls us hung. */
  checkLimitMs: 3_000,
  /** 16 MiB: the largest frame of the reference host protocol is just below. */
  maxFrameBytes: 2 ** 24,
  /** Four of the largest host frames: no host that heeds back-pressure gets there, and memory stays bounded. */
  maxQueuedBytes: 2 ** 26,
  /** Five times what a peer with the shortest legal interval sends, probes and answers included. */
  maxFramesPerSecond: 50,
  /** GoAwayReason.Leaving. */
  leaveReason: 1,
  /** Long enough for a slow request to finish, short enough for a deployment. */
  drainMs: 30_000,
} as const);

const MAX_DRAIN_MS = 300_000;

const ATTACH_KEYS = [
  ...SESSION_OPTION_KEYS,
  'host',
  'head',
  'context',
  'reserved',
  'firstPhase',
  'noDelay',
  'userTimeout',
  'onPong',
  'check',
  'checkLimitMs',
  'maxQueuedBytes',
  'maxFramesPerSecond',
];

const HOST_KEYS = ['frameLength', 'onFrame', 'delivery', 'maxFrameBytes', 'outboundFrameLength'];

export function checkAttachOptions(options: AttachOptions): void {
  if (typeof options !== 'object' || options === null) throw typeError('options', 'an object', options);
  knownKeys('options', options, ATTACH_KEYS);
  if (options.head !== undefined && !(options.head instanceof Uint8Array)) {
    throw typeError('head', 'a Uint8Array', options.head);
  }
  if (options.reserved !== undefined) oneOf('reserved', options.reserved, ['strict', 'ignore']);
  if (options.firstPhase !== undefined) {
    numberIn('firstPhase', options.firstPhase, 0, 1 - Number.EPSILON);
  }
  if (options.noDelay !== undefined && typeof options.noDelay !== 'boolean') {
    throw typeError('noDelay', 'true or false', options.noDelay);
  }
  const { userTimeout } = options;
  if (userTimeout !== undefined && userTimeout !== false && userTimeout !== 'follow') {
    checkUserTimeout('userTimeout', userTimeout);
  }
  if (options.check !== undefined) functionOf('check', options.check);
  if (options.checkLimitMs !== undefined) integerIn('checkLimitMs', options.checkLimitMs, 1, 2 ** 31);
  if (options.maxQueuedBytes !== undefined) numberIn('maxQueuedBytes', options.maxQueuedBytes, 0, Infinity);
  if (options.maxFramesPerSecond !== undefined) {
    numberIn('maxFramesPerSecond', options.maxFramesPerSecond, 1, Infinity);
  }
  if (options.onPong !== undefined) functionOf('onPong', options.onPong);
  if (options.host !== undefined) checkHost(options.host);
}

function checkHost(host: HostProtocol): void {
  if (typeof host !== 'object' || host === null) throw typeError('host', 'an object', host);
  knownKeys('host', host, HOST_KEYS);
  functionOf('host.frameLength', host.frameLength);
  functionOf('host.onFrame', host.onFrame);
  if (host.delivery !== undefined) oneOf('host.delivery', host.delivery, ['whole', 'pieces']);
  if (host.maxFrameBytes !== undefined) integerIn('host.maxFrameBytes', host.maxFrameBytes, 1, 2 ** 31 - 1);
  if (host.outboundFrameLength !== undefined) {
    functionOf('host.outboundFrameLength', host.outboundFrameLength);
  }
}

/** Refuse a socket that cannot carry a link, and say why. */
export function checkSocket(socket: Socket): void {
  if (typeof socket?.write !== 'function' || typeof socket.on !== 'function') {
    throw typeError('socket', 'a net.Socket or tls.TLSSocket', socket);
  }
  const refuse = (why: string): never => {
    throw new WirebeatError('HB_ERR_SOCKET_STATE', `socket cannot be attached: ${why}`);
  };
  if (ownerOf(socket) !== undefined) refuse('it has a link already');
  if (socket.destroyed) refuse('it is destroyed');
  if (socket.writableEnded) refuse('its writing side was ended');
  if (socket.readableEnded) refuse('the peer has ended its side already');
  if (socket.listenerCount('data') > 0 || socket.listenerCount('readable') > 0) {
    refuse(
      'somebody else reads it (a data or readable listener); the link owns reads, pass bytes read as head',
    );
  }
  if (socket.readableEncoding !== null) refuse('setEncoding was called on it; heartbeats need bytes');
}

export function checkRates(rates: LinkRates): LinkRates {
  if (typeof rates !== 'object' || rates === null) throw typeError('rates', 'an object', rates);
  knownKeys('rates', rates, ['desiredMinTxMs', 'requiredMinRxMs', 'detectMultiplier']);
  const { desiredMinTxMs, requiredMinRxMs, detectMultiplier } = rates;
  return {
    ...(desiredMinTxMs !== undefined && {
      desiredMinTxMs: integerIn('desiredMinTxMs', desiredMinTxMs, MIN_INTERVAL_MS, MAX_INTERVAL_MS),
    }),
    ...(requiredMinRxMs !== undefined && {
      requiredMinRxMs: integerIn('requiredMinRxMs', requiredMinRxMs, MIN_INTERVAL_MS, MAX_INTERVAL_MS),
    }),
    ...(detectMultiplier !== undefined && {
      detectMultiplier: integerIn('detectMultiplier', detectMultiplier, 1, 255),
    }),
  };
}

export function checkLeaveOptions(options: LeaveOptions): Required<LeaveOptions> {
  knownKeys('options', options, ['reason', 'retryAfterMs', 'drainMs']);
  return {
    reason: integerIn('reason', options.reason ?? ATTACH_DEFAULTS.leaveReason, 0, 255),
    retryAfterMs: numberIn('retryAfterMs', options.retryAfterMs ?? 0, 0, Infinity),
    drainMs: integerIn('drainMs', options.drainMs ?? ATTACH_DEFAULTS.drainMs, 0, MAX_DRAIN_MS),
  };
}
