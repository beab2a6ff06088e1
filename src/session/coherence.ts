/**
 * Do the settings of a link fit each other, the kernel's keepalive, the path and the peer? The one place that knows:
 * `sessionPolicy` throws the errors, commands print the warnings.
 *
 * Expects values that are each within their own range (`sessionPolicy` checks that). Pure; O(1). An error means that
 * the settings contradict each other or cannot work; a warning, that they do something other than they seem to.
 */
import { MAX_DETECTION_MS } from './negotiation.ts';

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
  /** The kernel's keepalive on this socket; false: off. */
  readonly keepAlive?:
    | false
    | { readonly idleMs: number; readonly intervalMs: number; readonly count: number };
  /** After this long without a packet the path forgets the flow. Unset: the shortest common limit, warnings only. */
  readonly pathIdleLimitMs?: number;
  /** The shortest interval the server is willing to receive (its REQUIRED_MIN_RX). */
  readonly serverMinimumMs?: number;
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

  ({ deadAfter, intervalMs }) => {
    const deadMs = deadAfter * intervalMs;
    if (deadMs <= MAX_DETECTION_MS) return undefined;
    const rest = `${intervalMs} x deadAfter ${deadAfter} is ${deadMs} ms: peers refuse more than ${MAX_DETECTION_MS}`;
    return finding('warning', 'detection-too-long', 'intervalMs', rest);
  },

  ({ firstLifeMs = Infinity, intervalMs }) =>
    firstLifeMs >= intervalMs
      ? undefined
      : finding(
          'warning',
          'first-life-short',
          'firstLifeMs',
          `${firstLifeMs} is below intervalMs ${intervalMs}: who only answers is closed before our first question`,
        ),

  ({ keepAlive = false, deadAfter, intervalMs }) => {
    if (keepAlive === false) return undefined;
    const kernelMs = keepAlive.idleMs + keepAlive.intervalMs * keepAlive.count;
    const deadMs = deadAfter * intervalMs;
    if (kernelMs >= deadMs) return undefined;
    const sum = `${keepAlive.idleMs} + ${keepAlive.intervalMs} x ${keepAlive.count} = ${kernelMs} ms`;
    return finding(
      'warning',
      'kernel-first',
      'keepAlive',
      `gives up after ${sum}, before our verdict at ${deadMs}`,
    );
  },

  ({ serverMinimumMs = 0, intervalMs }) =>
    intervalMs >= serverMinimumMs
      ? undefined
      : finding(
          'warning',
          'server-minimum',
          'intervalMs',
          `${intervalMs} is below what the server takes, ${serverMinimumMs} ms`,
        ),
];

/** Beats keep a flow known: one of them may be lost and the next must still come in time. */
function pathRule({ intervalMs, pathIdleLimitMs }: CoherenceInput): Finding | undefined {
  const limitMs = pathIdleLimitMs ?? PATH_IDLE_LIMITS_MS.nat;
  const whose = pathIdleLimitMs === undefined ? 'the idle limit of common NATs' : "the path's idle limit";
  if (pathIdleLimitMs !== undefined && intervalMs >= limitMs) {
    const rest = `must be below half of ${whose} (${limitMs}), got ${intervalMs}: the flow is forgotten between beats`;
    return finding('error', 'path-forgets', 'intervalMs', rest);
  }
  if (2 * intervalMs < limitMs) return undefined;
  const rest = `${intervalMs} is not below half of ${whose} (${limitMs} ms): one lost beat and the flow is forgotten`;
  return finding('warning', 'path-idle-limit', 'intervalMs', rest);
}

/** All that does not fit, errors first. Empty: it all fits. */
export function checkCoherence(given: CoherenceInput): Finding[] {
  return RULES.flatMap((rule) => rule(given) ?? []).sort(
    (a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'),
  );
}
