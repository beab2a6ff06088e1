/** What one run of a scenario came to, and whether that is right. */
import type { Finding, Found, Scenario } from './scenario.ts';

/** For starting programs, filter rules and the lab's own reading: the machine is shared. */
export const SLACK_MS = 250;

export interface Outcome {
  readonly scenario: string;
  readonly what: string;
  readonly expected: Found;
  readonly found: string;
  readonly tookMs: number;
  readonly boundMs: number;
  readonly note: string;
  /** Why it is wrong; undefined when it is right. */
  readonly wrong: string | undefined;
}

export function judged(scenario: Scenario, isNative: boolean, finding: Finding): Outcome {
  const expected = scenario.expected(isNative);
  const { found = 'nothing', note = '' } = finding;
  const tookMs = Math.round(finding.tookMs);
  const boundMs = Math.round(finding.boundMs) + SLACK_MS;
  let wrong = finding.broken;
  if (found !== expected) wrong = `found ${found}, not ${expected}`;
  else if (tookMs > boundMs) wrong ??= `took ${tookMs} ms, more than ${boundMs}`;
  return { scenario: scenario.name, what: scenario.what, expected, found, tookMs, boundMs, note, wrong };
}

/** The scenario itself did not come to its end. */
export function crashed(scenario: Scenario, isNative: boolean, error: unknown): Outcome {
  const wrong = error instanceof Error ? error.message : String(error);
  return { ...judged(scenario, isNative, { found: undefined, tookMs: 0, boundMs: 0 }), wrong };
}
