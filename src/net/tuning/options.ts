/** What can be asked of the kernel about one TCP socket: the options, their defaults with reasons, and the checks. */
import { integerIn, knownKeys } from '../../base/assert.ts';
import { rangeError, typeError } from '../../base/errors.ts';
import { type KeepAliveTimes, keepAliveProblem, MAX_KEEPALIVE_MS } from '../../session/kernel-patience.ts';

export interface TuneOptions {
  /**
   * The kernel's questions on an idle connection: the first after `idleMs` without a packet, then every `intervalMs`,
   * dead after `count` without an answer. Whole seconds, 1 000..32 767 000 ms; count 1..127. false: off. Unset values:
   * 300 s, 30 s, 5.
   */
  keepAlive?: false | { idleMs?: number; intervalMs?: number; count?: number };
  /** Disable Nagle's algorithm. Default true. */
  noDelay?: boolean;
  /**
   * How long sent data may stay unacknowledged, or a closed receive window stay closed, before the connection is
   * given up (ETIMEDOUT): TCP_USER_TIMEOUT, 100..2 147 483 647 ms. It also replaces `keepAlive.count`. Without access
   * to the kernel this process watches its own queue instead. false: the kernel's own rule, a quarter of an hour and
   * more. Unset: left as it is.
   */
  userTimeoutMs?: false | number;
}

/** The safety net: far slower than heartbeats, cheap on idle links, within an hour of everything. */
export const TUNE_DEFAULTS = Object.freeze({ idleMs: 300_000, intervalMs: 30_000, count: 5, noDelay: true });

/** Below, the first retransmission of a healthy connection could end it. */
export const MIN_USER_TIMEOUT_MS = 100;
export const MAX_USER_TIMEOUT_MS = 2 ** 31 - 1;
export const MAX_COUNT = 127;

/** Everything that was asked, checked; undefined: leave it as it is. */
export interface TunePlan {
  readonly keepAlive: false | KeepAliveTimes;
  readonly noDelay: boolean;
  readonly userTimeoutMs: false | number | undefined;
}

export const TUNE_OPTION_KEYS = ['keepAlive', 'noDelay', 'userTimeoutMs'] as const;

/** RangeError or TypeError names the option. */
export function tunePlan(options: TuneOptions): TunePlan {
  if (typeof options !== 'object' || options === null) throw typeError('options', 'an object', options);
  knownKeys('options', options, TUNE_OPTION_KEYS);
  const noDelay = askedNoDelay(options.noDelay);
  const { userTimeoutMs } = options;
  if (userTimeoutMs !== undefined && userTimeoutMs !== false)
    checkUserTimeout('userTimeoutMs', userTimeoutMs);
  const keepAlive = askedKeepAlive(options.keepAlive);
  const problem = keepAlive === false ? undefined : keepAliveProblem(keepAlive);
  if (problem !== undefined) throw new RangeError(problem);
  return { keepAlive, noDelay, userTimeoutMs };
}

/** Whether Nagle's algorithm is to be off. */
export function askedNoDelay(asked: boolean = TUNE_DEFAULTS.noDelay): boolean {
  if (typeof asked !== 'boolean') throw typeError('noDelay', 'true or false', asked);
  return asked;
}

/** The keepalive that is asked for: numbers in range, of which `keepAliveProblem` says whether a kernel takes them. */
export function askedKeepAlive(asked: TuneOptions['keepAlive'] = {}): false | KeepAliveTimes {
  if (asked === false) return false;
  if (typeof asked !== 'object' || asked === null) throw typeError('keepAlive', 'false or an object', asked);
  knownKeys('keepAlive', asked, ['idleMs', 'intervalMs', 'count']);
  const {
    idleMs = TUNE_DEFAULTS.idleMs,
    intervalMs = TUNE_DEFAULTS.intervalMs,
    count = TUNE_DEFAULTS.count,
  } = asked;
  return {
    idleMs: integerIn('keepAlive.idleMs', idleMs, 0, MAX_KEEPALIVE_MS),
    intervalMs: integerIn('keepAlive.intervalMs', intervalMs, 0, MAX_KEEPALIVE_MS),
    count: integerIn('keepAlive.count', count, 1, MAX_COUNT),
  };
}

/** A user time-out in ms. 0 would be the kernel's word for its own rule, which here is false. */
export function checkUserTimeout(name: string, value: unknown): number {
  if (value === 0) throw rangeError(name, "false for the kernel's own rule, or at least 100 ms", value);
  return integerIn(name, value, MIN_USER_TIMEOUT_MS, MAX_USER_TIMEOUT_MS);
}
