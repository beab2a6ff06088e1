/** Settings that do not fit each other: each finding at its limit (none) and one past it (one), numbers included. */
import { describe, expect, it } from 'vitest';
import {
  type CoherenceInput,
  checkCoherence,
  PATH_IDLE_LIMITS_MS,
  type SessionOptions,
  sessionPolicy,
} from '../../src/session/index.ts';

const SOUND: CoherenceInput = { intervalMs: 15_000, deadAfter: 3, suspectAfter: 2 };
const keepAlive = { idleMs: 15_000, intervalMs: 5_000, count: 6 };
/** Done when our next beat is due. */
const BEFORE_BEAT = { idleMs: 10_000, intervalMs: 1_000, count: 5 };

/** Severity, code, option, settings at the limit, settings one past it, numbers the message must hold. */
const FINDINGS: [string, string, string, Partial<CoherenceInput>, Partial<CoherenceInput>, string[]][] = [
  ['error', 'tick-too-coarse', 'tickMs', { tickMs: 1_500 }, { tickMs: 1_501 }, ['15000', '1501']],
  ['error', 'suspect-after-death', 'suspectAfter', {}, { suspectAfter: 3.01 }, ['(3)', '3.01']],
  [
    'error',
    'probes-overlap',
    'probeLimitMs',
    { probeEveryMs: 2_000, probeLimitMs: 2_000 },
    { probeEveryMs: 2_000, probeLimitMs: 2_001 },
    ['2000', '2001'],
  ],
  [
    'error',
    'path-forgets',
    'intervalMs',
    { pathIdleLimitMs: 30_001 },
    { pathIdleLimitMs: 15_000 },
    ['(15000 ms)', 'got 15000'],
  ],
  [
    'warning',
    'path-idle-limit',
    'intervalMs',
    { pathIdleLimitMs: 30_001 },
    { pathIdleLimitMs: 30_000 },
    ['15000', '30000 ms'],
  ],
  [
    'warning',
    'path-idle-limit',
    'intervalMs',
    { pathIdleLimitMs: 30_001 },
    { pathIdleLimitMs: 15_001 },
    ['15001'],
  ],
  [
    'warning',
    'path-idle-limit',
    'intervalMs',
    { intervalMs: 149_999, deadAfter: 2, suspectAfter: 1 },
    { intervalMs: 150_000, deadAfter: 2, suspectAfter: 1 },
    ['150000', '300000'],
  ],
  [
    'warning',
    'single-miss',
    'deadAfter',
    { deadAfter: 2, suspectAfter: 1 },
    { deadAfter: 1, suspectAfter: 1 },
    ['15000 ms'],
  ],
  [
    'warning',
    'no-time-to-refute',
    'suspectAfter',
    { intervalMs: 200 },
    { intervalMs: 199 },
    ['199 ms', '200'],
  ],
  ['warning', 'no-time-to-refute', 'suspectAfter', {}, { suspectAfter: 3 }, ['3 leaves', '0 ms']],
  [
    'warning',
    'detection-too-long',
    'intervalMs',
    { intervalMs: 100_000 },
    { intervalMs: 100_001 },
    ['100001', '300003', '300000'],
  ],
  [
    'error',
    'detection-too-long',
    'intervalMs',
    { peerMaximumMs: 45_000 },
    { peerMaximumMs: 44_999 },
    ['is 45000 ms', '44999'],
  ],
  [
    'warning',
    'first-life-short',
    'firstLifeMs',
    { firstLifeMs: 1_000 },
    { firstLifeMs: 999 },
    ['999', '1000 ms'],
  ],
  [
    'warning',
    'kernel-first',
    'keepAlive',
    { keepAlive: BEFORE_BEAT },
    { keepAlive: { ...BEFORE_BEAT, idleMs: 9_000 } },
    ['9000 + 5 x 1000 = 14000 ms', 'beat at 15000', 'the kernel decides'],
  ],
  [
    'error',
    'keepalive-seconds',
    'keepAlive.idleMs',
    { keepAlive: { ...keepAlive, idleMs: 32_767_000 } },
    { keepAlive: { ...keepAlive, idleMs: 32_768_000 } },
    ['32767000', 'counts seconds', 'got 32768000'],
  ],
  [
    'error',
    'keepalive-seconds',
    'keepAlive.intervalMs',
    { keepAlive: { ...keepAlive, intervalMs: 1_000, count: 30 } },
    { keepAlive: { ...keepAlive, intervalMs: 999, count: 99 } },
    ['7200 s', 'got 999'],
  ],
  [
    'error',
    'keepalive-seconds',
    'keepAlive.idleMs',
    { keepAlive: false },
    { keepAlive: { ...keepAlive, idleMs: 0, count: 99 } },
    ['keepAlive false', 'got 0'],
  ],
  [
    'error',
    'user-timeout-zero',
    'userTimeoutMs',
    { userTimeoutMs: false },
    { userTimeoutMs: 0 },
    ['say false'],
  ],
  [
    'warning',
    'user-timeout-first',
    'userTimeoutMs',
    { userTimeoutMs: 60_000 },
    { userTimeoutMs: 59_999 },
    ['59999', '(60000)', 'the kernel decides'],
  ],
  [
    'error',
    'user-timeout-replaces-count',
    'userTimeoutMs',
    { userTimeoutMs: 65_000, keepAlive: { idleMs: 50_000, intervalMs: 5_000, count: 3 } },
    { userTimeoutMs: 65_001, keepAlive: { idleMs: 50_000, intervalMs: 5_000, count: 3 } },
    ['65001', 'keepAlive.count 3', 'left out', 'after 70000 ms, not 65000'],
  ],
  [
    'error',
    'server-minimum',
    'intervalMs',
    { serverMinimumMs: 15_000 },
    { serverMinimumMs: 15_001 },
    ['15000', '15001 ms'],
  ],
];

