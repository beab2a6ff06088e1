/**
 * The kernel's own liveness checks: TCP keepalive and Nagle, set through what this Node offers, and an honest report
 * of what is in force. Keepalive is the safety net under the heartbeats: it finds a dead path when this process is
 * too busy to beat, but a hung process still has a kernel that answers for it.
 *
 * Caveats: `setKeepAlive(true, ms)` floors to whole seconds and below 1 000 ms silently keeps the system's 7 200 s,
 * so sub-second values are refused here. Node up to 22 fixes the probe interval at 1 s and the count at 10.
 */
import { type Server, Socket } from 'node:net';
import { integerIn, knownKeys } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';

export interface TuneOptions {
  /** false: switch it off. Unset values: 300 s idle, 30 s interval, 5 probes. */
  keepAlive?: false | { idleMs?: number; intervalMs?: number; count?: number };
  /** Disable Nagle's algorithm. Default true. */
  noDelay?: boolean;
}

/** One setting: what was asked, what holds now, and where that is known from. */
export interface TunedSetting {
  readonly asked: number | boolean;
  /** undefined: not known. */
  readonly inForce: number | boolean | undefined;
  readonly status: 'set' | 'unsupported';
  readonly note?: string;
}

export interface TuneReport {
  /** Where it was set: on this socket, or on each socket as it is accepted. */
  readonly appliedTo: 'socket' | 'each accepted socket';
  readonly settings: Readonly<Record<string, TunedSetting>>;
  /** A dead path of an idle connection is found by the kernel after this long at the latest; Infinity when off. */
  readonly idleDetectionMs: number;
}

/** The safety net: far slower than heartbeats, cheap on idle links, within an hour of everything. */
export const TUNE_DEFAULTS = Object.freeze({ idleMs: 300_000, intervalMs: 30_000, count: 5, noDelay: true });

/** What libuv sets where Node has no arguments for it. */
const FIXED_INTERVAL_MS = 1_000;
const FIXED_COUNT = 10;
/** Largest value the kernel takes for idle and interval: 32 767 s. */
const MAX_KEEPALIVE_MS = 32_767_000;

/** Newer Nodes take `(enable, idleMs, intervalMs, count)`; their function says so by its length. */
type SetKeepAlive = (enable: boolean, idleMs: number, intervalMs?: number, count?: number) => unknown;

const takesIntervalAndCount = Socket.prototype.setKeepAlive.length >= 4;

interface Plan {
  readonly keepAlive:
    | false
    | { readonly idleMs: number; readonly intervalMs: number; readonly count: number };
  readonly noDelay: boolean;
}

function plan(options: TuneOptions): Plan {
  knownKeys('options', options, ['keepAlive', 'noDelay']);
  const noDelay = options.noDelay ?? TUNE_DEFAULTS.noDelay;
  if (typeof noDelay !== 'boolean') throw typeError('noDelay', 'true or false', noDelay);
  const asked = options.keepAlive ?? {};
  if (asked === false) return { keepAlive: false, noDelay };
  if (typeof asked !== 'object') throw typeError('keepAlive', 'false or an object', asked);
  knownKeys('keepAlive', asked, ['idleMs', 'intervalMs', 'count']);
  return {
    keepAlive: {
      idleMs: wholeSeconds('keepAlive.idleMs', asked.idleMs ?? TUNE_DEFAULTS.idleMs),
      intervalMs: wholeSeconds('keepAlive.intervalMs', asked.intervalMs ?? TUNE_DEFAULTS.intervalMs),
      count: integerIn('keepAlive.count', asked.count ?? TUNE_DEFAULTS.count, 1, 127),
    },
    noDelay,
  };
}

/** The kernel counts seconds: anything finer would be cut, and below one second ignored altogether. */
function wholeSeconds(name: string, value: number): number {
  integerIn(name, value, 1_000, MAX_KEEPALIVE_MS);
  if (value % 1_000 !== 0) {
    throw new RangeError(`${name} must be whole seconds in ms (the kernel cuts fractions off), got ${value}`);
  }
  return value;
}

function apply(socket: Socket, { keepAlive, noDelay }: Plan): void {
  socket.setNoDelay(noDelay);
  if (keepAlive === false) socket.setKeepAlive(false);
  else {
    const set = socket.setKeepAlive as SetKeepAlive;
    set.call(socket, true, keepAlive.idleMs, keepAlive.intervalMs, keepAlive.count);
  }
}

function report(
  appliedTo: TuneReport['appliedTo'],
  takesAll: boolean,
  { keepAlive, noDelay }: Plan,
): TuneReport {
  const settings: Record<string, TunedSetting> = {
    noDelay: { asked: noDelay, inForce: noDelay, status: 'set' },
    keepAlive: { asked: keepAlive !== false, inForce: keepAlive !== false, status: 'set' },
  };
  if (keepAlive === false) return { appliedTo, settings, idleDetectionMs: Infinity };
  const note = 'fixed by this Node';
  const intervalMs = takesAll ? keepAlive.intervalMs : FIXED_INTERVAL_MS;
  const count = takesAll ? keepAlive.count : FIXED_COUNT;
  const optional = (asked: number, inForce: number): TunedSetting =>
    takesAll ? { asked, inForce, status: 'set' } : { asked, inForce, status: 'unsupported', note };
  settings.keepAliveIdleMs = { asked: keepAlive.idleMs, inForce: keepAlive.idleMs, status: 'set' };
  settings.keepAliveIntervalMs = optional(keepAlive.intervalMs, intervalMs);
  settings.keepAliveCount = optional(keepAlive.count, count);
  return { appliedTo, settings, idleDetectionMs: keepAlive.idleMs + intervalMs * count };
}

/** Tune one socket now. RangeError or TypeError names the option; nothing is changed then. */
export function tuneSocket(socket: Socket, options: TuneOptions = {}): TuneReport {
  if (typeof socket?.setKeepAlive !== 'function') throw typeError('socket', 'a net.Socket', socket);
  const planned = plan(options);
  apply(socket, planned);
  return report('socket', takesIntervalAndCount, planned);
}

/** Tune every socket this server accepts from now on. */
export function tuneServer(server: Server, options: TuneOptions = {}): TuneReport {
  if (typeof server?.listen !== 'function') throw typeError('server', 'a net.Server', server);
  const planned = plan(options);
  server.prependListener('connection', (socket: Socket) => apply(socket, planned));
  return report('each accepted socket', takesIntervalAndCount, planned);
}
