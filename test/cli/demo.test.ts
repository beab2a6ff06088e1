/** The demo: its cast, its judgement (which must be able to fail), and a whole run. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRight, judgeKind, TICK_MS } from '../../src/cli/demo/judgement.ts';
import { Peer } from '../../src/cli/demo/peer.ts';
import { castOf, KINDS, type KindName } from '../../src/cli/demo/scenario.ts';
import { renderTable, summaryTable } from '../../src/cli/demo/table.ts';
import type { Confidence, Diagnosis } from '../../src/net/diagnosis/evidence.ts';
import type { Link } from '../../src/net/types.ts';
import type { Cause } from '../../src/session/causes.ts';
import { CommandUnderTest, objectsOf } from './command.ts';

const kind = (name: KindName) => KINDS.find((one) => one.name === name)!;

interface Story {
  cause?: Cause;
  afterMs?: number;
  silentMs?: number;
  suspected?: boolean;
  recovered?: boolean;
  confidence?: Confidence;
}

/** A peer whose link has a limit D of 1 500 ms and a detection time of 2 000 ms, after this story. */
function peerOf(name: KindName, story: Story): Peer {
  const peer = new Peer(kind(name), { state: 'closed' } as Link);
  const { cause, afterMs = 0, silentMs } = story;
  peer.struckAtMs = 5_000;
  peer.suspected = story.suspected === true;
  peer.recovered = story.recovered === true;
  if (cause !== undefined) peer.ended = { cause, atMs: 5_000 + afterMs };
  if (cause !== undefined && silentMs !== undefined) {
    const { confidence = 'certain' } = story;
    const diagnosis = { cause, confidence } as Diagnosis;
    const bounds = { limitMs: 1_500, detectionTimeMs: 2_000, detectionBoundMs: 3_000 };
    peer.verdict = { cause, silentMs, diagnosis, ...bounds };
  }
  return peer;
}

describe('the cast', () => {
  test.each([20, 40, 200, 5_000])('of %i has every kind, mostly healthy, victims not in a row', (links) => {
    const cast = castOf(links);
    expect(cast).toHaveLength(links);
    expect(new Set(cast.map(({ name }) => name)).size).toBe(KINDS.length);
    expect(cast.filter(({ name }) => name === 'healthy').length).toBeGreaterThan(links / 2);
    const victims = cast.filter(({ name }) => name !== 'healthy');
    expect(victims.slice(0, 8).some(({ name }) => name !== victims[0]!.name)).toBe(true);
  });

  test('is 12 frozen, 16 cut and 6 damaged of 200', () => {
    const count = (name: KindName): number => castOf(200).filter((one) => one.name === name).length;
    expect([count('frozen'), count('reset') + count('crashed'), count('damage')]).toEqual([12, 16, 6]);
  });
});

