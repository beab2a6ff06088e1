/**
 * How often to beat, how long silence may last, and what follows from it: the tunables of one link, their defaults
 * with reasons, one validator, and the published detection formulas (spec/HB1.md, liveness).
 *
 * A policy is frozen and shared by all links with the same options, so a link stores a reference, not a copy.
 */
import { integerIn, numberIn, oneOf } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';
import { type CoherenceInput, checkCoherence } from './coherence.ts';
import { PRESET_NAMES, PRESETS, type PresetName } from './presets.ts';

export interface SessionOptions {
  /** A named policy: its `intervalMs` and `deadAfter` hold where these are not given. */
  preset?: PresetName | undefined;
  /** T: our beats are never further apart, and silence is counted in it. Whole ms, 100..16 777 215. */
  intervalMs?: number | undefined;
  /** M: dead after this many intervals without life. 1..255. */
  deadAfter?: number | undefined;
  /** Suspect after this many intervals, 1..deadAfter. Unset: max(1.5, deadAfter - 1). Unused when deadAfter is 1. */
  suspectAfter?: number | undefined;
  /** full: beats, asks, judges. responder: only answers, judges nobody. */
  role?: 'full' | 'responder' | undefined;
  /** when-silent: ask only a silent peer. always: every beat of ours is a PING (RTT at every interval). */
  ask?: 'when-silent' | 'always' | undefined;
  /** Close a link that said nothing valid this long after it opened, ms >= 1. Infinity (default): never. */
  firstLifeMs?: number | undefined;
  /** Agree on the rates with the peer while the link lives. Both ends must want it. Default false. */
  negotiate?: boolean | undefined;
  /** With `negotiate`: the fastest we are willing to receive, whole ms, 100..16 777 215. Default 100. */
  requiredMinRxMs?: number | undefined;
  /** Ask the peer's application this often, ms >= 1 000. Infinity (default): never; 60 000 is a good choice. */
  probeEveryMs?: number | undefined;
  /** An application that has not answered for this long is hung, ms, 1..probeEveryMs. Default 5 000, or that. */
  probeLimitMs?: number | undefined;
  /** Tell when our reading has been paused for longer, ms > 0. Default 60 000; Infinity: never. */
  maxReadPausedMs?: number | undefined;
  /** Watch for surprising silence and creeping RTT: advice in stats and events, never a verdict. */
  advice?: boolean | undefined;
  /** Keep the last 32 happenings, and hand them out with `suspect` and `dead`. */
  record?: boolean | undefined;
  /** Keep fractional send times, so that RTT is exact instead of whole ms. Costs 512 bytes per link. */
  preciseRtt?: boolean | undefined;
}

export interface SessionPolicy {
  readonly intervalMs: number;
  readonly deadAfter: number;
  readonly suspectAfter: number;
  readonly role: 'full' | 'responder';
  readonly ask: 'when-silent' | 'always';
  readonly firstLifeMs: number;
  readonly negotiate: boolean;
  readonly requiredMinRxMs: number;
  readonly probeEveryMs: number;
  readonly probeLimitMs: number;
  readonly maxReadPausedMs: number;
  readonly advice: boolean;
  readonly record: boolean;
  readonly preciseRtt: boolean;
  /** Granularity of the wheel that wakes the session, ms. */
  readonly tickMs: number;
}

/** Smallest interval: a tenth of it is the wheel's tick, and a process cannot honestly promise less. */
export const MIN_INTERVAL_MS = 100;
/** Largest interval a parameter word can state (24 bits of ms, 4.6 h). */
export const MAX_INTERVAL_MS = 0xffffff;
/** Most a DETECT_MULT word can state. */
const MAX_DEAD_AFTER = 255;

export const SESSION_DEFAULTS = Object.freeze({
  /** 15 s x 3 = 45 s: below every common idle limit of NATs and load balancers, cheap for 10 000 links. */
  intervalMs: 15_000,
  deadAfter: 3,
  role: 'full',
  ask: 'when-silent',
  firstLifeMs: Infinity,
  negotiate: false,
  requiredMinRxMs: MIN_INTERVAL_MS,
  probeEveryMs: Infinity,
  probeLimitMs: 5_000,
  maxReadPausedMs: 60_000,
  advice: false,
  record: false,
  preciseRtt: false,
  tickMs: 10,
} as const);