describe('coherence', () => {
  it.each(FINDINGS)('%s %s (%s): none at %j, one at %j', (severity, code, option, at, past, numbers) => {
    expect(checkCoherence({ ...SOUND, ...at })).toEqual([]);
    const found = checkCoherence({ ...SOUND, ...past });
    expect(found).toEqual([
      { severity, code, option, message: expect.stringMatching(new RegExp(`^${option} `)) },
    ]);
    for (const number of numbers) expect(found[0]?.message).toContain(number);
  });

  it('finds nothing wrong with the defaults, nor with what is switched off', () => {
    expect(checkCoherence(sessionPolicy())).toEqual([]);
    expect(
      checkCoherence({
        ...SOUND,
        keepAlive: false,
        userTimeoutMs: false,
        pathIdleLimitMs: Infinity,
        probeEveryMs: Infinity,
        probeLimitMs: Infinity,
        firstLifeMs: Infinity,
        serverMinimumMs: 0,
      }),
    ).toEqual([]);
  });

  it('F23: a keepalive that is refused is found once, and reckoned with no further', () => {
    for (const refused of [{ idleMs: 0 }, { idleMs: 999 }, { intervalMs: 500 }]) {
      for (const userTimeoutMs of [false, 60_000] as const) {
        const found = checkCoherence({ ...SOUND, userTimeoutMs, keepAlive: { ...BEFORE_BEAT, ...refused } });
        expect(found.map(({ code }) => code)).toEqual(['keepalive-seconds']);
      }
    }
  });

  it('a count that is left open contradicts nothing', () => {
    const { count: _count, ...open } = BEFORE_BEAT;
    expect(checkCoherence({ ...SOUND, keepAlive: { ...open, idleMs: 1_000 } })).toEqual([]);
    expect(checkCoherence({ ...SOUND, keepAlive: open, userTimeoutMs: 60_000 })).toEqual([]);
    const counted = checkCoherence({ ...SOUND, keepAlive: BEFORE_BEAT, userTimeoutMs: 60_000 });
    expect(counted.map(({ code }) => code)).toEqual(['user-timeout-replaces-count']);
  });

  it('tells all of it, errors first', () => {
    const found = checkCoherence({ intervalMs: 400_000, deadAfter: 1, tickMs: 40_001, firstLifeMs: 999 });
    expect(found.map(({ code }) => code)).toEqual([
      'tick-too-coarse',
      'path-idle-limit',
      'single-miss',
      'detection-too-long',
      'first-life-short',
    ]);
  });

  it.each([
    [{ preset: 'lan' }, TypeError, /^given\.preset is no option: there are intervalMs, deadAfter, /],
    [{}, TypeError, /^intervalMs must be a number, got undefined/],
    [{ intervalMs: 1_000 }, TypeError, /^deadAfter must be a number, got undefined/],
    [{ intervalMs: '1s', deadAfter: 3 }, TypeError, /^intervalMs must be a number, got "1s"/],
    [{ intervalMs: Number.NaN, deadAfter: 3 }, RangeError, /^intervalMs must be .*got NaN/],
    [{ ...SOUND, firstLifeMs: null }, TypeError, /^firstLifeMs must be a number, got null/],
    [{ ...SOUND, keepAlive: true }, TypeError, /^keepAlive must be false or an object, got true/],
    [{ ...SOUND, keepAlive: null }, TypeError, /^keepAlive must be false or an object, got null/],
    [{ ...SOUND, keepAlive: { idleMs: 1 } }, TypeError, /^keepAlive\.intervalMs must be a number/],
    [{ ...SOUND, userTimeoutMs: true }, TypeError, /^userTimeoutMs must be a number, got true/],
    [null, TypeError, /^given must be an object/],
    [undefined, TypeError, /^given must be an object/],
  ])('%j, as JavaScript may pass it, is refused by name and value', (given, kind, message) => {
    const check = (): unknown => checkCoherence(given as never);
    expect(check).toThrow(kind);
    expect(check).toThrow(message);
  });

  it('knows the idle limits of common middleboxes', () => {
    expect(Object.values(PATH_IDLE_LIMITS_MS)).toEqual([300_000, 350_000, 900_000, 3_600_000]);
  });

  it.each([
    [{ suspectAfter: 4 }, 'suspectAfter must be at most deadAfter (3), got 4'],
    [
      { probeEveryMs: 2_000, probeLimitMs: 2_001 },
      'probeLimitMs must be at most probeEveryMs (2000), got 2001',
    ],
  ] as [SessionOptions, string][])('a policy of %j is refused with the same words', (options, message) => {
    expect(() => sessionPolicy(options)).toThrow(new RangeError(message));
  });

  it('a policy with warnings only is taken', () => {
    expect(sessionPolicy({ intervalMs: 400_000, deadAfter: 1 }).intervalMs).toBe(400_000);
  });

  it('asking the application every second leaves it a second by default', () => {
    expect(sessionPolicy({ probeEveryMs: 1_000 }).probeLimitMs).toBe(1_000);
    expect(sessionPolicy({ probeEveryMs: 5_001 }).probeLimitMs).toBe(5_000);
  });
});
