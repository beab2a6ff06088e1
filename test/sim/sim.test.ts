/** The sim itself: a bounded run keeps every promise, a seed replays, and the rules see what they look for. */
import { describe, expect, test } from 'vitest';
import { SIM_HELP, simArguments, UsageError } from './arguments.ts';
import { mayDie } from './excuses.ts';
import { generatePlan } from './generate.ts';
import { runHistory } from './history.ts';
import { MUTANTS, occurrences } from './mutants.ts';
import type { ConnectionPlan, FaultPlan, Plan } from './plan.ts';
import { explainFailure, runSim } from './runner.ts';
import { shrinkPlan } from './shrink.ts';
import { hostFrame, WireReader } from './wire-reader.ts';

const LINK: ConnectionPlan = {
  intervalMs: 1_000,
  deadAfter: 3,
  farDeadAfter: 3,
  peer: 'full',
  isShared: false,
  ask: 'when-silent',
  nearPhase: 0,
  farPhase: 0,
  rttMs: 20,
  jitterMs: 0,
  bytesPerSecond: Infinity,
  bufferBytes: 2 ** 18,
  isSplit: false,
  natIdleMs: Infinity,
  traffic: [],
};

function plan(faults: Partial<FaultPlan>[], link: Partial<ConnectionPlan> = {}): Plan {
  const fault: FaultPlan = { kind: 'stall', atMs: 10_000, forMs: Infinity, connection: 0, side: 'near' };
  return {
    seed: 7,
    lengthMs: 40_000,
    connections: [{ ...LINK, ...link }],
    faults: faults.map((change) => ({ ...fault, ...change })),
  };
}

describe('random histories', () => {
  test('keep every promise, and truly contain deaths and averted kills', { timeout: 60_000 }, async () => {
    const totals = await runSim({ from: 1, seeds: 150 });
    const told = totals.failedSeed === undefined ? '' : await explainFailure(totals.failedSeed);
    expect(told).toBe('');
    expect(totals.deaths).toBeGreaterThan(30);
    expect(totals.averted).toBeGreaterThan(5);
  });

  test('a seed gives the same plan and the same log every time, another seed another', async () => {
    const seed = 31;
    const [first, second] = [await runHistory(generatePlan(seed)), await runHistory(generatePlan(seed))];
    expect(first.log.length).toBeGreaterThan(5);
    expect(second.log).toEqual(first.log);
    expect(generatePlan(seed + 1)).not.toEqual(generatePlan(seed));
  });
});

describe('planned histories', () => {
  test.each([
    ['F15: both directions are lost', plan([{ kind: 'black-hole' }]), 2],
    [
      'F16: one direction is lost: its receiver judges, the sender is ended by it',
      plan([{ kind: 'lose-there' }]),
      1,
    ],
    ['F17: the peer is stopped', plan([{ kind: 'freeze', side: 'far' }]), 1],
    ['F20: accepted and swallowed', plan([], { peer: 'swallow' }), 1],
    ['F21: the translator forgets', plan([], { natIdleMs: 500 }), 2],
    ['F10: a silence that leaves room', plan([{ kind: 'black-hole', forMs: 1_500 }]), 0],
    ['F6: the wall clock jumps', plan([{ kind: 'wall-step' }]), 0],
    ['F5: our machine sleeps', plan([{ kind: 'suspend', forMs: 60_000 }], { peer: 'bare' }), 0],
    ['F62: our loop is blocked most of the time', plan([{ kind: 'thrash' }], { peer: 'bare' }), 0],
    [
      'F62: our loop is blocked again and again while the peer dies',
      plan([{ kind: 'thrash-long' }, { kind: 'black-hole', atMs: 11_000 }], { peer: 'bare' }),
      1,
    ],
    [
      'F63: we do not read for four detection times',
      plan([{ kind: 'pause', forMs: 12_000 }], { peer: 'bare' }),
      0,
    ],
    [
      'F1: our loop is blocked three detection times, answers wait',
      plan([{ forMs: 9_000 }], { peer: 'bare' }),
      0,
    ],
    [
      'F64: we sleep while one who agreed to our rate beats on; its beats are read before we know that we slept',
      plan([{ kind: 'suspend', forMs: 15_000 }], {
        intervalMs: 5_000,
        deadAfter: 5,
        farDeadAfter: 2,
        negotiation: {
          far: 'too',
          farIntervalMs: 500,
          changes: [
            { by: 'near', atMs: 4_000, desiredMinTxMs: 5_000, requiredMinRxMs: 500, detectMultiplier: 5 },
          ],
        },
      }),
      0,
    ],
    [
      'F51: rates change from both ends at once',
      plan([], {
        negotiation: {
          far: 'too',
          farIntervalMs: 10_000,
          changes: [
            { by: 'near', atMs: 9_000, desiredMinTxMs: 200, requiredMinRxMs: 4_000, detectMultiplier: 5 },
            { by: 'far', atMs: 9_005, desiredMinTxMs: 500, requiredMinRxMs: 2_000, detectMultiplier: 2 },
          ],
        },
      }),
      0,
    ],
    [
      'F51: we beat faster from now on; a peer we never agreed with, stalled, has not heard of it yet',
      plan([{ side: 'far', forMs: 4_000, atMs: 19_500 }], {
        intervalMs: 2_000,
        negotiation: {
          far: 'too',
          farIntervalMs: 200_000, // three of them are more than we accept
          changes: [
            { by: 'near', atMs: 20_000, desiredMinTxMs: 200, requiredMinRxMs: 100, detectMultiplier: 3 },
          ],
        },
      }),
      0,
    ],
  ])('%s', async (_title, planned, deaths) => {
    const result = await runHistory(planned);
    expect(result.violations).toEqual([]);
    expect(result.deaths).toBe(deaths);
  });

  test('F1: what the clock alone would have killed is counted', async () => {
    const result = await runHistory(plan([{ forMs: 9_000 }], { farDeadAfter: 20 }));
    expect(result).toMatchObject({ violations: [], deaths: 0, averted: 1 });
  });

  test('what a program throws is a violation, not the end of the run', async () => {
    const { violations } = await runHistory(plan([], { intervalMs: 0 }));
    expect(violations).toMatchObject([{ invariant: '0-exception' }]);
    expect(violations[0]!.text).toContain('intervalMs must be');
  });
});

