/**
 * Do the settings of a link fit each other, the kernel's keepalive, the path and the peer? The one place that knows:
 * `sessionPolicy` throws the errors, commands print the warnings.
 *
 * Expects values that are each within their own range (`sessionPolicy` checks that). Pure; O(1). An error is a
 * conflict: a setting cannot work, or another one, the kernel, the path or a peer puts it out of force. A warning: they
 * do something other than they seem to.
 */
import { knownKeys, numberIn, oneOf } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';
import {
  type KeepAliveAsked,
  type KeepAliveTimes,
  keepAliveGivesUpMs,
  keepAliveProblem,
} from './kernel-patience.ts';
import { MAX_DETECTION_MS } from './negotiation.ts';
import { INITIAL_RTO_MS } from './rtt.ts';

/** When middleboxes forget an idle flow, ms: usual translators (NAT), and three families of cloud load balancers. */
export const PATH_IDLE_LIMITS_MS = Object.freeze({
  nat: 300_000,
  'balancer-350': 350_000,
  'balancer-900': 900_000,
  'balancer-3600': 3_600_000,
});

/** What is judged together. Durations in ms; what is unset is not judged. */
export interface CoherenceInput {
  readonly intervalMs: number;
  readonly deadAfter: number;
  readonly suspectAfter?: number;
  readonly tickMs?: number;
  readonly probeEveryMs?: number;
  readonly probeLimitMs?: number;
  readonly firstLifeMs?: number;
  /** The kernel's keepalive on this socket; false: off. An unset count contradicts no user time-out. */
  readonly keepAlive?: false | KeepAliveAsked;
  /** The kernel's patience with unacknowledged data (TCP_USER_TIMEOUT); false: its own, a quarter of an hour. */
  readonly userTimeoutMs?: false | number;
  /** Who keeps it; a process that does it in the kernel's place leaves keepalive as it is. Default kernel. */
  readonly userTimeoutBy?: 'kernel' | 'process';
  /** After this long without a packet the path forgets the flow. Unset: the shortest common limit, warnings only. */
  readonly pathIdleLimitMs?: number;
  /** The shortest interval the server is willing to receive (its REQUIRED_MIN_RX). */
  readonly serverMinimumMs?: number;
  /** The longest detection time that peers agree to. Unset: the usual one, a warning only. */
  readonly peerMaximumMs?: number;
}

export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code:
    | 'tick-too-coarse'
    | 'suspect-after-death'
    | 'probes-overlap'
    | 'path-forgets'
    | 'path-idle-limit'
    | 'single-miss'
    | 'no-time-to-refute'
    | 'detection-too-long'
    | 'first-life-short'
    | 'kernel-first'
    | 'keepalive-seconds'
    | 'user-timeout-zero'
    | 'user-timeout-first'
    | 'user-timeout-replaces-count'
    | 'server-minimum';
  /** The option to change. */
  readonly option: string;
  /** Starts with the option's name; has the numbers in it. */
  readonly message: string;
}

/** One finding of the rule, or none. */
type Rule = (given: CoherenceInput) => Finding | undefined;

/** The least time-out of a suspect probe, ms: a suspect needs that long to answer. */
const MIN_PROBE_ANSWER_MS = 200;

const finding = (
  severity: Finding['severity'],
  code: Finding['code'],
  option: string,
  rest: string,
): Finding => ({
  severity,
  code,
  option,
  message: `${option} ${rest}`,
});

