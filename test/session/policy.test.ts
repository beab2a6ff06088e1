/** Options of a session: defaults, each limit and one past it, messages, and the published formulas. */
import { describe, expect, it } from 'vitest';
import {
  detectionBound,
  detectionTime,
  SESSION_DEFAULTS,
  type SessionOptions,
  sessionPolicy,
} from '../../src/session/index.ts';

describe('sessionPolicy', () => {
  it('has defaults, frozen', () => {
    const policy = sessionPolicy();
    expect(policy).toEqual({
      intervalMs: 15_000,
      deadAfter: 3,
      suspectAfter: 2,
      role: 'full',
      ask: 'when-silent',
      preciseRtt: false,
      firstLifeMs: Infinity,
      negotiate: false,
      requiredMinRxMs: 100,
      probeEveryMs: Infinity,
      probeLimitMs: 5_000,
      maxReadPausedMs: 60_000,
      advice: false,
      record: false,
      tickMs: 10,
    });
    expect(Object.isFrozen(policy)).toBe(true);
    expect(Object.isFrozen(SESSION_DEFAULTS)).toBe(true);
    expect(sessionPolicy({ intervalMs: undefined, role: undefined })).toEqual(policy);
  });

  it.each([
    [1, 1],
    [2, 1.5],
    [3, 2],
    [4, 3],
    [255, 254],
  ])('dead after %i intervals: suspect after %d', (deadAfter, suspectAfter) => {
    expect(sessionPolicy({ deadAfter }).suspectAfter).toBe(suspectAfter);
  });

  it('with one interval there is no suspicion, whatever is asked', () => {
    expect(sessionPolicy({ deadAfter: 1, suspectAfter: 200 }).suspectAfter).toBe(1);
  });

  it.each([
    { intervalMs: 100 },
    { intervalMs: 16_777_215 },
    { deadAfter: 1 },
    { deadAfter: 255 },
    { suspectAfter: 1 },
    { suspectAfter: 1.01 },
    { suspectAfter: 3 },
    { role: 'responder' },
    { ask: 'always' },
    { preciseRtt: true },
    { firstLifeMs: 1 },
    { probeEveryMs: 5_000, probeLimitMs: 1 },
    { maxReadPausedMs: Infinity },
    { advice: true, record: true },
    { firstLifeMs: Infinity },
  ] as SessionOptions[])('takes %j', (options) => {
    expect(sessionPolicy(options)).toMatchObject(options.deadAfter === 1 ? { deadAfter: 1 } : options);
  });

  it.each([
    [{ intervalMs: 99 }, RangeError, 'intervalMs', '99'],
    [{ intervalMs: 16_777_216 }, RangeError, 'intervalMs', '16777216'],
    [{ intervalMs: 100.5 }, RangeError, 'intervalMs', '100.5'],
    [{ intervalMs: '100' }, TypeError, 'intervalMs', '"100"'],
    [{ intervalMs: null, deadAfter: 0 }, RangeError, 'deadAfter', '0'],
    [{ deadAfter: 256 }, RangeError, 'deadAfter', '256'],
    [{ deadAfter: 1.5 }, RangeError, 'deadAfter', '1.5'],
    [{ suspectAfter: 0.99 }, RangeError, 'suspectAfter', '0.99'],
    [{ suspectAfter: 3.01 }, RangeError, 'suspectAfter', '3.01'],
    [{ suspectAfter: Number.NaN }, RangeError, 'suspectAfter', 'NaN'],
    [{ role: 'Full' }, RangeError, 'role', '"Full"'],
    [{ role: 1 }, RangeError, 'role', '1'],
    [{ ask: 'never' }, RangeError, 'ask', '"never"'],
    [{ preciseRtt: 1 }, TypeError, 'preciseRtt', '1'],
    [{ negotiate: 1 }, TypeError, 'negotiate', '1'],
    [{ requiredMinRxMs: 99 }, RangeError, 'requiredMinRxMs', '99'],
    [{ advice: 'yes' }, TypeError, 'advice', '"yes"'],
    [{ record: 0 }, TypeError, 'record', '0'],
    [{ probeEveryMs: 999 }, RangeError, 'probeEveryMs', '999'],
    [{ probeLimitMs: 0 }, RangeError, 'probeLimitMs', '0'],
    [{ probeEveryMs: 2_000, probeLimitMs: 2_001 }, RangeError, 'probeLimitMs', '2001'],
    [{ maxReadPausedMs: 0 }, RangeError, 'maxReadPausedMs', '0'],
    [{ firstLifeMs: 0.5 }, RangeError, 'firstLifeMs', '0.5'],
  ] as [object, new () => Error, string, string][])('refuses %j', (options, kind, name, value) => {
    const attempt = (): unknown => sessionPolicy(options as SessionOptions);
    expect(attempt).toThrow(kind);
    expect(attempt).toThrow(new RegExp(`^${name} must be .*, got ${value.replace('.', '\\.')}$`));
  });

  it('the tick is at most a tenth of the interval', () => {
    expect(sessionPolicy({ intervalMs: 200 }, 20).tickMs).toBe(20);
    expect(() => sessionPolicy({ intervalMs: 200 }, 21)).toThrow(/^tickMs must be .*200.*, got 21$/);
  });
});

describe('the published formulas', () => {
  it.each([
    // interval, multiplier, time-out, want
    [15_000, 3, 200, 45_000],
    [15_000, 3, 15_000, 45_000],
    [15_000, 3, 15_001, 45_001],
    [1000, 1, 200, 2200],
    [1000, 2, 200, 2200],
    [100, 3, 1000, 1200],
  ])('T %i, M %i, RTO %i: a dead peer is found within %i ms', (interval, multiplier, rto, want) => {
    expect(detectionTime(interval, multiplier, rto)).toBe(want);
  });

  it.each([
    // two graces of max(1 000, 4 x 200), and a tick
    [15_000, 3, 200, 0, 10, 45_000 + 2000 + 10],
    [15_000, 3, 200, 8, 10, 90_000 + 2000 + 10],
    [15_000, 3, 200, 2, 10, 56_250 + 2000 + 10],
    [15_000, 3, 500, 0, 10, 45_000 + 4000 + 10],
    // a grace is never longer than an interval
    [500, 3, 200, 0, 25, 1500 + 1000 + 25],
  ])(
    'T %i, M %i, RTO %i, lateness %i, tick %i: at most %i ms',
    (interval, multiplier, rto, score, tick, want) => {
      expect(detectionBound(interval, multiplier, rto, score, tick)).toBe(want);
    },
  );
});
