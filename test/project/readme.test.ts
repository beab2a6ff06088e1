/**
 * Every block of code in README.md is run (the convention stands in readme.ts). First the machinery itself is
 * shown to notice a page that lies; then the page is read.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { consoleSteps, Desk, missingLine, parseBlocks, withoutSetUp } from './readme.ts';
import { freshBuild, manifest, ROOT } from './source.ts';

const PAGE = join(ROOT, 'README.md');
const blocks = existsSync(PAGE) ? parseBlocks(readFileSync(PAGE, 'utf8')) : [];
const runnable = blocks.filter(({ language }) => ['sh', 'console', 'ts'].includes(language));

describe('README.md', () => {
  let desk: Desk;

  beforeAll(async () => {
    freshBuild();
    desk = new Desk(ROOT, manifest().scripts);
    await desk.check(runnable.filter(({ language }) => language === 'ts'));
  });
  afterAll(() => desk?.close());

  test('exists and shows code', () => {
    expect(existsSync(PAGE), 'README.md is missing').toBe(true);
    expect(runnable.length).toBeGreaterThan(0);
  });

  test('its JSON is JSON', () => {
    for (const { text } of blocks.filter(({ language }) => language === 'json')) {
      for (const line of text.trim().startsWith('{') && text.includes('}\n{') ? text.split('\n') : [text]) {
        expect(() => JSON.parse(line), line).not.toThrow();
      }
    }
  });

  for (const block of runnable) {
    const title = block.text.split('\n').find((line) => line.trim() !== '') ?? 'empty';
    test(`line ${block.line}: ${title}`, { timeout: 60_000 }, () => desk.run(block));
  }
});

describe.concurrent('the reader of the README', () => {
  const fence = '```';
  const page = (info: string, text: string): string => `# Title\n\n${fence}${info}\n${text}\n${fence}\n`;

  /** Run a page on a desk of its own; the complaint, or null when all was well. */
  async function complaint(markdown: string, endingLimitMs?: number): Promise<string | null> {
    const desk = new Desk(ROOT, { demo: 'x' }, endingLimitMs);
    let said: string | null = null;
    try {
      for (const block of parseBlocks(markdown)) await desk.run(block);
    } catch (error) {
      said = (error as Error).message;
    }
    await desk.close().catch((error: Error) => {
      said ??= error.message;
    });
    return said;
  }

  test('finds blocks, their words and their sections', () => {
    const first = `# T\n${fence}sh\na\n${fence}\n## B\n`;
    const text = `${first}<!-- readme: background exit=3 -->\n${fence}ts check\nb\n\nc\n${fence}`;
    expect(parseBlocks(text)).toEqual([
      { line: 2, section: 1, language: 'sh', words: [], text: 'a' },
      { line: 7, section: 2, language: 'ts', words: ['check', 'background', 'exit=3'], text: 'b\n\nc' },
    ]);
  });

  test.each([
    ['no language', page('', 'x'), /line 3: unknown language ""/],
    ['a strange language', page('python', 'x'), /unknown language "python"/],
    ['a strange word', page('sh skip', 'x'), /unknown word "skip"/],
    ['an open block', `${fence}sh\nx`, /line 1: the block is never closed/],
  ])('refuses %s', (_what, markdown, message) => {
    expect(() => parseBlocks(markdown)).toThrow(message);
  });

  test('set-up lines are taken out, and their scripts must exist', () => {
    expect(withoutSetUp('npm ci && npm run demo\nls\ngit clone x', { demo: '' })).toBe('ls');
    expect(() => withoutSetUp('npm ci && npm run dmeo', { demo: '' })).toThrow('there is no script "dmeo"');
  });

  test('expected output: any number for a number, dots for anything, lines in order', () => {
    const output = 'seq=1 rtt=0.31 ms\nseq=2 rtt=12.5 ms\n2 sent, 0 lost (0%)';
    expect(missingLine(['seq=7 rtt=9.99 ms', '2 sent, ... (0%)'], output)).toBeNull();
    expect(missingLine(['2 sent', 'seq=1'], output)).toBe('seq=1');
    expect(missingLine(['seq=1 rtt=1.1 s$'], output)).toBe('seq=1 rtt=1.1 s$');
    expect(consoleSteps('$ a\nb\n\n$ c')).toEqual([
      { command: 'a', expected: ['b'] },
      { command: 'c', expected: [] },
    ]);
    expect(() => consoleSteps('b\n$ a')).toThrow('starts with output');
  });

  test.each([
    ['a script that works', page('sh', 'npx wirebeat --version\ntest 7400 = 7400')],
    ['a status that is expected', page('sh exit=3', 'exit 3')],
    ['output as shown', page('console', '$ npx wirebeat --version\n0.0.0')],
    ['set-up lines', page('sh', 'npm ci && npm run demo')],
    ['a module', page('ts', 'const a: number = 1;\nconsole.log(a, import.meta.url);')],
    ['a module only checked', page('ts check', 'process.exit(3);')],
  ])('is content with %s', async (_what, markdown) => {
    expect(await complaint(markdown)).toBeNull();
  });

  test.each([
    ['a failing script', page('sh', 'false\ntrue'), /line 3: ended with 1, not 0/],
    ['a wrong status', page('sh exit=3', 'exit 2'), /ended with 2, not 3/],
    ['output that is not printed', page('console', '$ echo one\ntwo'), /printed no line like "two"/],
    ['a wrong type', page('ts', 'const a: number = "text";'), /TS2322/],
    ['a missing module', page('ts', "import 'wirebeat/nowhere';"), /TS2307|TS2882/],
    ['a module that throws', page('ts', "throw new Error('as said');"), /as said/],
    [
      'a package it does not install',
      page('sh', 'npx cowsay hello'),
      /npx cowsay, which it does not install/,
    ],
    [
      'a background that ends',
      `${page('sh background', 'echo up; exit 4')}${fence}sh\nsleep 0.3\n${fence}\n`,
      /died early/,
    ],
    ['a background that says nothing', page('sh background', 'exit 4'), /ended before it printed anything/],
  ])('complains about %s', async (_what, markdown, message) => {
    expect(await complaint(markdown)).toMatch(message);
  });

  test('checked together, each module keeps its names and its own faults', async () => {
    const text = (type: string): string => `const same: ${type} = 1;\nexport const also = same;`;
    const blocks = [text('number'), text('string')].flatMap((one, at) =>
      parseBlocks(`${'\n'.repeat(at)}${page('ts check', one)}`),
    );
    const desk = new Desk(ROOT, {});
    try {
      await desk.check(blocks);
      await desk.run(blocks[0]!);
      await expect(desk.run(blocks[1]!)).rejects.toThrow(/^README line 4: .*\nline-4\.ts\(1,7\): .*TS2322/);
    } finally {
      await desk.close();
    }
  });

  test('a background block lives until the next section, on a free port that the page shares', async () => {
    const serve = `node -e "require('net').createServer((s) => s.end('hi')).listen(7401, () => console.log('up'))"`;
    const call = `node -e "require('net').connect(7401).on('data', (d) => console.log(String(d)))"`;
    const server = `## A\n${fence}sh background\n${serve}\n${fence}\n`;
    const good = `${server}${fence}console\n$ ${call}\nhi\n${fence}\n`;
    expect(await complaint(good)).toBeNull();
    const late = `${server}## B\n${fence}console\n$ ${call}\nhi\n${fence}\n`;
    expect(await complaint(late)).toMatch(/ECONNREFUSED/);
  });

  test('a background block that ignores SIGINT is killed, and reported', { timeout: 30_000 }, async () => {
    const stubborn = `node -e "process.on('SIGINT', () => {}); setInterval(() => {}, 1e6); console.log('up')"`;
    expect(await complaint(page('sh background', stubborn), 500)).toMatch(/ignored SIGINT/);
  });
});