const RULES: readonly Rule[] = [
  ({ intervalMs, tickMs = 0 }) =>
    tickMs * 10 <= intervalMs
      ? undefined
      : finding(
          'error',
          'tick-too-coarse',
          'tickMs',
          `must be at most a tenth of intervalMs (${intervalMs}), got ${tickMs}`,
        ),

  ({ deadAfter, suspectAfter = 1 }) =>
    deadAfter === 1 || suspectAfter <= deadAfter
      ? undefined
      : finding(
          'error',
          'suspect-after-death',
          'suspectAfter',
          `must be at most deadAfter (${deadAfter}), got ${suspectAfter}`,
        ),

  ({ probeEveryMs = Infinity, probeLimitMs = 0 }) =>
    probeLimitMs <= probeEveryMs
      ? undefined
      : finding(
          'error',
          'probes-overlap',
          'probeLimitMs',
          `must be at most probeEveryMs (${probeEveryMs}), got ${probeLimitMs}`,
        ),

  pathRule,

  ({ deadAfter, intervalMs }) =>
    deadAfter > 1
      ? undefined
      : finding(
          'warning',
          'single-miss',
          'deadAfter',
          `1 leaves no time to ask again: ${intervalMs} ms of silence are death`,
        ),

  ({ deadAfter, suspectAfter = 1, intervalMs }) => {
    const windowMs = Math.round((deadAfter - suspectAfter) * intervalMs);
    if (deadAfter === 1 || windowMs < 0 || windowMs >= MIN_PROBE_ANSWER_MS) return undefined;
    const rest = `${suspectAfter} leaves a suspect ${windowMs} ms, and an answer may take ${MIN_PROBE_ANSWER_MS}`;
    return finding('warning', 'no-time-to-refute', 'suspectAfter', rest);
  },

  ({ deadAfter, intervalMs, peerMaximumMs }) => {
    const deadMs = deadAfter * intervalMs;
    const mostMs = peerMaximumMs ?? MAX_DETECTION_MS;
    if (deadMs <= mostMs) return undefined;
    const sum = `${intervalMs} x deadAfter ${deadAfter} is ${deadMs} ms`;
    const severity = peerMaximumMs === undefined ? 'warning' : 'error';
    const rest = `${sum}: peers that negotiate refuse more than ${mostMs}`;
    return finding(severity, 'detection-too-long', 'intervalMs', rest);
  },

  ({ firstLifeMs = Infinity }) =>
    firstLifeMs >= INITIAL_RTO_MS
      ? undefined
      : finding(
          'warning',
          'first-life-short',
          'firstLifeMs',
          `${firstLifeMs} is below the ${INITIAL_RTO_MS} ms a first answer may take: who only answers is closed`,
        ),

  ({ keepAlive = false }) => {
    const problem = keepAlive === false ? undefined : keepAliveProblem(keepAlive);
    if (problem === undefined) return undefined;
    const [option = '', ...rest] = problem.split(' ');
    return finding('error', 'keepalive-seconds', option, rest.join(' '));
  },

  ({ userTimeoutMs }) =>
    userTimeoutMs === 0
      ? finding(
          'error',
          'user-timeout-zero',
          'userTimeoutMs',
          "0 is the kernel's own rule, not none: say false",
        )
      : undefined,

  // Our next beat puts data in flight, and then keepalive asks nothing: it must be done before.
  ({ keepAlive = false, userTimeoutMs = false, userTimeoutBy = 'kernel', intervalMs }) => {
    if (!isTaken(keepAlive) || (userTimeoutMs !== false && userTimeoutBy === 'kernel')) return undefined;
    const kernelMs = keepAliveGivesUpMs(keepAlive);
    if (kernelMs >= intervalMs) return undefined;
    const sum = `${keepAlive.idleMs} + ${keepAlive.count} x ${keepAlive.intervalMs} = ${kernelMs} ms`;
    const rest = `gives up after ${sum}, before our next beat at ${intervalMs}: the kernel decides`;
    return finding('warning', 'kernel-first', 'keepAlive', rest);
  },

  ({ userTimeoutMs = false, userTimeoutBy = 'kernel', deadAfter, intervalMs }) => {
    const neededMs = (deadAfter + 1) * intervalMs;
    if (userTimeoutMs === false || userTimeoutMs === 0 || userTimeoutMs >= neededMs) return undefined;
    const who = userTimeoutBy === 'kernel' ? 'kernel' : 'watch over the queue';
    const limit = `deadAfter ${deadAfter} + 1 intervals (${neededMs})`;
    const rest = `${userTimeoutMs} is below ${limit}: the ${who} decides`;
    return finding('warning', 'user-timeout-first', 'userTimeoutMs', rest);
  },

  ({ keepAlive = false, userTimeoutMs = false, userTimeoutBy = 'kernel' }) => {
    if (!isTaken(keepAlive) || !userTimeoutMs || userTimeoutBy === 'process') return undefined;
    const [withMs, withoutMs] = [keepAliveGivesUpMs(keepAlive, userTimeoutMs), keepAliveGivesUpMs(keepAlive)];
    if (withMs === withoutMs) return undefined;
    const rest = `${userTimeoutMs} takes the place of keepAlive.count ${keepAlive.count}, which is to be left out`;
    const message = `${rest}: a connection that sends nothing is given up after ${withMs} ms, not ${withoutMs}`;
    return finding('error', 'user-timeout-replaces-count', 'userTimeoutMs', message);
  },

  ({ serverMinimumMs = 0, intervalMs }) =>
    intervalMs >= serverMinimumMs
      ? undefined
      : finding(
          'error',
          'server-minimum',
          'intervalMs',
          `${intervalMs} is below what the server takes, ${serverMinimumMs} ms`,
        ),
];

