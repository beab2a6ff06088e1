/** What settings come to: the figures against naive twins and the lab, the findings, and what each system allows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retransmissionRules, type TuningEnvironment } from '../../../src/net/tuning/environment.ts';
import {
  type ExplainOptions,
  explainTuning,
  explainTuningIn,
  type PathName,
} from '../../../src/net/tuning/explain.ts';
import { currentKernel } from '../../../src/net/tuning/kernel.ts';
import { BEAT_COST } from '../../../src/net/tuning/load.ts';
import type { DetectorTime } from '../../../src/net/tuning/worst-cases.ts';
import { checkCoherence, PATH_IDLE_LIMITS_MS } from '../../../src/session/coherence.ts';
import { connectLab } from '../../../src/testing/lab-network.ts';
import { LabProcess } from '../../../src/testing/lab-process.ts';
import { LabWorld } from '../../../src/testing/lab-world.ts';

const RULES = { retries: 15, rtoMinMs: 200, rtoMaxMs: 120_000, isRead: true };
const LINUX: TuningEnvironment = {
  node: 'v20.19.0',
  system: 'linux 6.8',
  takesIntervalAndCount: false,
  native: true,
  retransmission: RULES,
};
const WITHOUT_KOFFI: TuningEnvironment = {
  ...LINUX,
  native: false,
  absence: 'the package koffi is not installed',
};
const NODE_24: TuningEnvironment = { ...WITHOUT_KOFFI, node: 'v24.22.3', takesIntervalAndCount: true };
const ELSEWHERE: TuningEnvironment = {
  node: 'v24.22.3',
  system: 'darwin 24',
  takesIntervalAndCount: true,
  native: false,
  absence: 'the package koffi is not installed',
};

const codes = (options: ExplainOptions, environment = LINUX): string[] =>
  explainTuningIn(environment, options).findings.map(({ code }) => code);

describe('who notices what, and when', () => {
  test('the defaults: our verdict, whatever fails; the kernel far behind', () => {
    const explained = explainTuningIn(LINUX, {});
    const { failures, idleWithoutBeats, findings, missing, detectionTimeMs, detectionBoundMs } = explained;
    expect({ detectionTimeMs, detectionBoundMs }).toEqual({
      detectionTimeMs: 45_000,
      detectionBoundMs: 53_010,
    });
    expect(failures.idle).toMatchObject({
      verdict: { ms: 45_000, soonestMs: 45_000, lateMs: 10, rule: '3 x 15000 ms without a sign of life' },
      kernel: {
        ms: 939_600,
        soonestMs: 924_600,
        lateMs: 135_010,
        rule: expect.stringMatching(
          /^tcp_retries2 = 15, from our next beat .*keepalive \(450000 ms\) asks nothing/,
        ),
      },
      foundBy: 'verdict',
      withinMs: 45_010,
    });
    expect(idleWithoutBeats).toEqual({
      ms: 450_000,
      soonestMs: 450_000,
      lateMs: 56_250,
      rule: 'keepalive 300000 + 5 x 30000 ms; only while we send nothing',
    });
    expect(failures.dataInFlight.kernel).toEqual({
      ms: 924_600,
      soonestMs: 924_600,
      lateMs: 135_000,
      rule: 'tcp_retries2 = 15',
    });
    expect(failures.hung).toMatchObject({ kernel: { ms: Infinity }, foundBy: 'verdict', withinMs: 45_010 });
    expect(findings).toEqual([]);
    expect(missing).toEqual([]);
  });

  test('F22: a user time-out bounds data in flight, our next beat too, and keepalive where none is sent', () => {
    const explained = explainTuningIn(LINUX, { userTimeoutMs: 'follow' });
    const { failures, idleWithoutBeats, userTimeoutMs, userTimeoutBy } = explained;
    expect({ userTimeoutMs, userTimeoutBy }).toEqual({ userTimeoutMs: 68_010, userTimeoutBy: 'kernel' });
    expect(failures.dataInFlight.kernel).toMatchObject({ ms: 68_010, lateMs: 8_902 });
    expect(failures.idle.kernel).toMatchObject({ ms: 83_010, soonestMs: 68_010, lateMs: 8_912 });
    expect(idleWithoutBeats).toMatchObject({ ms: 330_000, rule: expect.stringContaining('68010 ms') });
  });

  test('a kernel that is faster than our verdict is the one who finds it', () => {
    const { failures, idleWithoutBeats } = explainTuningIn(LINUX, {
      keepAlive: { idleMs: 10_000, intervalMs: 2_000, count: 3 },
      userTimeoutMs: 20_000,
    });
    expect(failures.idle).toMatchObject({ kernel: { ms: 35_000 }, foundBy: 'kernel', withinMs: 37_910 });
    expect(idleWithoutBeats).toMatchObject({ ms: 20_000, lateMs: 2_500 });
    expect(failures.dataInFlight).toMatchObject({
      kernel: { ms: 20_000 },
      foundBy: 'kernel',
      withinMs: 22_900,
    });
    expect(failures.hung.foundBy).toBe('verdict');
  });

  test.each<[string, ExplainOptions, string, number]>([
    [
      'at our beat',
      { intervalMs: 2_000, keepAlive: { idleMs: 1_000, intervalMs: 1_000, count: 1 } },
      'verdict',
      924_600,
    ],
    [
      'before it',
      { intervalMs: 2_001, keepAlive: { idleMs: 1_000, intervalMs: 1_000, count: 1 } },
      'either',
      2_000,
    ],
    ['never', { intervalMs: 2_000, keepAlive: false }, 'verdict', 924_600],
    ['refused', { intervalMs: 2_001, keepAlive: { idleMs: 500, count: 1 } }, 'verdict', 924_600],
  ])('keepalive that is done %s: %j is found by %s', (_when, options, foundBy, soonestMs) => {
    const { failures, findings } = explainTuningIn(LINUX, { deadAfter: 10, ...options });
    expect(failures.idle).toMatchObject({ foundBy, kernel: { soonestMs } });
    expect(failures.idle.withinMs).toBe(10 * options.intervalMs! + 10);
    expect(findings.some(({ code }) => code === 'kernel-first')).toBe(foundBy === 'either');
  });

  test.each<[number, string, string]>([
    // The verdict after 20 s; the beat within 2 s; late by an eighth, two first tries of 200 ms and a tick.
    [15_634, 'kernel', 'kernel'], // 2 000 + 15 634 + 1 955 + 400 + 10 = 19 999
    [15_635, 'either', 'kernel'],
    [17_421, 'either', 'kernel'], // 17 421 + 2 178 + 400 = 19 999
    [17_422, 'either', 'either'],
    [20_009, 'either', 'either'],
    [20_010, 'verdict', 'verdict'],
  ])(
    'a user time-out of %i ms: idle is found by %s, data in flight by %s',
    (userTimeoutMs, idle, inFlight) => {
      const { failures } = explainTuningIn(LINUX, { intervalMs: 2_000, deadAfter: 10, userTimeoutMs });
      expect([failures.idle.foundBy, failures.dataInFlight.foundBy]).toEqual([idle, inFlight]);
    },
  );

  test('elsewhere, a keepalive that may be first is known, when the rest is not', () => {
    const keepAlive = { idleMs: 1_000, intervalMs: 1_000, count: 1 };
    const { idle } = explainTuningIn(ELSEWHERE, { keepAlive }).failures;
    expect(idle).toMatchObject({
      foundBy: 'either',
      withinMs: 45_010,
      kernel: { ms: NaN, soonestMs: 2_000 },
    });
  });

  test('two intervals and an answer, where that is longer than the count of silent ones', () => {
    const { failures } = explainTuningIn(LINUX, { intervalMs: 500, deadAfter: 2 });
    expect(failures.hung.verdict).toMatchObject({
      ms: 2_000,
      soonestMs: 1_000,
      rule: '2 x 500 ms, and 1000 ms for an answer',
    });
  });

  test('presets and explicit values, as links take them', () => {
    expect(explainTuningIn(LINUX, { preset: 'dense-gateway' })).toMatchObject({
      intervalMs: 45_000,
      deadAfter: 2,
    });
    expect(explainTuningIn(LINUX, { preset: 'lan', deadAfter: 5 })).toMatchObject({
      intervalMs: 10_000,
      deadAfter: 5,
    });
  });

  test('keepalive off, or refused: without beats the kernel finds nothing on an idle connection', () => {
    for (const keepAlive of [false, { idleMs: 500 }, { intervalMs: 0 }] as const) {
      const { idleWithoutBeats } = explainTuningIn(LINUX, { keepAlive });
      expect(idleWithoutBeats.ms).toBe(Infinity);
      expect(idleWithoutBeats.rule).toMatch(keepAlive === false ? /is off/ : /refused/);
    }
  });

  test("the kernel's own patience is what its back-off adds up to", () => {
    const walked = (retries: number, leastMs: number, mostMs: number): number => {
      let [sumMs, waitMs] = [0, leastMs];
      for (let attempt = 0; attempt <= retries; attempt++) {
        sumMs += waitMs;
        waitMs = Math.min(waitMs * 2, mostMs);
      }
      return sumMs;
    };
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 1_000 }),
        (retries, rtoMinMs) => {
          const rules = { ...RULES, retries, rtoMinMs };
          const { kernel } = explainTuningIn({ ...LINUX, retransmission: rules }, {}).failures.dataInFlight;
          // Linux stops doubling one step before the greatest wait would be passed.
          const doublings = Math.floor(Math.log2(120_000 / rtoMinMs));
          const exact = walked(Math.min(retries, doublings), rtoMinMs, Infinity);
          expect(kernel.ms).toBeCloseTo(exact + Math.max(0, retries - doublings) * 120_000, 3);
          expect(kernel.ms + kernel.lateMs).toBeGreaterThanOrEqual(walked(retries, rtoMinMs, 120_000));
        },
      ),
    );
  });

  test('measured on a Linux 6.18, as the kernel lab does anew: each lies between rule and lateness', () => {
    const within = (measuredMs: number, { ms, soonestMs, lateMs }: DetectorTime) => {
      expect(measuredMs).toBeGreaterThanOrEqual(soonestMs);
      expect(measuredMs).toBeLessThanOrEqual(ms + lateMs);
    };
    const inFlight = (options: ExplainOptions, retries = 15) =>
      explainTuningIn({ ...LINUX, retransmission: { ...RULES, retries } }, options).failures.dataInFlight
        .kernel;
    // Milliseconds from the write into a path that drops everything to ETIMEDOUT.
    within(1_422, inFlight({ userTimeoutMs: 1_000 }));
    within(3_418, inFlight({ userTimeoutMs: 3_000 }));
    within(10_666, inFlight({ userTimeoutMs: 10_000 }));
    within(20_650, inFlight({ userTimeoutMs: 20_000 }));
    within(13_302, inFlight({}, 5));
    // From the last answer to ETIMEDOUT, on a link with nothing in flight until its next beat.
    const idle = explainTuningIn(LINUX, { intervalMs: 1_500, deadAfter: 4, userTimeoutMs: 2_000 });
    within(3_726, idle.failures.idle.kernel);
    const keepAlive = { idleMs: 1_000, intervalMs: 1_000, count: 1 };
    within(2_026, explainTuningIn(LINUX, { intervalMs: 4_000, keepAlive }).idleWithoutBeats);
  });
});

describe('what this process can have', () => {
  test('with koffi: everything', () => {
    const { keepAlive, userTimeoutBy, missing } = explainTuningIn(LINUX, { userTimeoutMs: 90_000 });
    expect(keepAlive).toEqual({ idleMs: 300_000, intervalMs: 30_000, count: 5 });
    expect(userTimeoutBy).toBe('kernel');
    expect(missing).toEqual([]);
  });

  test('an older Node without koffi: its own interval and count, an emulated user time-out, what would help', () => {
    const explained = explainTuningIn(WITHOUT_KOFFI, { userTimeoutMs: 90_000 });
    const { keepAlive, userTimeoutBy, missing, failures, idleWithoutBeats } = explained;
    expect(keepAlive).toEqual({ idleMs: 300_000, intervalMs: 1_000, count: 10 });
    expect(idleWithoutBeats.ms).toBe(310_000);
    expect(failures.dataInFlight.kernel).toMatchObject({
      ms: 924_600,
      rule: expect.stringContaining('emulated'),
    });
    expect(userTimeoutBy).toBe('process');
    expect(missing).toEqual([
      'nothing can be read back: the package koffi is not installed',
      expect.stringMatching(/^keepAlive.intervalMs 30000 and count 5: Node v20.19.0 fixes 1000 and 10/),
      expect.stringMatching(/^userTimeoutMs 90000: kept by this process/),
    ]);
    const asNodeHasIt = { keepAlive: { intervalMs: 1_000, count: 10 } };
    expect(explainTuningIn(WITHOUT_KOFFI, asNodeHasIt).missing).toHaveLength(1);
    expect(explainTuningIn(WITHOUT_KOFFI, { keepAlive: false }).missing).toHaveLength(1);
  });

  test('a newer Node without koffi: all of keepalive', () => {
    const { keepAlive, missing } = explainTuningIn(NODE_24, {});
    expect(keepAlive).toEqual({ idleMs: 300_000, intervalMs: 30_000, count: 5 });
    expect(missing).toHaveLength(1);
  });

  test('another system: what is not known is not made up', () => {
    const { dataInFlight } = explainTuningIn(ELSEWHERE, {}).failures;
    expect(dataInFlight.kernel.ms).toBeNaN();
    expect(dataInFlight).toMatchObject({ foundBy: 'verdict', withinMs: 45_010 });
  });

  test('this process: what it says of itself holds', () => {
    const { environment } = explainTuning();
    expect(environment.node).toBe(process.version);
    expect(environment.native).toBe(currentKernel() !== undefined);
    expect(environment.native).toBe(environment.absence === undefined);
    if (process.platform === 'linux') expect(environment.retransmission?.retries).toBeGreaterThan(0);
  });

  test("the kernel's rules: as it tells them, else Linux's defaults", () => {
    expect(retransmissionRules(() => undefined)).toEqual({ ...RULES, isRead: false });
    const told: Record<string, number> = { tcp_retries2: 8, tcp_rto_min_us: 50_000, tcp_rto_max_ms: 60_000 };
    expect(retransmissionRules((name) => told[name])).toEqual({
      retries: 8,
      rtoMinMs: 50,
      rtoMaxMs: 60_000,
      isRead: true,
    });
    const assumed = { ...LINUX, retransmission: { ...RULES, isRead: false } };
    expect(explainTuningIn(assumed, {}).failures.dataInFlight.kernel.rule).toBe(
      'tcp_retries2 = 15 (assumed)',
    );
  });
});

test('follow is told as the kernel can hold it', () => {
  for (const environment of [LINUX, WITHOUT_KOFFI]) {
    const options: ExplainOptions = { userTimeoutMs: 'follow', intervalMs: 16_777_185, deadAfter: 255 };
    expect(explainTuningIn(environment, options).userTimeoutMs).toBe(2 ** 31 - 1);
  }
});

describe('what does not fit', () => {
  test.each<[ExplainOptions, string[]]>([
    [{ userTimeoutMs: 60_000, keepAlive: false }, []],
    [{ userTimeoutMs: 59_999, keepAlive: false }, ['user-timeout-first']],
    [{ userTimeoutMs: 'follow' }, []],
    [{ userTimeoutMs: 'follow', keepAlive: { idleMs: 60_000 } }, []],
    [{ userTimeoutMs: 'follow', keepAlive: { count: 5 } }, ['user-timeout-replaces-count']],
    [{ userTimeoutMs: 'follow', keepAlive: { count: 1 } }, []],
    [{ userTimeoutMs: 450_000 }, []],
    [{ userTimeoutMs: 0 as never }, ['user-timeout-zero']],
    [{ keepAlive: { idleMs: 999 } }, ['keepalive-seconds']],
    [{ keepAlive: { idleMs: 10_000, intervalMs: 1_000, count: 5 } }, []],
    [{ keepAlive: { idleMs: 10_000, intervalMs: 1_000, count: 4 } }, ['kernel-first']],
    [{ path: 'nat' }, []],
    [{ path: 30_000 }, ['path-idle-limit']],
    [{ path: 15_000 }, ['path-forgets']],
    [
      { intervalMs: 200_000, keepAlive: false, path: 'balancer-350' },
      ['detection-too-long', 'path-idle-limit'],
    ],
    [{ serverMinimumMs: 15_001 }, ['server-minimum']],
    [{ deadAfter: 1 }, ['single-miss']],
  ])('%j: %j', (options, expected) => {
    expect(codes(options)).toEqual(expected);
  });

  test('an emulated user time-out leaves keepalive alone, and is judged all the same', () => {
    const keepAlive = { idleMs: 1_000, intervalMs: 1_000, count: 10 };
    expect(codes({ keepAlive, userTimeoutMs: 50_000 }, WITHOUT_KOFFI)).toEqual([
      'kernel-first',
      'user-timeout-first',
    ]);
    expect(codes({ keepAlive, userTimeoutMs: 50_000 }, LINUX)).toEqual([
      'user-timeout-replaces-count',
      'user-timeout-first',
    ]);
  });

  test.each<[object, RegExp]>([
    [{ intervalMs: 99 }, /^intervalMs must be .*99$/],
    [{ deadAfter: 0 }, /^deadAfter must be .*0$/],
    [{ preset: 'wan' }, /^preset must be one of/],
    [{ path: 'lan' }, /^path must be one of nat, /],
    [{ path: 0 }, /^path must be .*0$/],
    [{ serverMinimumMs: -1 }, /^serverMinimumMs must be .*-1$/],
    [{ links: 0 }, /^links must be .*0$/],
    [{ links: 10_000_001 }, /^links must be .*10000001$/],
    [{ links: 1, beatCost: { frameUs: -1, measured: '' } }, /^beatCost\.frameUs must be .*-1$/],
    [{ userTimeoutMs: 99 }, /^userTimeoutMs must be .*99$/],
    [{ userTimeoutMs: 'Follow' }, /^userTimeoutMs must be /],
    [{ keepAlive: { count: 128 } }, /^keepAlive\.count must be .*128$/],
    [{ keepAlive: { idleMs: 1.5 } }, /^keepAlive\.idleMs must be .*1\.5$/],
    [{ keepAlive: true }, /^keepAlive must be /],
    [{ noDelay: 1 }, /^noDelay must be /],
    [{ noDelay: null }, /^noDelay must be .*null$/],
    [{ keepAlive: null }, /^keepAlive must be .*null$/],
    [{ keepAlive: { idleMs: null } }, /^keepAlive\.idleMs must be .*null$/],
    [{ userTimeoutMs: null }, /^userTimeoutMs must be .*null$/],
    [{ beatCost: null }, /^beatCost must be .*null$/],
    [{ links: 1, beatCost: 25 }, /^beatCost must be .*25$/],
    [{ beatCost: { frameUs: '1' } }, /^beatCost\.frameUs must be .*"1"$/],
    [{ interval: 1 }, /^options\.interval /],
  ])('no option at all: %o', (options, message) => {
    expect(() => explainTuning(options as ExplainOptions)).toThrow(message);
  });
});

test('paths: each verdict is what the validator says of the same limit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 4_000_000 }), (intervalMs) => {
      for (const { name, idleLimitMs, flow } of explainTuningIn(LINUX, { intervalMs }).paths) {
        expect(PATH_IDLE_LIMITS_MS[name as PathName]).toBe(idleLimitMs);
        const found = checkCoherence({ intervalMs, deadAfter: 3, pathIdleLimitMs: idleLimitMs }).map(
          ({ code }) => code,
        );
        const expected = { kept: [], 'one-loss': ['path-idle-limit'], forgotten: ['path-forgets'] }[flow];
        expect(found.filter((code) => code.startsWith('path-'))).toEqual(expected);
      }
    }),
  );
});

describe('against the lab', () => {
  /** Two processes with one link between them, run until both have settled. */
  function pair(options: { intervalMs: number; deadAfter: number }) {
    const world = new LabWorld(7);
    const [near, far] = [new LabProcess(world, 'near'), new LabProcess(world, 'far')];
    const connection = connectLab(near, far, {});
    near.attach(connection.near, options);
    far.attach(connection.far, options);
    world.run(20 * options.intervalMs);
    return { world, near, far };
  }

  test.each([
    { intervalMs: 1_000, deadAfter: 3 },
    { intervalMs: 5_000, deadAfter: 2 },
    { intervalMs: 300, deadAfter: 8 },
    { intervalMs: 1_000, deadAfter: 1 },
  ])('%j: frames are what idle links send', (options) => {
    const { world, near } = pair(options);
    const frames = () => near.hub.stats().framesSent + near.hub.stats().framesReceived;
    const before = frames();
    const spanMs = 400 * options.intervalMs;
    world.run(spanMs);
    const perSecond = ((frames() - before) * 1_000) / spanMs;
    const { framesPerSecond } = explainTuningIn(LINUX, { ...options, links: 1 }).load!;
    expect(perSecond / framesPerSecond).toBeGreaterThan(0.85);
    expect(perSecond / framesPerSecond).toBeLessThan(1.02);
  });

  test.each([
    { intervalMs: 1_000, deadAfter: 3 },
    { intervalMs: 200, deadAfter: 2 },
    { intervalMs: 2_000, deadAfter: 1 },
  ])('%j: a process that stops is found within the time published', (options) => {
    const { world, near, far } = pair(options);
    let deadAtMs = Number.NaN;
    near.hub.on('dead', () => {
      deadAtMs = world.nowMs;
    });
    const stoppedAtMs = world.nowMs;
    far.freeze();
    const { withinMs, verdict } = explainTuningIn(LINUX, options).failures.hung;
    world.run(withinMs + 1_000);
    expect(deadAtMs - stoppedAtMs).toBeLessThanOrEqual(withinMs);
    // It beat within an interval before it was stopped.
    expect(deadAtMs - stoppedAtMs).toBeGreaterThan(verdict.soonestMs - options.intervalMs);
  });
});

test('load: linear in links and cost, and says where the cost was measured', () => {
  const { load } = explainTuningIn(LINUX, { links: 10_000 });
  expect(load).toMatchObject({ links: 10_000, cost: BEAT_COST });
  expect(load?.packetsPerSecond).toBe(2 * load!.framesPerSecond);
  expect(load?.bytesPerSecond).toBeCloseTo(load!.framesPerSecond * 120);
  const beatCost = { frameUs: 100, measured: 'in a test' };
  const dear = explainTuningIn(LINUX, { links: 20_000, beatCost }).load!;
  expect(dear.framesPerSecond).toBeCloseTo(2 * load!.framesPerSecond);
  expect(dear.cpuShare).toBeCloseTo((dear.framesPerSecond * 100) / 1e6);
  expect(dear.cost).toEqual(beatCost);
  expect(explainTuningIn(LINUX, {}).load).toBeUndefined();
});
