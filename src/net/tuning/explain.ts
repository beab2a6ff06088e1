/**
 * What settings come to before anything is connected: how long each kind of failure can go unnoticed here, what does
 * not fit together, what the path allows, and what many links cost. Opens nothing; looks at this process and kernel.
 */
import { integerIn, knownKeys, numberIn, oneOf } from '../../base/assert.ts';
import { typeError } from '../../base/errors.ts';
import { checkCoherence, type Finding, PATH_IDLE_LIMITS_MS } from '../../session/coherence.ts';
import { type KeepAliveAsked, type KeepAliveTimes, keepAliveProblem } from '../../session/kernel-patience.ts';
import { MAX_DETECTION_MS } from '../../session/negotiation.ts';
import { detectionBound, detectionTime, type SessionPolicy, sessionPolicy } from '../../session/policy.ts';
import type { PresetName } from '../../session/presets.ts';
import { INITIAL_RTO_MS } from '../../session/rtt.ts';
import { type TuningEnvironment, tuningEnvironment } from './environment.ts';
import { BEAT_COST, type BeatCost, type LinkLoad, linkLoad } from './load.ts';
import { FIXED_COUNT, FIXED_INTERVAL_MS } from './node-offers.ts';
import {
  askedKeepAlive,
  askedNoDelay,
  checkUserTimeout,
  MAX_USER_TIMEOUT_MS,
  TUNE_OPTION_KEYS,
  type TuneOptions,
} from './options.ts';
import {
  type DetectorTime,
  KERNEL_WHEN_HUNG,
  type KernelRules,
  kernelWithBeats,
  kernelWithDataInFlight,
  kernelWithoutBeats,
} from './worst-cases.ts';

export type PathName = keyof typeof PATH_IDLE_LIMITS_MS;

export interface ExplainOptions extends Omit<TuneOptions, 'userTimeoutMs'> {
  /** As `TuneOptions.userTimeoutMs`; follow: what a link with `userTimeout: 'follow'` has. Unset: false. */
  userTimeoutMs?: 'follow' | false | number;
  /** The link's own settings, as `AttachOptions` has them, with the same defaults. */
  preset?: PresetName;
  intervalMs?: number;
  deadAfter?: number;
  /** What lies between: a middlebox by name, or its idle limit in ms, > 0. Unset: not known. */
  path?: PathName | number;
  /** The fastest the server is willing to receive, ms >= 0. */
  serverMinimumMs?: number;
  /** Ask what so many links cost, 1..10 000 000. */
  links?: number;
  /** The processor time of a frame, when it was measured. Default: a figure from our own machine, which says so. */
  beatCost?: BeatCost;
}

/** One kind of failure of a link, and who notices it. */
export interface FailureTimes {
  readonly verdict: DetectorTime;
  readonly kernel: DetectorTime;
  /** either: it depends on when our next beat leaves, or on the kernel's timers. */
  readonly foundBy: 'verdict' | 'kernel' | 'either';
  /** Noticed within this time of the last sign of life, lateness included, ms. */
  readonly withinMs: number;
}

export interface PathVerdict {
  readonly name: PathName;
  readonly idleLimitMs: number;
  /** kept: one beat may be lost. one-loss: one lost beat, and the flow is forgotten. forgotten: between two beats. */
  readonly flow: 'kept' | 'one-loss' | 'forgotten';
}

export interface TuningExplanation {
  readonly environment: TuningEnvironment;
  readonly intervalMs: number;
  readonly deadAfter: number;
  /** Longest silence before our verdict, and the same while this process runs late, for round trips below 1 s. */
  readonly detectionTimeMs: number;
  readonly detectionBoundMs: number;
  /** What would be in force here. */
  readonly keepAlive: false | KeepAliveTimes;
  readonly userTimeoutMs: false | number;
  /** Who keeps the user time-out: the kernel, or this process in its place. */
  readonly userTimeoutBy: 'kernel' | 'process' | undefined;
  readonly failures: {
    /** The path is dead, nothing in flight until our next beat. */
    readonly idle: FailureTimes;
    /** The path is dead, data of ours in flight (a beat is enough). */
    readonly dataInFlight: FailureTimes;
    /** The path is well, the peer's process hangs or is stopped. */
    readonly hung: FailureTimes;
  };
  /** The same connection without heartbeats, its path dead, nothing in flight: the kernel is alone. */
  readonly idleWithoutBeats: DetectorTime;
  /**
   * What does not fit, errors first. An error is a conflict: a setting that the kernel, the path or the peers refuse,
   * or that another one puts out of force.
   */
  readonly findings: readonly Finding[];
  /** What is asked for and not to be had in this process, and how to get it. */
  readonly missing: readonly string[];
  /** Common middleboxes. */
  readonly paths: readonly PathVerdict[];
  readonly load: LinkLoad | undefined;
}

