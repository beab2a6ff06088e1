/** Named policies: every value lies in its stated range, fits the rest, and yields to explicit options. */
import { describe, expect, it } from 'vitest';
import {
  checkCoherence,
  PATH_IDLE_LIMITS_MS,
  PRESET_NAMES,
  PRESETS,
  type SessionOptions,
  sessionPolicy,
} from '../../src/session/index.ts';

describe('presets', () => {
  it.each([
    // name, interval, its range, misses, their range
    ['lan', 10_000, [10_000, 30_000], 3, [3, 3]],
    ['cross-site', 5_000, [5_000, 10_000], 4, [3, 5]],
    ['public-client', 30_000, [15_000, 60_000], 3, [2, 3]],
    ['behind-nat', 20_000, [15_000, 30_000], 3, [2, 3]],
    ['dense-gateway', 45_000, [30_000, 60_000], 2, [2, 3]],
  ] as const)(
    '%s: %i ms of %j, x %i of %j',
    (name, intervalMs, intervalRangeMs, deadAfter, deadAfterRange) => {
      expect(PRESETS[name]).toMatchObject({ intervalMs, intervalRangeMs, deadAfter, deadAfterRange });
      expect(sessionPolicy({ preset: name })).toEqual(sessionPolicy({ intervalMs, deadAfter }));
    },
  );

  it('are all listed, and frozen', () => {
    expect(Object.keys(PRESETS)).toEqual([...PRESET_NAMES]);
    expect(Object.isFrozen(PRESETS)).toBe(true);
    expect(Object.isFrozen(PRESETS.lan)).toBe(true);
    expect(Object.isFrozen(PRESETS.lan.intervalRangeMs)).toBe(true);
  });

  it.each(PRESET_NAMES)('%s lies in its ranges, has a reason, and nothing to be warned of', (name) => {
    const { intervalMs, intervalRangeMs, deadAfter, deadAfterRange, reason } = PRESETS[name];
    for (const [value, [least, most]] of [
      [intervalMs, intervalRangeMs],
      [deadAfter, deadAfterRange],
    ] as const) {
      expect(value).toBeGreaterThanOrEqual(least);
      expect(value).toBeLessThanOrEqual(most);
    }
    expect(reason.length).toBeGreaterThan(20);
    for (const pathIdleLimitMs of Object.values(PATH_IDLE_LIMITS_MS)) {
      expect(checkCoherence({ ...sessionPolicy({ preset: name }), pathIdleLimitMs })).toEqual([]);
    }
  });

  it('explicit options override a preset, undefined ones do not', () => {
    const { intervalMs, deadAfter, suspectAfter } = sessionPolicy({ preset: 'dense-gateway', deadAfter: 3 });
    expect({ intervalMs, deadAfter, suspectAfter }).toEqual({
      intervalMs: 45_000,
      deadAfter: 3,
      suspectAfter: 2,
    });
    expect(sessionPolicy({ preset: 'lan', intervalMs: 500 })).toMatchObject({
      intervalMs: 500,
      deadAfter: 3,
    });
    expect(sessionPolicy({ preset: 'lan', intervalMs: undefined }).intervalMs).toBe(10_000);
    expect(sessionPolicy({ preset: undefined }).intervalMs).toBe(15_000);
  });

  it.each(['LAN', 'wan', '', 'toString', 7, null])('refuses %j by name', (preset) => {
    const attempt = (): unknown => sessionPolicy({ preset } as unknown as SessionOptions);
    expect(attempt).toThrow(RangeError);
    expect(attempt).toThrow(/^preset must be one of lan, cross-site, .*, got /);
  });
});