/** A keepalive that the kernel would do as it is told, all of it. */
function isTaken(keepAlive: CoherenceInput['keepAlive']): keepAlive is KeepAliveTimes {
  return keepAlive ? keepAlive.count !== undefined && keepAliveProblem(keepAlive) === undefined : false;
}

/** Beats keep a flow known: one of them may be lost and the next must still come in time. */
function pathRule({ intervalMs, pathIdleLimitMs }: CoherenceInput): Finding | undefined {
  const limitMs = pathIdleLimitMs ?? PATH_IDLE_LIMITS_MS.nat;
  const whose = pathIdleLimitMs === undefined ? 'the idle limit of common NATs' : "the path's idle limit";
  if (pathIdleLimitMs !== undefined && intervalMs >= limitMs) {
    const rest = `must be below ${whose} (${limitMs} ms), better half of it, got ${intervalMs}`;
    return finding('error', 'path-forgets', 'intervalMs', `${rest}: the flow is forgotten between beats`);
  }
  if (2 * intervalMs < limitMs) return undefined;
  const rest = `${intervalMs} is not below half of ${whose} (${limitMs} ms): one lost beat and the flow is forgotten`;
  return finding('warning', 'path-idle-limit', 'intervalMs', rest);
}

/** How each is checked: a number that must or may be there, or by hand. */
const KINDS = {
  intervalMs: 'must',
  deadAfter: 'must',
  suspectAfter: 'may',
  tickMs: 'may',
  probeEveryMs: 'may',
  probeLimitMs: 'may',
  firstLifeMs: 'may',
  pathIdleLimitMs: 'may',
  serverMinimumMs: 'may',
  peerMaximumMs: 'may',
  keepAlive: 'by hand',
  userTimeoutMs: 'by hand',
  userTimeoutBy: 'by hand',
} as const satisfies Record<keyof CoherenceInput, string>;

/** What else a session policy holds: it may be passed whole. */
const POLICY_KEYS = [
  'role',
  'ask',
  'negotiate',
  'requiredMinRxMs',
  'maxReadPausedMs',
  'advice',
  'record',
  'preciseRtt',
];

/** What is no input at all would be judged as if it fitted, since nothing compares with what is missing. */
function checkInput(given: CoherenceInput): void {
  if (typeof given !== 'object' || given === null) throw typeError('given', 'an object', given);
  knownKeys('given', given, [...Object.keys(KINDS), ...POLICY_KEYS]);
  for (const [name, kind] of Object.entries(KINDS)) {
    const value = given[name as keyof CoherenceInput];
    if (kind === 'must' || (kind === 'may' && value !== undefined)) numberIn(name, value, 0, Infinity);
  }
  const { keepAlive = false, userTimeoutMs = false, userTimeoutBy = 'kernel' } = given;
  if (userTimeoutMs !== false) numberIn('userTimeoutMs', userTimeoutMs, 0, Infinity);
  oneOf('userTimeoutBy', userTimeoutBy, ['kernel', 'process']);
  if (keepAlive === false) return;
  if (typeof keepAlive !== 'object' || keepAlive === null) {
    throw typeError('keepAlive', 'false or an object', keepAlive);
  }
  const { idleMs, intervalMs, count = 1 } = keepAlive;
  for (const [name, value] of Object.entries({ idleMs, intervalMs, count })) {
    numberIn(`keepAlive.${name}`, value, 0, Infinity);
  }
}

/**
 * All that does not fit, errors first. Empty: it all fits. `intervalMs` and `deadAfter` must be given; a whole policy
 * may be: `checkCoherence({ ...sessionPolicy({ preset: 'lan' }), keepAlive })`. TypeError for what is unknown, missing
 * or of the wrong type, RangeError for what is no duration.
 */
export function checkCoherence(given: CoherenceInput): Finding[] {
  checkInput(given);
  return RULES.flatMap((rule) => rule(given) ?? []).sort(
    (a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'),
  );
}
