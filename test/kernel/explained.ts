/**
 * What `explainTuning` said of a link beforehand, held against what happened to it on a real kernel. Its figures count
 * from the last sign of life, so the far ends of these links only answer, and every beat is a question: the last
 * answer was the last sign, and our last beat went out just before it.
 */
import type { DetectorTime, TuningExplanation } from '../../src/net/index.ts';
import type { Child } from './child.ts';
import { type Finding, PATIENCE_MS, SILENT_PEER } from './scenario.ts';
import type { Stage } from './stage.ts';
import type { WatcherOptions } from './watcher.ts';
import { type Ends, ending, linked, promisedMs } from './watching.ts';

export interface ExplainedEnds extends Ends {
  readonly explained: TuningExplanation;
}

/** A beat leaves after 0.75 to 1 interval, a tick sooner or later; the answer is said a little after it came. */
const BEAT_JITTER = 1 / 4;
const TICKS_MS = 20;

export async function linkedAsExplained(stage: Stage, options: WatcherOptions): Promise<ExplainedEnds> {
  // Unasked, the user time-out of who connects would follow the verdict.
  const ends = await linked(stage, SILENT_PEER, { userTimeout: false, ...options, ask: 'always' });
  const { detail } = await ends.watcher.need('explained', PATIENCE_MS);
  return { ...ends, explained: detail as unknown as TuningExplanation };
}

/**
 * How the link ended: by whom, not sooner and not later than was said. `kernels`: the kernel's time, where more is
 * known than the explanation could; `sinceMs`: from when that counts, unless from the last sign of life.
 */
export async function asExplained(
  { watcher, explained }: ExplainedEnds,
  name: keyof TuningExplanation['failures'],
  kernels: DetectorTime = kernelsTime(explained, name),
  sinceMs?: number,
): Promise<Finding> {
  const closed = await watcher.need('closed', PATIENCE_MS);
  const failure = explained.failures[name];
  const isKernels = closed.detail.code === 'ETIMEDOUT';
  const { ms, soonestMs, lateMs } = isKernels ? kernels : failure.verdict;
  const fromMs = (isKernels ? sinceMs : undefined) ?? lastAnswerMs(watcher);
  // A watcher that was late itself judges later, as its link says.
  const boundMs = isKernels ? ms + lateMs : Math.max(ms + lateMs, promisedMs(watcher, closed));
  const finding = await ending(watcher, fromMs, boundMs);
  const by = isKernels ? 'kernel' : 'verdict';
  let broken = finding.broken;
  if (failure.foundBy !== by && failure.foundBy !== 'either')
    broken = `found by ${by}, not ${failure.foundBy}`;
  else if (finding.tookMs + TICKS_MS < soonestMs) broken = `sooner than the ${soonestMs} ms explained`;
  const said = soonestMs === ms ? `${ms}` : `${soonestMs}..${ms}`;
  return { ...finding, note: `${finding.note}, ${by} explained ${said} (+${lateMs})`, broken };
}

/** Our beat comes between 0.75 and 1 interval after the last answer, so the soonest is known better here. */
function kernelsTime({ failures, intervalMs }: TuningExplanation, name: keyof typeof failures): DetectorTime {
  const { kernel } = failures[name];
  return name === 'idle' ? { ...kernel, soonestMs: kernel.ms - BEAT_JITTER * intervalMs } : kernel;
}

function lastAnswerMs({ happenings }: Child): number {
  return happenings.findLast(({ event }) => event === 'pong')!.atMs;
}
