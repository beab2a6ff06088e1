/**
 * Titles of tests name faults by number: each number that a test uses is explained in spec/FAULTS.md, and each fault
 * explained there names files that show it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesBelow, ROOT, type SourceFile } from './source.ts';

/** The numbers of faults in a text: F and a number, or a range of them. */
function faultsIn(text: string): Set<number> {
  const found = new Set<number>();
  for (const [, first, last = first] of text.matchAll(/\bF([1-9]\d?)(?:-F([1-9]\d?))?\b/g)) {
    for (let fault = Number(first); fault <= Number(last); fault++) found.add(fault);
  }
  return found;
}

interface Explained {
  readonly fault: number;
  readonly meaning: string;
  readonly shownBy: readonly string[];
}

/** The rows of the table. */
function explained(page: string): Explained[] {
  return [...page.matchAll(/^\| \*\*F(\d+)\*\* \| (.*) \| (.*) \|$/gm)].map(([, fault, meaning, files]) => ({
    fault: Number(fault),
    meaning: meaning!,
    shownBy: [...files!.matchAll(/`([^`]+)`/g)].map((match) => `test/${match[1]}`),
  }));
}

/** What does not agree between the page and the tests. */
function offences(page: string, tests: readonly SourceFile[]): string[] {
  const rows = explained(page);
  const used = new Map(tests.map(({ path, text }) => [path, faultsIn(text)]));
  const known = new Set(rows.map(({ fault }) => fault));
  const unexplained = [...used].flatMap(([path, faults]) =>
    [...faults].filter((fault) => !known.has(fault)).map((fault) => `${path} names F${fault}: not explained`),
  );
  const unshown = rows.flatMap(({ fault, meaning, shownBy }) => [
    ...(meaning.length < 20 ? [`F${fault} is not explained`] : []),
    ...(shownBy.length === 0 ? [`F${fault} is shown by nothing`] : []),
    ...shownBy
      .filter((path) => used.get(path)?.has(fault) !== true)
      .map((path) => `F${fault} is not in ${path}`),
  ]);
  const order = rows.slice(1).filter(({ fault }, index) => fault <= rows[index]!.fault);
  return [...unexplained, ...unshown, ...order.map(({ fault }) => `F${fault} is out of order`)];
}

test('every fault that a test names is explained, and every one explained is shown where the page says', () => {
  const tests = filesBelow('test', /\.ts$/).filter(({ path }) => path !== 'test/project/faults.test.ts');
  const page = readFileSync(join(ROOT, 'spec', 'FAULTS.md'), 'utf8');
  expect(explained(page).length).toBeGreaterThan(40);
  expect(offences(page, tests)).toEqual([]);
});

describe('the rule sees what it looks for', () => {
  const row = (fault: number, files: string, meaning = 'Something that goes wrong, and must not.'): string =>
    `| **F${fault}** | ${meaning} | ${files} |\n`;
  const file = (path: string, text: string): SourceFile => ({ path, text });
  const a = file('test/a.ts', "test('F7 F9: this', () => {});");

  test('agreement is no offence; ranges count, hexadecimal and longer words do not', () => {
    expect(offences(row(7, '`a.ts`') + row(9, '`a.ts`'), [a])).toEqual([]);
    expect([...faultsIn('F1-F3, F10: 0xF4 F00 F123 AF5')]).toEqual([1, 2, 3, 10]);
  });

  test.each([
    ['a number that is not explained', row(7, '`a.ts`'), ['test/a.ts names F9: not explained']],
    [
      'a fault that no test names',
      row(7, '`a.ts`') + row(8, '`a.ts`') + row(9, '`a.ts`'),
      ['F8 is not in test/a.ts'],
    ],
    ['a file that is gone', row(7, '`b.ts`') + row(9, '`a.ts`'), ['F7 is not in test/b.ts']],
    ['a row without a test', row(7, '-') + row(9, '`a.ts`'), ['F7 is shown by nothing']],
    ['a row without words', row(7, '`a.ts`', '?') + row(9, '`a.ts`'), ['F7 is not explained']],
    ['two rows for one', row(7, '`a.ts`') + row(9, '`a.ts`') + row(9, '`a.ts`'), ['F9 is out of order']],
  ])('%s', (_what, page, expected) => {
    expect(offences(page, [a])).toEqual(expected);
  });
});
