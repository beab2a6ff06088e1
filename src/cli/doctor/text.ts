/** An explanation of tuning in lines for people. */

import type { FailureTimes, PathVerdict, TuningExplanation } from '../../net/tuning/explain.ts';
import type { LinkLoad } from '../../net/tuning/load.ts';
import type { DetectorTime } from '../../net/tuning/worst-cases.ts';
import type { Finding } from '../../session/coherence.ts';
import { inFlags, timeOf } from '../flag-words.ts';

export const FAILURES = {
  idle: 'path dead, nothing in flight',
  dataInFlight: 'path dead, data in flight',
  hung: 'process hung or stopped',
} as const satisfies Record<keyof TuningExplanation['failures'], string>;

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