type InForce = 'keepAlive' | 'userTimeoutMs' | 'userTimeoutBy';

const KEYS = [
  ...TUNE_OPTION_KEYS,
  'preset',
  'intervalMs',
  'deadAfter',
  'path',
  'serverMinimumMs',
  'links',
  'beatCost',
];
const PATHS = Object.keys(PATH_IDLE_LIMITS_MS) as PathName[];
const MAX_LINKS = 10_000_000;

/** TypeError or RangeError for options that are none; what does not fit together is a finding. */
export function explainTuning(options: ExplainOptions = {}): TuningExplanation {
  return explainTuningIn(tuningEnvironment(), options);
}

/** The same in a given environment. */
export function explainTuningIn(environment: TuningEnvironment, options: ExplainOptions): TuningExplanation {
  if (typeof options !== 'object' || options === null) throw typeError('options', 'an object', options);
  knownKeys('options', options, KEYS);
  askedNoDelay(options.noDelay); // it takes part in no figure
  const { preset, intervalMs, deadAfter } = options;
  const policy = sessionPolicy({ preset, intervalMs, deadAfter });
  const { native, retransmission } = environment;
  const takesAll = native || environment.takesIntervalAndCount;
  const detectionTimeMs = detectionTime(policy.intervalMs, policy.deadAfter, INITIAL_RTO_MS);
  const detectionBoundMs = boundOf(policy);
  const asked = askedKeepAlive(options.keepAlive);
  const keepAlive = takesAll ? asked : asByOlderNode(asked);
  const userTimeoutMs = askedUserTimeout(
    options.userTimeoutMs,
    Math.min(Math.ceil(detectionBoundMs + policy.intervalMs), MAX_USER_TIMEOUT_MS),
  );
  const rules: KernelRules = { keepAlive, userTimeoutMs, byKernel: native, retransmission };
  const verdict = verdictOf(policy, detectionTimeMs);
  const inForce: Pick<TuningExplanation, InForce> = {
    keepAlive,
    userTimeoutMs,
    userTimeoutBy: userTimeoutMs === false ? undefined : native ? 'kernel' : 'process',
  };
  return {
    environment,
    intervalMs: policy.intervalMs,
    deadAfter: policy.deadAfter,
    detectionTimeMs,
    detectionBoundMs,
    ...inForce,
    failures: {
      idle: failure(verdict, kernelWithBeats(rules, policy.intervalMs, policy.tickMs)),
      dataInFlight: failure(verdict, kernelWithDataInFlight(rules)),
      hung: failure(verdict, KERNEL_WHEN_HUNG),
    },
    idleWithoutBeats: kernelWithoutBeats(rules),
    findings: findingsOf(options, policy, inForce),
    missing: missingOf(environment, asked, inForce),
    paths: PATHS.map((name) => pathVerdict(name, policy.intervalMs)),
    load: loadOf(options, policy),
  };
}

function boundOf({ intervalMs, deadAfter, tickMs }: SessionPolicy): number {
  return detectionBound(intervalMs, deadAfter, INITIAL_RTO_MS, 0, tickMs);
}

/** Values that would be refused stay as they are, for the validator to see. */
function asByOlderNode(asked: false | KeepAliveTimes): false | KeepAliveTimes {
  if (asked === false || keepAliveProblem(asked) !== undefined) return asked;
  return { idleMs: asked.idleMs, intervalMs: FIXED_INTERVAL_MS, count: FIXED_COUNT };
}

function askedUserTimeout(given: ExplainOptions['userTimeoutMs'], followMs: number): false | number {
  if (given === undefined || given === false || given === 0) return false; // 0 is the validator's to refuse
  return given === 'follow' ? followMs : checkUserTimeout('userTimeoutMs', given);
}

function verdictOf({ intervalMs, deadAfter, tickMs }: SessionPolicy, ms: number): DetectorTime {
  const soonestMs = intervalMs * deadAfter;
  const isByCount = ms === soonestMs;
  const rule = isByCount
    ? `${deadAfter} x ${intervalMs} ms without a sign of life`
    : `2 x ${intervalMs} ms, and ${INITIAL_RTO_MS} ms for an answer`;
  return { ms, soonestMs, lateMs: tickMs, rule };
}