export const SESSION_OPTION_KEYS = [
  'preset',
  'intervalMs',
  'deadAfter',
  'suspectAfter',
  'role',
  'ask',
  'firstLifeMs',
  'negotiate',
  'requiredMinRxMs',
  'probeEveryMs',
  'probeLimitMs',
  'maxReadPausedMs',
  'advice',
  'record',
  'preciseRtt',
] as const satisfies readonly (keyof SessionOptions)[];

/** Check options and freeze them into a policy. Errors name the option and the value. */
export function sessionPolicy(
  options: SessionOptions = {},
  tickMs: number = SESSION_DEFAULTS.tickMs,
): SessionPolicy {
  const base = { ...SESSION_DEFAULTS, ...presetValues(options.preset) };
  const given = { ...base, ...definedOnly(options) };
  const intervalMs = integerIn(
    'intervalMs',
    options.intervalMs ?? base.intervalMs,
    MIN_INTERVAL_MS,
    MAX_INTERVAL_MS,
  );
  const deadAfter = integerIn('deadAfter', options.deadAfter ?? base.deadAfter, 1, MAX_DEAD_AFTER);
  const suspectAfter =
    deadAfter === 1
      ? 1
      : numberIn('suspectAfter', given.suspectAfter ?? Math.max(1.5, deadAfter - 1), 1, MAX_DEAD_AFTER);
  const probeEveryMs = numberIn('probeEveryMs', given.probeEveryMs, 1_000, Infinity);
  const probeLimitMs = numberIn(
    'probeLimitMs',
    options.probeLimitMs ?? Math.min(base.probeLimitMs, probeEveryMs),
    1,
    Infinity,
  );
  refuseIncoherent({ intervalMs, deadAfter, suspectAfter, tickMs, probeEveryMs, probeLimitMs });
  return Object.freeze({
    intervalMs,
    deadAfter,
    suspectAfter,
    role: oneOf('role', given.role, ['full', 'responder']),
    ask: oneOf('ask', given.ask, ['when-silent', 'always']),
    firstLifeMs: numberIn('firstLifeMs', given.firstLifeMs, 1, Infinity),
    negotiate: flag('negotiate', given.negotiate),
    requiredMinRxMs: integerIn('requiredMinRxMs', given.requiredMinRxMs, MIN_INTERVAL_MS, MAX_INTERVAL_MS),
    probeEveryMs,
    probeLimitMs,
    maxReadPausedMs: numberIn('maxReadPausedMs', given.maxReadPausedMs, 1, Infinity),
    advice: flag('advice', given.advice),
    record: flag('record', given.record),
    preciseRtt: flag('preciseRtt', given.preciseRtt),
    tickMs,
  });
}

/** The options that were really given: undefined means unset. */
function definedOnly(options: SessionOptions): Partial<SessionOptions> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function presetValues(name: SessionOptions['preset']) {
  if (name === undefined) return {};
  const { intervalMs, deadAfter } = PRESETS[oneOf('preset', name, PRESET_NAMES)];
  return { intervalMs, deadAfter };
}

function refuseIncoherent(values: CoherenceInput): void {
  const [finding] = checkCoherence(values);
  if (finding?.severity === 'error') throw new RangeError(finding.message);
}

function flag(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw typeError(name, 'true or false', value);
  return value;
}

/** The session's part of a larger options object. */
export function pickSessionOptions(options: SessionOptions): SessionOptions {
  return Object.fromEntries(SESSION_OPTION_KEYS.map((key) => [key, options[key]])) as SessionOptions;
}

/**
 * Longest silence before a dead peer is declared dead, counted from the last byte of life: max(D, 2 x rxIv + RTO).
 * Equal to D = multiplier x rxIv while RTO stays below one interval and the multiplier is at least 3.
 */
export function detectionTime(rxIntervalMs: number, multiplier: number, rtoMs: number): number {
  return Math.max(multiplier * rxIntervalMs, 2 * rxIntervalMs + rtoMs);
}

/**
 * Upper bound while this process itself runs late: the detection time stretched by the lateness score (0..8), two
 * graces G = min(rxIv, max(1 000, 4 RTO)), one tick.
 */
export function detectionBound(
  rxIntervalMs: number,
  multiplier: number,
  rtoMs: number,
  lateScore: number,
  tickMs: number,
): number {
  const graceMs = Math.min(rxIntervalMs, Math.max(1_000, 4 * rtoMs));
  return detectionTime(rxIntervalMs, multiplier, rtoMs) * (1 + lateScore / 8) + 2 * graceMs + tickMs;
}
