/** A diagnosis for people: the cause, the sentence, and the evidence in a few lines. */
import type { Diagnosis, Evidence } from '../net/diagnosis/evidence.ts';
import { formatDuration } from './durations.ts';

/** Microseconds are real here, where a round trip is measured with fractions. */
export function showMs(ms: number): string {
  return Number.isNaN(ms) ? '?' : ms.toFixed(3);
}

export function diagnosisLines({ cause, confidence, sentence, evidence }: Diagnosis): string[] {
  const isWell = cause === 'unknown' && confidence === 'certain';
  return [
    ...(isWell ? [] : [`cause: ${cause} (${confidence})`]),
    sentence,
    ...(evidence.stood ? evidenceLines(evidence) : []),
  ];
}

/** Of a connection that never stood there is nothing to tell. */
function evidenceLines(evidence: Evidence): string[] {
  return [`  ${clocksText(evidence)}`, `  ${kernelText(evidence)}`, `  ${roundTripText(evidence)}`];
}

function clocksText(evidence: Evidence): string {
  const { silentMs, quietMs, unansweredMs, writeProgressAgeMs, queuedBytes, ownLagMs } = evidence;
  return [
    `silent for ${formatDuration(silentMs)}`,
    `sent ${formatDuration(quietMs)} ago`,
    ...(unansweredMs === undefined ? [] : [`unanswered for ${formatDuration(unansweredMs)}`]),
    ...(writeProgressAgeMs === undefined
      ? []
      : [`${queuedBytes} bytes queued, unmoved for ${formatDuration(writeProgressAgeMs)}`]),
    `late ourselves by ${formatDuration(ownLagMs)}`,
  ].join(', ');
}

function kernelText(evidence: Evidence): string {
  const { source, kernelAgeMs, unackedBytes, retransmits, zeroWindowProbes, windowClosed } = evidence;
  if (kernelAgeMs === undefined) return 'kernel: not asked';
  const age = `${source}, ${formatDuration(kernelAgeMs)} old`;
  const window = windowClosed === true ? `, window closed, ${zeroWindowProbes} zero-window probes` : '';
  return `kernel (${age}): ${unackedBytes} bytes unacknowledged, ${retransmits} retransmits${window}`;
}

function roundTripText({ rttMs, kernelRttMs }: Evidence): string {
  const kernel = kernelRttMs === undefined ? '' : `, ${showMs(kernelRttMs)} ms to its kernel`;
  return `round trip: ${showMs(rttMs)} ms to the process${kernel}`;
}
