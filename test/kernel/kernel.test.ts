/** The parts of the kernel lab that need no root: its command line, its verdicts, its table, what it cleans up. */
import { describe, expect, test } from 'vitest';
import { labArguments, labHelp } from './arguments.ts';
import { namespaceName, orphans } from './leftovers.ts';
import { crashed, judged, type Outcome, SLACK_MS } from './outcome.ts';
import { inParallel } from './pool.ts';
import { type Facts, missingParts } from './requirements.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { resultTable, story } from './table.ts';

describe('the command line', () => {
  const NAMES = ['reset', 'stopped', 'icmp'];

  test('says once, four at a time, everything, when nothing is asked', () => {
    expect(labArguments([], NAMES)).toEqual({
      runs: 1,
      parallel: 4,
      only: [],
      json: false,
      withoutNative: false,
      help: false,
    });
  });

  test('takes every option; names come in one list or several', () => {
    const line = '--runs 10 --parallel 2 --only reset,icmp --only stopped --json --without-native';
    expect(labArguments(line.split(' '), NAMES)).toEqual({
      runs: 10,
      parallel: 2,
      only: ['reset', 'icmp', 'stopped'],
      json: true,
      withoutNative: true,
      help: false,
    });
  });

  test('helps: every option and every scenario by name', () => {
    for (const line of ['--help', '-h']) expect(labArguments([line], NAMES).help).toBe(true);
    const help = labHelp(NAMES);
    for (const option of ['runs', 'only', 'parallel', 'without-native', 'json', 'help']) {
      expect(help).toMatch(new RegExp(`^ .*--${option}\\b`, 'm'));
    }
    for (const name of NAMES) expect(help).toContain(`\n  ${name}\n`);
  });

  test.each([
    ['--runs 0', '--runs must be an integer in 1..1000, got 0'],
    ['--runs many', '--runs must be an integer in 1..1000, got NaN'],
    ['--parallel 33', '--parallel must be an integer in 1..32, got 33'],
    ['--only rest', '--only must be of reset, stopped, icmp, got "rest"'],
    ['--fast', "Unknown option '--fast'"],
  ])('refuses %s', (line, message) => {
    expect(() => labArguments(line.split(' '), NAMES)).toThrow(message);
  });
});

describe('what a machine lacks', () => {
  const FACTS: Facts = {
    isLinux: true,
    isRoot: true,
    hasIp: true,
    hasNamespaces: true,
    iptables: 'iptables',
    hasHaproxy: true,
  };

  test('is nothing where all is there', () => {
    expect(missingParts(FACTS)).toEqual([]);
  });

  test.each<[Partial<Facts>, string[]]>([
    [{ isLinux: false, isRoot: false }, ['Linux']],
    [{ isRoot: false, hasHaproxy: false }, ['root']],
    [{ hasIp: false, hasNamespaces: false, iptables: undefined }, ['ip (iproute2)']],
    [{ hasNamespaces: false, iptables: undefined, hasHaproxy: false }, ['network namespaces', 'haproxy']],
    [{ iptables: undefined }, ['iptables with conntrack and NAT']],
    [{ iptables: undefined, hasHaproxy: false }, ['iptables with conntrack and NAT', 'haproxy']],
    [{ hasHaproxy: false }, ['haproxy']],
  ])('%j is told by name, without what cannot be known yet', (change, missing) => {
    expect(missingParts({ ...FACTS, ...change })).toEqual(missing);
  });
});

describe('left-overs of killed runs', () => {
  test('are the namespaces of labs that no longer run, and nobody else his', () => {
    const listing = [
      `${namespaceName(71, 1, 'near')} (id: 3)`,
      `${namespaceName(72, 12, 'far')}`,
      `${namespaceName(71, 2, 'middle')}`,
      'wirebeat',
      'wirebeat-71',
      'my-wirebeat-71-1-near',
      'blue (id: 0)',
      '',
    ].join('\n');
    expect(orphans(listing, (pid) => pid === 72)).toEqual(['wirebeat-71-1-near', 'wirebeat-71-2-middle']);
    expect(orphans(listing, () => true)).toEqual([]);
  });
});

