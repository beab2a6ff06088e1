/** An explanation of tuning in lines for people. */

import type { FailureTimes, PathVerdict, TuningExplanation } from '../../net/tuning/explain.ts';
import type { LinkLoad } from '../../net/tuning/load.ts';
import type { DetectorTime } from '../../net/tuning/worst-cases.ts';
import type { Finding } from '../../session/coherence.ts';
import { formatDuration } from '../durations.ts';

/** Up to ten minutes in seconds: 68 s are not 1.13 min to anybody. */
const timeOf = (ms: number): string =>
  ms >= 1_000 && ms < 600_000 ? `${Number((ms / 1_000).toFixed(2))} s` : formatDuration(ms);

export const FAILURES = {
  idle: 'path dead, nothing in flight',
  dataInFlight: 'path dead, data in flight',
  hung: 'process hung or stopped',
} as const satisfies Record<keyof TuningExplanation['failures'], string>;

/** The flag that changes an option. */
const FLAGS: Readonly<Record<string, string>> = {
  'keepAlive.idleMs': '--keepalive-idle',
  'keepAlive.intervalMs': '--keepalive-interval',
  'keepAlive.count': '--keepalive-count',
  keepAlive: '--keepalive-*',
  intervalMs: '--interval',
  deadAfter: '--dead-after',
  userTimeoutMs: '--user-timeout',
};

/** What the library says of values, in the command's words. */
const WORDS: Readonly<Record<string, string>> = {
  'keepAlive false': '--no-keepalive',
  'say false': 'say off, or follow',
  'whole seconds in ms': 'whole seconds',
  ...FLAGS,
};
const LIBRARY_WORDS = new RegExp(`\\b(${Object.keys(WORDS).join('|').replaceAll('.', '\\.')})\\b`, 'g');

/** Times of the library: three digits and more, with or without their unit, that are no count of missed beats. */
const LIBRARY_TIMES = /(?<!--dead-after )\b(\d{3,})\b(?! x \d| s\b)(?: ms\b)?/g;

/** A sentence of the library's, for whoever typed flags and durations. */
export const inFlags = (text: string): string =>
  text
    .replace(LIBRARY_WORDS, (word) => WORDS[word] as string)
    .replace(LIBRARY_TIMES, (_, ms) => timeOf(Number(ms)));

export const flagOf = ({ option }: Finding): string => FLAGS[option] ?? option;

export function environmentText({ environment }: TuningExplanation): string {
  const { node, system, native, absence } = environment;
  const reach = native ? 'kernel options in reach (koffi)' : `kernel options out of reach: ${absence}`;
  return `Node ${node}, ${system}, ${reach}`;
}

export function settingsText(explained: TuningExplanation): string {
  const { intervalMs, deadAfter, detectionTimeMs, keepAlive, userTimeoutMs, userTimeoutBy } = explained;
  const kernels =
    keepAlive === false
      ? 'no keepalive'
      : `keepalive ${timeOf(keepAlive.idleMs)} + ${keepAlive.count} x ${timeOf(keepAlive.intervalMs)}`;
  const patience =
    userTimeoutMs === false
      ? 'no user time-out'
      : `user time-out ${timeOf(userTimeoutMs)} (${userTimeoutBy === 'kernel' ? 'kernel' : 'emulated'})`;
  const beats = `a beat every ${timeOf(intervalMs)}, dead after ${deadAfter}`;
  return `${beats}: ${timeOf(detectionTimeMs)} of silence; ${kernels}; ${patience}`;
}

function timeText({ ms, soonestMs, lateMs }: DetectorTime): string {
  if (Number.isNaN(ms)) return 'not known';
  if (ms === Infinity) return 'never';
  const span = soonestMs === ms ? timeOf(ms) : `${timeOf(soonestMs)} to ${timeOf(ms)}`;
  return lateMs === 0 ? span : `${span} (+${timeOf(lateMs)})`;
}

const FINDERS = {
  verdict: 'our verdict',
  kernel: 'the kernel',
  either: 'the kernel or our verdict, whichever comes first',
} as const satisfies Record<FailureTimes['foundBy'], string>;

export function failureText(name: keyof typeof FAILURES, { verdict, kernel, foundBy }: FailureTimes): string {
  return (
    `${FAILURES[name]}: found by ${FINDERS[foundBy]}\n` +
    `  verdict  ${timeText(verdict)}: ${inFlags(verdict.rule)}\n` +
    `  kernel   ${timeText(kernel)}: ${inFlags(kernel.rule)}`
  );
}

export function withoutBeatsText(kernel: DetectorTime): string {
  const found = `  kernel   ${timeText(kernel)}: ${inFlags(kernel.rule)}`;
  return `the same without heartbeats: found by nobody but the kernel\n${found}`;
}

export function findingText({ severity, message, code }: Finding): string {
  return `${severity}: ${inFlags(message)} (${code})`;
}

const FLOWS = { kept: 'kept open', 'one-loss': 'lost with one lost beat', forgotten: 'lost between beats' };

export function pathText({ name, idleLimitMs, flow }: PathVerdict): string {
  return `path ${name} forgets after ${timeOf(idleLimitMs)}: ${FLOWS[flow]}`;
}

export function loadText(load: LinkLoad): string {
  const { links, framesPerSecond, packetsPerSecond, bytesPerSecond, cpuShare, cost } = load;
  const round = (value: number): number => Number(value.toPrecision(3));
  const frames = `${round(framesPerSecond)} frames/s`;
  const most = `at most ${round(packetsPerSecond)} packets/s and ${round(bytesPerSecond / 1_000)} kB/s`;
  const share = `${round(100 * cpuShare)} % of a core`;
  const basis = `${round(cost.frameUs)} us a frame, measured ${cost.measured}`;
  return `${links} idle links: ${frames}, ${most}, ${share} (${basis})`;
}