describe('F51: one end speaks often, the other seldom', () => {
  /** The near end every 100 ms, the far end every 2 s, agreed on in the first second. */
  const uneven = (
    faults: Partial<FaultPlan>[],
    deadAfter: number,
    link: Partial<ConnectionPlan> = {},
  ): Plan =>
    plan(faults, {
      intervalMs: 100,
      deadAfter,
      negotiation: { far: 'too', farIntervalMs: 2_000, changes: [] },
      ...link,
    });

  test.each([2, 5])(
    'a dead path is found in time, whenever it dies, with multiplier %i',
    async (deadAfter) => {
      for (let atMs = 10_000; atMs < 12_000; atMs += 130) {
        const { violations, deaths } = await runHistory(uneven([{ kind: 'black-hole', atMs }], deadAfter));
        expect({ atMs, violations, deaths }).toEqual({ atMs, violations: [], deaths: 2 });
      }
    },
  );

  test('a dead path is found in time after suspicions that a slow answer refuted', async () => {
    for (let atMs = 20_000; atMs < 22_000; atMs += 130) {
      const thrash: Partial<FaultPlan> = { kind: 'thrash-long', atMs: 6_000, forMs: 14_000 };
      const hole: Partial<FaultPlan> = { kind: 'black-hole', atMs };
      const { violations } = await runHistory(uneven([thrash, hole], 2, { rttMs: 40 }));
      expect({ atMs, violations }).toEqual({ atMs, violations: [] });
    }
  });

  test('who may speak seldom does not ask after each stall of its own: nobody is cut for its rate', async () => {
    const changes = [
      { by: 'near', atMs: 4_000, desiredMinTxMs: 500, requiredMinRxMs: 10_000, detectMultiplier: 2 },
    ] as const;
    const link = {
      deadAfter: 5,
      farDeadAfter: 2,
      negotiation: { far: 'too', farIntervalMs: 500, changes },
    } as const;
    for (let atMs = 5_000; atMs < 6_000; atMs += 90) {
      const { violations, deaths } = await runHistory(plan([{ kind: 'thrash', side: 'far', atMs }], link));
      expect({ atMs, violations, deaths }).toEqual({ atMs, violations: [], deaths: 0 });
    }
  });
});