describe('outcomes', () => {
  const SCENARIO: Scenario = {
    name: 'icmp',
    what: 'unreachable',
    expected: (isNative) => (isNative ? 'peer-unreachable' : 'link-dead'),
    run: () => Promise.reject(new Error('not run here')),
  };
  const finding = { found: 'link-dead', tookMs: 1_449.6, boundMs: 1_200 };

  test('are right when the cause is and the time is within bound and slack', () => {
    expect(judged(SCENARIO, false, finding)).toMatchObject({
      tookMs: 1_450,
      boundMs: 1_200 + SLACK_MS,
      wrong: undefined,
    });
  });

  test('are wrong one millisecond later, with another cause, with none, with a broken side condition', () => {
    const wrong = (change: object, isNative = false): string | undefined =>
      judged(SCENARIO, isNative, { ...finding, ...change }).wrong;
    expect(wrong({ tookMs: 1_451 })).toBe('took 1451 ms, more than 1450');
    expect(wrong({}, true)).toBe('found link-dead, not peer-unreachable');
    expect(wrong({ found: undefined })).toBe('found nothing, not link-dead');
    expect(wrong({ broken: 'no question was answered' })).toBe('no question was answered');
  });

  test('tell the error of a scenario that did not come to its end', () => {
    expect(crashed(SCENARIO, true, new Error('peer did not say "listening"'))).toMatchObject({
      found: 'nothing',
      wrong: 'peer did not say "listening"',
    });
  });
});

describe('the table', () => {
  const outcome = (change: Partial<Outcome>): Outcome => ({
    scenario: 'reset',
    what: 'the connection is reset',
    expected: 'peer-unreachable',
    found: 'peer-unreachable',
    tookMs: 100,
    boundMs: 650,
    note: 'ECONNRESET',
    wrong: undefined,
    ...change,
  });

  test('has one row per scenario: its slowest run, all that was found, how many were right', () => {
    const outcomes = [
      outcome({ scenario: 'goaway', what: 'bye', expected: 'left', found: 'left', note: '' }),
      outcome({}),
      outcome({ tookMs: 300 }),
      outcome({ tookMs: 200, found: 'link-dead', note: '', wrong: 'found link-dead' }),
    ];
    // In the order of the scenarios, whichever ended first.
    const lines = resultTable(outcomes, ['icmp', 'reset', 'goaway']).split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['scenario', 'what happens', 'expected', 'found', 'ms', 'bound', 'right', 'note'],
      [
        'reset',
        'the connection is reset',
        'peer-unreachable',
        'peer-unreachable|link-dead',
        '300',
        '650',
        '2/3',
        'ECONNRESET',
      ],
      ['goaway', 'bye', 'left', 'left', '100', '650', '1/1'],
    ]);
  });

  test('a story puts what all programs said on one clock', () => {
    const said = story([
      { name: 'watcher', happenings: [{ atMs: 1_020, event: 'closed', detail: { cause: 'left' } }] },
      { name: 'peer', happenings: [{ atMs: 1_000.4, event: 'listening', detail: { port: 9 } }] },
    ]);
    expect(said).toBe('      0 peer     listening {"port":9}\n     20 watcher  closed {"cause":"left"}');
    expect(story([])).toBe('');
  });
});

describe('the scenarios', () => {
  test('have names of their own, as the command line knows them', () => {
    const names = SCENARIOS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z-]+$/.test(name))).toEqual([]);
  });

  test.each(['F1', 'F3', 'F10', 'F11', 'F15', 'F16', 'F17', 'F18', 'F19', 'F20', 'F21', 'F22'])(
    '%s is among them',
    (fault) => {
      expect(SCENARIOS.filter(({ what }) => new RegExp(`\\b${fault}\\b`).test(what))).not.toEqual([]);
    },
  );
});

describe('jobs', () => {
  test('are done in order, never more at a time than told, and a failure is told', async () => {
    const log: string[] = [];
    let atWork = 0;
    let most = 0;
    await inParallel(['a', 'b', 'c', 'd', 'e'], 2, async (job) => {
      most = Math.max(most, ++atWork);
      log.push(job);
      for (let turn = 0; turn < 3; turn++) await Promise.resolve();
      atWork--;
    });
    expect(log.join('')).toBe('abcde');
    expect(most).toBe(2);
    await expect(inParallel(['a'], 4, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});
