/** What a load run says: a line per second while it lasts, and the summary. */
import { formatDuration } from '../durations.ts';
import { grouped } from './preparation.ts';
import type { LoadRun } from './run.ts';
import type { Percentiles } from './tally.ts';

/** `1 link`, `19 100 links`. */
export function manyLinks(count: number): string {
  return `${grouped(count)} ${count === 1 ? 'link' : 'links'}`;
}

/** Rates since the last look. */
export class Progress {
  readonly #run: LoadRun;
  #atMs = performance.now();
  #connected = 0;
  #answers = 0;

  constructor(run: LoadRun) {
    this.#run = run;
  }

  look(): { fields: Record<string, unknown>; text: string } {
    const { tally, dialer, live } = this.#run;
    const nowMs = performance.now();
    const seconds = Math.max(0.001, (nowMs - this.#atMs) / 1_000);
    const connectsPerSecond = Math.round((tally.connected - this.#connected) / seconds);
    const answersPerSecond = Math.round((tally.answers - this.#answers) / seconds);
    this.#atMs = nowMs;
    this.#connected = tally.connected;
    this.#answers = tally.answers;
    const { failures: failed, losses: lost, falseVerdicts } = tally;
    const { p50Ms, p99Ms } = tally.rtt;
    const connecting = dialer.underWay > 0 ? `, ${connectsPerSecond} connects/s` : '';
    return {
      fields: {
        ...{ links: live, connecting: dialer.underWay, connectsPerSecond, answersPerSecond },
        ...{ failed, lost, falseVerdicts, rttP50Ms: p50Ms, rttP99Ms: p99Ms },
      },
      text:
        `${manyLinks(live)}${connecting}, ${failed} failed, ${lost} lost, ` +
        `${grouped(answersPerSecond)} answers/s, rtt p50 ${showMs(p50Ms)} p99 ${showMs(p99Ms)} ms`,
    };
  }
}

export function summaryOf(run: LoadRun, links: number): { fields: Record<string, unknown>; text: string } {
  const { tally, stats, sent, unanswered, beats, beatsLate, connectMs, measuredMs, bytesPerLink } = run;
  const answered = sent - unanswered;
  const latePercent = Number(((100 * beatsLate) / beats).toFixed(3)); // NaN when there was none
  const connectsPerSecond = Math.round((1_000 * tally.connected) / Math.max(1, connectMs));
  const { rtt, connectTime, falseVerdicts, trueVerdicts, told, returned, waited } = tally;
  const lines = [
    `connected ${grouped(tally.connected)} of ${grouped(links)} in ${formatDuration(connectMs)} ` +
      `(${grouped(connectsPerSecond)}/s), connect time ${percentilesText(connectTime)} ms`,
    ...(tally.failures > 0 ? [`failed ${countsText(tally.failed)}`] : []),
    ...(tally.losses > 0 ? [`lost ${countsText(tally.lost)}`] : []),
    `pings ${grouped(sent)} sent, ${grouped(answered)} answered, ${grouped(unanswered)} unanswered; ` +
      `${grouped(stats.skipped)} skipped`,
    ...(told > 0
      ? [`told to go ${grouped(told)}, returned ${grouped(returned)}, waited ${percentilesText(waited)} ms`]
      : []),
    `verdicts ${falseVerdicts} false, ${trueVerdicts} true`,
    `rtt ${percentilesText(rtt)} ms after warm-up`,
    `beats ${grouped(beats)} in ${formatDuration(measuredMs)} after warm-up, ${grouped(beatsLate)} late by more ` +
      `than 2 ticks${beats > 0 ? ` (${latePercent} %)` : ''}; worst lag of this process ${showMs(stats.worstLagMs)} ms`,
    `memory ${Number.isNaN(bytesPerLink) ? '?' : (bytesPerLink / 1_024).toFixed(1)} KiB per link (resident)`,
  ];
  return {
    fields: {
      ...{ links, connected: tally.connected, failed: tally.failed, lost: tally.lost },
      ...{ connectMs: Math.round(connectMs), connectsPerSecond, connectTime, rtt },
      ...{ sent, answered, unanswered, skipped: stats.skipped, falseVerdicts, trueVerdicts },
      ...{ measuredMs: Math.round(measuredMs), beats, beatsLate, latePercent, worstLagMs: stats.worstLagMs },
      ...{ told, returned, waited, bytesPerLink: Math.round(bytesPerLink) },
    },
    text: lines.join('\n'),
  };
}

function percentilesText({ p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Percentiles): string {
  return `p50/p90/p99/p99.9/max ${[p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map(showMs).join('/')}`;
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([code, count]) => `${grouped(count)} x ${code}`)
    .join(', ');
}

function showMs(ms: number): string {
  return Number.isNaN(ms) ? '?' : ms.toFixed(ms < 100 ? 2 : 0);
}