describe('which deaths are excused', () => {
  const may = (faults: Partial<FaultPlan>[], atMs: number, link: Partial<ConnectionPlan> = {}): boolean =>
    mayDie(plan(faults, link), 0, 'near', atMs, Infinity);

  test('none without a disruption, and none by our own stall, pause, sleep or wall clock', () => {
    for (const kind of ['stall', 'pause', 'suspend', 'wall-step'] as const) {
      expect(may([{ kind, forMs: 20_000 }], 20_000)).toBe(false);
    }
    expect(may([], 20_000)).toBe(false);
  });

  test('room is D less one interval, the round trip and slack: at the edge and one past it', () => {
    const edgeMs = 3_000 - 1_000 - 20 - 30;
    expect(may([{ kind: 'black-hole', forMs: edgeMs }], 12_000)).toBe(false);
    expect(may([{ kind: 'black-hole', forMs: edgeMs + 1 }], 12_000)).toBe(true);
  });

  test('disruptions near each other add up, distant ones do not, later ones excuse nothing', () => {
    const hole = (atMs: number): Partial<FaultPlan> => ({ kind: 'black-hole', atMs, forMs: 1_500 });
    expect(may([hole(10_000), hole(13_000)], 15_000)).toBe(true);
    expect(may([hole(10_000), hole(19_000)], 20_500)).toBe(false);
    expect(may([{ kind: 'black-hole' }], 9_000)).toBe(false);
  });

  test('our lost questions concern us only when the peer does nothing but answer', () => {
    expect(may([{ kind: 'lose-there' }], 15_000)).toBe(false);
    expect(may([{ kind: 'lose-there' }], 15_000, { peer: 'bare' })).toBe(true);
  });
});

describe('planted mistakes', () => {
  test.each(MUTANTS)('$name still applies, exactly once', (mutant) => {
    expect(occurrences(mutant)).toBe(1);
    expect(mutant.replace).not.toContain(mutant.find);
  });
});

describe('the command line', () => {
  test('has defaults, and takes what is at the limits', () => {
    expect(simArguments([])).toEqual({
      seeds: 2_000,
      from: 1,
      seed: undefined,
      mutants: [],
      json: false,
      help: false,
    });
    expect(simArguments(['--seeds', '1', '--from', '0', '--json'])).toMatchObject({
      seeds: 1,
      from: 0,
      json: true,
    });
    expect(simArguments(['--mutant', 'all']).mutants).toEqual(MUTANTS);
    expect(simArguments(['-h']).help).toBe(true);
  });

  test.each([
    ['--seeds x', /^--seeds must be a whole number, 1 or more, .* got "x"$/],
    ['--seeds 0', /^--seeds .* got "0"$/],
    ['--from 1.5', /^--from must be a whole number, 0 or more, .* got "1\.5"$/],
    ['--seed 1e3', /^--seed .* got "1e3"$/],
    ['--mutant none', /^--mutant must be all or one of .*, got "none"$/],
    ['--seed 1 --mutant all', /^--seed and --mutant exclude each other$/],
    ['--fast', /^Unknown option '--fast'/],
    ['more', /^Unexpected argument 'more'/],
  ])('refuses %s in one line', (line, message) => {
    const parse = () => simArguments(line.split(' '));
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  test('the help tells every option and every mistake', () => {
    const words = ['--seeds', '--from', '--seed', '--mutant', '--json', ...MUTANTS.map(({ name }) => name)];
    for (const word of words) expect(SIM_HELP).toContain(word);
  });
});

describe('shrinking', () => {
  test('what breaks no rule is left alone', async () => {
    const good = plan([{ kind: 'wall-step' }]);
    expect(await shrinkPlan(good)).toBe(good);
  });
});

describe('the independent reader', () => {
  const PING = Buffer.from('48420101feffffff78563412168a0000', 'hex');

  function read(shared: boolean, ...chunks: Uint8Array[]): { seqs: number[]; reader: WireReader } {
    const seqs: number[] = [];
    const reader = new WireReader(shared, ({ seq }) => seqs.push(seq));
    for (const chunk of chunks) reader.push(chunk);
    return { seqs, reader };
  }

  test('finds heartbeats byte by byte, between stray bytes, and not damaged ones', () => {
    const damaged = Buffer.from(PING);
    damaged[5]! ^= 1;
    const stream = Buffer.concat([Buffer.from('HHB'), PING, damaged, PING]);
    expect(read(false, ...Array.from(stream, (byte) => Uint8Array.of(byte))).seqs).toEqual([
      0xfffffffe, 0xfffffffe,
    ]);
  });

  test('F65: sees a heartbeat that lies inside a host frame', () => {
    const frame = hostFrame(100);
    expect(read(true, PING, frame, hostFrame(0), PING).reader).toMatchObject({
      frames: 2,
      broken: undefined,
    });
    const torn = Buffer.concat([frame.subarray(0, 50), PING, frame.subarray(50)]);
    expect(read(true, torn).reader.broken).toContain('byte 46 of a host frame of 100');
  });
});
