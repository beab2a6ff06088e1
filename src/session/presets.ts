/**
 * Named policies: how often to beat and how long to wait for common kinds of path. Each has its value, the range in
 * which it may sensibly be moved, and the reason. Options given beside a preset override its values.
 *
 * All are far below the idle limits of common middleboxes (`PATH_IDLE_LIMITS_MS` in coherence.ts).
 */

/** One named policy. */
export interface Preset {
  /** Interval T, ms, and the range it was chosen from. */
  readonly intervalMs: number;
  readonly intervalRangeMs: readonly [number, number];
  /** Intervals without life that mean death, and the range. */
  readonly deadAfter: number;
  readonly deadAfterRange: readonly [number, number];
  /** Why these values. */
  readonly reason: string;
}

export const PRESET_NAMES = ['lan', 'cross-site', 'public-client', 'behind-nat', 'dense-gateway'] as const;

export type PresetName = (typeof PRESET_NAMES)[number];

function preset(
  [intervalMs, ...intervalRangeMs]: readonly [number, number, number],
  [deadAfter, ...deadAfterRange]: readonly [number, number, number],
  reason: string,
): Preset {
  return Object.freeze({
    intervalMs,
    intervalRangeMs: Object.freeze(intervalRangeMs),
    deadAfter,
    deadAfterRange: Object.freeze(deadAfterRange),
    reason,
  });
}

/** First the value, then its range: ms, and intervals. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = Object.freeze({
  lan: preset(
    [10_000, 10_000, 30_000],
    [3, 3, 3],
    'one network, round trips below a millisecond: silence is nearly always the peer, and beats cost nothing',
  ),
  'cross-site': preset(
    [5_000, 5_000, 10_000],
    [4, 3, 5],
    'routes between sites heal in seconds: ask often so that failover is quick, and wait out one more miss',
  ),
  'public-client': preset(
    [30_000, 15_000, 60_000],
    [3, 2, 3],
    'radios that sleep and networks that change: each beat costs battery, and gaps of many seconds are normal',
  ),
  'behind-nat': preset(
    [20_000, 15_000, 30_000],
    [3, 2, 3],
    'translators forget idle flows, the hastiest after a minute: one beat may fail and the next still refreshes',
  ),
  'dense-gateway': preset(
    [45_000, 30_000, 60_000],
    [2, 2, 3],
    'tens of thousands of links: as quick as 30 s x 3 with a third fewer beats; a suspect is still asked five times',
  ),
});