function failure(verdict: DetectorTime, kernel: DetectorTime): FailureTimes {
  const [ours, kernels] = [verdict.ms + verdict.lateMs, kernel.ms + kernel.lateMs];
  const withinMs = Number.isNaN(kernels) ? ours : Math.min(ours, kernels);
  if (kernels < verdict.soonestMs) return { verdict, kernel, foundBy: 'kernel', withinMs };
  return { verdict, kernel, foundBy: kernel.soonestMs < ours ? 'either' : 'verdict', withinMs };
}

function findingsOf(
  { path, serverMinimumMs, userTimeoutMs: asked, keepAlive: keepAliveAsked }: ExplainOptions,
  { intervalMs, deadAfter, suspectAfter, tickMs }: SessionPolicy,
  { keepAlive, userTimeoutMs, userTimeoutBy = 'kernel' }: Pick<TuningExplanation, InForce>,
): Finding[] {
  return checkCoherence({
    intervalMs,
    deadAfter,
    suspectAfter,
    tickMs,
    peerMaximumMs: MAX_DETECTION_MS,
    keepAlive: asJudged(keepAlive, keepAliveAsked, userTimeoutMs !== false && userTimeoutBy === 'kernel'),
    userTimeoutMs: asked === 0 ? asked : userTimeoutMs,
    userTimeoutBy,
    ...(path !== undefined && { pathIdleLimitMs: idleLimitOf(path) }),
    ...(serverMinimumMs !== undefined && {
      serverMinimumMs: numberIn('serverMinimumMs', serverMinimumMs, 0, Infinity),
    }),
  });
}

/** A count that nobody asked for contradicts nothing when a user time-out takes its place. */
function asJudged(
  keepAlive: false | KeepAliveTimes,
  asked: TuneOptions['keepAlive'],
  isReplaced: boolean,
): false | KeepAliveAsked {
  if (!keepAlive || !isReplaced || (asked && asked.count !== undefined)) return keepAlive;
  const { idleMs, intervalMs } = keepAlive;
  return { idleMs, intervalMs };
}

function idleLimitOf(path: PathName | number): number {
  if (typeof path === 'number') return numberIn('path', path, 1, Infinity);
  return PATH_IDLE_LIMITS_MS[oneOf('path', path, PATHS)];
}

function missingOf(
  { native, absence, node }: TuningEnvironment,
  asked: false | KeepAliveTimes,
  { keepAlive, userTimeoutMs }: Pick<TuningExplanation, InForce>,
): string[] {
  if (native) return [];
  const missing = [`nothing can be read back: ${absence}`];
  if (asked && keepAlive && (asked.intervalMs !== keepAlive.intervalMs || asked.count !== keepAlive.count)) {
    const wished = `keepAlive.intervalMs ${asked.intervalMs} and count ${asked.count}`;
    const fixed = `${FIXED_INTERVAL_MS} and ${FIXED_COUNT}`;
    missing.push(`${wished}: Node ${node} fixes ${fixed}; native access sets them, or Node 24.22 and newer`);
  }
  if (userTimeoutMs !== false) {
    const caveat = 'kept by this process, which does not see what the kernel has taken';
    missing.push(`userTimeoutMs ${userTimeoutMs}: ${caveat}; native access sets it`);
  }
  return missing;
}

function pathVerdict(name: PathName, intervalMs: number): PathVerdict {
  const idleLimitMs = PATH_IDLE_LIMITS_MS[name];
  const flow = 2 * intervalMs < idleLimitMs ? 'kept' : intervalMs < idleLimitMs ? 'one-loss' : 'forgotten';
  return { name, idleLimitMs, flow };
}

function loadOf(
  { links, beatCost = BEAT_COST }: ExplainOptions,
  policy: SessionPolicy,
): LinkLoad | undefined {
  if (typeof beatCost !== 'object' || beatCost === null) throw typeError('beatCost', 'an object', beatCost);
  numberIn('beatCost.frameUs', beatCost.frameUs, 0, Infinity);
  if (links === undefined) return undefined;
  integerIn('links', links, 1, MAX_LINKS);
  return linkLoad(links, policy.intervalMs, policy.deadAfter, beatCost);
}