describe('the judgement', () => {
  test.each<[string, KindName, Story, boolean]>([
    ['a healthy link that lives', 'healthy', {}, true],
    ['a healthy link that died', 'healthy', { cause: 'link-dead', silentMs: 1_600 }, false],
    ['a stalled link that recovered', 'stalled', { suspected: true, recovered: true }, true],
    ['a stalled link that nobody suspected', 'stalled', {}, false],
    [
      'a stalled link that was killed',
      'stalled',
      { suspected: true, cause: 'link-dead', silentMs: 1_600 },
      false,
    ],
    ['a frozen link that lives on', 'frozen', {}, false],
    ['a verdict at D', 'frozen', { cause: 'process-hung', silentMs: 1_500 }, true],
    ['a verdict before D', 'frozen', { cause: 'process-hung', silentMs: 1_499 }, false],
    ['a verdict at the bound', 'frozen', { cause: 'process-hung', silentMs: 2_000 + TICK_MS + 7 }, true],
    ['a verdict past the bound', 'frozen', { cause: 'process-hung', silentMs: 2_000 + TICK_MS + 8 }, false],
    ['the wrong cause', 'frozen', { cause: 'never-answered', silentMs: 1_600 }, false],
    [
      'what the clocks alone can know',
      'frozen',
      { cause: 'link-dead', silentMs: 1_600, confidence: 'guess' },
      true,
    ],
    [
      'the kernel asked in vain',
      'frozen',
      { cause: 'link-dead', silentMs: 1_600, confidence: 'likely' },
      false,
    ],
    ['a frozen link closed without a verdict', 'frozen', { cause: 'process-hung' }, false],
    ['a reset found at 107 ms', 'reset', { cause: 'peer-unreachable', afterMs: 107 }, true],
    ['a reset found at 108 ms', 'reset', { cause: 'peer-unreachable', afterMs: 108 }, false],
    ['a reset found by silence', 'reset', { cause: 'peer-unreachable', afterMs: 50, silentMs: 50 }, false],
    ['a FIN taken for leaving', 'crashed', { cause: 'left', afterMs: 1 }, false],
    ['a GOAWAY understood', 'leaving', { cause: 'left', afterMs: 1 }, true],
  ])('%s', (_what, name, story, right) => {
    expect(isRight(peerOf(name, story), 7)).toBe(right);
  });

  test('a process that was late itself is held to the bound it publishes for that', () => {
    const late = (silentMs: number) => peerOf('frozen', { cause: 'process-hung', silentMs });
    expect([isRight(late(2_110), 99), isRight(late(2_109), 99)]).toEqual([false, true]);
    expect([isRight(late(3_101), 100), isRight(late(3_100), 100)]).toEqual([false, true]);
  });

  test('counts and bounds make the row, and a failure shows in the table', () => {
    const peers = [
      peerOf('frozen', { cause: 'process-hung', afterMs: 1_200, silentMs: 1_510 }),
      peerOf('frozen', { cause: 'process-hung', afterMs: 1_400, silentMs: 1_505 }),
      peerOf('frozen', {}),
    ];
    const row = judgeKind(kind('frozen'), peers, 0);
    expect(row).toMatchObject({ links: 3, right: 2, seen: '2 dead, process-hung, 1 up' });
    expect([row.minAfterMs, row.maxAfterMs, row.maxSilentMs]).toEqual([1_200, 1_400, 1_510]);
    expect(summaryTable([row])).toContain('FAIL (1 wrong)');
    expect(summaryTable([judgeKind(kind('frozen'), peers.slice(0, 2), 0)])).toContain('PASS');
  });

  test('a table has columns as wide as their widest cell, numbers to the right', () => {
    expect(
      renderTable([
        ['a', 'long'],
        ['wide', '7'],
        ['3 x', '10'],
      ]),
    ).toBe('a     long\nwide     7\n3 x     10');
  });
});

describe('wirebeat demo', () => {
  const command = new CommandUnderTest();
  beforeAll(() => command.build());
  afterAll(() => command.dispose());

  test.concurrent('plays every fault, finds each one, and exits 0', async () => {
    const { code, stdout, stderr } = await command.run(['demo', '--links', '40', '--interval', '250ms']);
    expect(`${code} ${stderr}`).toBe('0 ');
    for (const { name } of KINDS) expect(stdout).toMatch(new RegExp(`^${name} .* PASS$`, 'm'));
    expect(stdout).toMatch(/^PASS after/m);
    expect(stdout).not.toContain('\u001b'); // no terminal, no drawing
  });

  test.concurrent('--json: every line an object, deaths named by kind, the summary last', async () => {
    const { code, stdout } = await command.run(['demo', '--links', '20', '--interval', '250ms', '--json']);
    const objects = objectsOf(stdout);
    const summary = objects.at(-1) as { kinds: { links: number; right: number }[] };
    expect(summary.kinds.filter(({ links, right }) => links !== right)).toEqual([]);
    expect(summary).toMatchObject({ type: 'summary', passed: true, wrong: 0, interrupted: false });
    expect(objects.filter(({ type }) => type === 'dead').map(({ kind }) => kind)).toContain('frozen');
    expect(code).toBe(0);
  });

  test('Ctrl-C ends it at once, exit 1, nothing left running', async () => {
    const demo = command.start(['demo', '--links', '40']);
    await demo.saying(/^ \d\.\d s/m);
    demo.child.kill('SIGINT');
    const { code, signal, stdout, stderr } = await demo.ended;
    expect({ code, signal, stderr }).toEqual({ code: 1, signal: null, stderr: '' });
    expect(stdout).toMatch(/cut short after/);
  });
});
