/**
 * The rules of style a machine can decide: a header in every file, bounded lines, files and functions, nothing
 * unfinished, nothing dead, no test that silences the others, no path of the machine it was written on.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  entryPoints,
  filesBelow,
  importsOf,
  isNode,
  lineAt,
  type Node,
  ROOT,
  resolveImport,
  type SourceFile,
  walk,
} from './source.ts';

/** The formatter wraps code at 110; prose and literal bytes may hang over a little. */
const LINE_CHARACTERS = 120;
const HEADER_LINES = 25;
/** Aims are 200 lines in `wire` and 300 elsewhere; a quarter more is the bound. */
const WIRE_FILE_LINES = 250;
const FILE_LINES = 375;
const FUNCTION_LINES = 70;
/** Put together here, so that this file does not hold what it forbids. */
const UNFINISHED = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`);
const SILENCERS = new Set(['only', 'todo', 'fails']);
const TEST_WORDS = new Set(['test', 'it', 'describe', 'suite', 'bench']);

const CODE = /\.(ts|mjs)$/;
const product = ['src', 'bench', 'fuzz', 'scripts'].flatMap((folder) => filesBelow(folder, CODE));
const tests = filesBelow('test', CODE);
const all = [...product, ...tests, ...filesBelow('spec', CODE), ...filesBelow('bench', /\.[ch]$/)];

function headerOffence(file: SourceFile): string[] {
  const text = file.text.replace(/^#!.*\n/, '');
  const header = /^\/\*\*?([\s\S]*?)\*\//.exec(text);
  if (header === null) return [`${file.path} does not start with a header comment`];
  const lines = header[0].split('\n').length;
  if (lines > HEADER_LINES) return [`${file.path} has a header of ${lines} lines`];
  return header[1]!.replace(/[\s*]/g, '').length < 20 ? [`${file.path} has a header that says nothing`] : [];
}

function lineOffences(file: SourceFile): string[] {
  return file.text
    .split('\n')
    .flatMap((line, index) =>
      line.length > LINE_CHARACTERS ? [`${file.path}:${index + 1} ${line.length} characters`] : [],
    );
}

function lengthOffence(file: SourceFile): string[] {
  const lines = file.text.trimEnd().split('\n').length;
  const bound = file.path.startsWith('src/wire/') ? WIRE_FILE_LINES : FILE_LINES;
  return lines > bound ? [`${file.path} has ${lines} lines, bound ${bound}`] : [];
}

function functionOffences(file: SourceFile): string[] {
  const found: string[] = [];
  if (file.text.split('\n').length < FUNCTION_LINES) return found;
  walk(file, (node) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return;
    const line = lineAt(file.text, node.start);
    const lines = lineAt(file.text, node.end) - line + 1;
    if (lines >= FUNCTION_LINES) found.push(`${file.path}:${line} a function of ${lines} lines`);
  });
  return found;
}

function unfinishedOffences(file: SourceFile): string[] {
  return file.text
    .split('\n')
    .flatMap((line, index) => (UNFINISHED.test(line) ? [`${file.path}:${index + 1} ${line.trim()}`] : []));
}

/** `test.only`, `describe.only.each`, `it.todo`: whatever makes a green run mean less than it says. */
function silencerOffences(file: SourceFile): string[] {
  const found: string[] = [];
  // Most files hold none of the words, and need not be parsed.
  if (![...SILENCERS].some((word) => file.text.includes(`.${word}`))) return found;
  walk(file, (node) => {
    if (node.type !== 'MemberExpression' || !isNode(node.property)) return;
    let base = node.object as Node;
    while (base.type === 'MemberExpression') base = base.object as Node;
    if (TEST_WORDS.has(String(base.name)) && SILENCERS.has(String(node.property.name))) {
      found.push(`${file.path}:${lineAt(file.text, node.start)} ${base.name}.${node.property.name}`);
    }
  });
  return found;
}

/** Files of `src` that no entry point leads to. */
function deadFiles(files: readonly SourceFile[], entries: readonly string[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const pending = [...entries];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.add(path);
    for (const { specifier } of importsOf(file)) {
      const target = resolveImport(path, specifier);
      if (target !== null) pending.push(target);
    }
  }
  return files.map((file) => file.path).filter((path) => !reached.has(path));
}

describe('style', () => {
  test('every file starts with a header comment of at most 25 lines', () => {
    expect(all.flatMap(headerOffence)).toEqual([]);
  });

  test('no line is longer than 120 characters', () => {
    expect(all.flatMap(lineOffences)).toEqual([]);
  });

  test('files stay small: 250 lines in wire, 375 elsewhere', () => {
    expect(product.flatMap(lengthOffence)).toEqual([]);
  });

  test('functions stay under 70 lines', () => {
    expect(product.flatMap(functionOffences)).toEqual([]);
  });

  test('nothing is marked as unfinished', () => {
    expect(all.flatMap(unfinishedOffences)).toEqual([]);
  });

  test('no test silences others or announces itself for later', () => {
    expect(tests.flatMap(silencerOffences)).toEqual([]);
  });

  test('every entry point exists, and every file in src is reached from one', () => {
    const entries = entryPoints();
    expect(entries.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(deadFiles(filesBelow('src', /\.ts$/), entries)).toEqual([]);
  });

  test('no file names the folder this checkout stands in', () => {
    const everything = [...all, ...filesBelow('.', /\.(md|json|yml|yaml)$/), ...filesBelow('.ci', /./)];
    expect(everything.filter((file) => file.text.includes(ROOT)).map((file) => file.path)).toEqual([]);
  });
});

describe('the style rules see what they look for', () => {
  const file = (text: string, path = 'src/net/a.ts'): SourceFile => ({ path, text });
  const header = `/**\n * ${'What this is, and what it costs. '.repeat(3)}\n */\n`;
  const body = (lines: number): string => `function f() {\n${'  g();\n'.repeat(lines - 2)}}\n`;

  test('headers: none, empty, too long', () => {
    expect(headerOffence(file('export const a = 1;'))).toHaveLength(1);
    expect(headerOffence(file('/** */\nexport const a = 1;'))).toHaveLength(1);
    expect(headerOffence(file(`/**\n${' * What this is, and more.\n'.repeat(24)} */`))).toHaveLength(1);
    expect(headerOffence(file(`#!/usr/bin/env node\n${header}`))).toEqual([]);
  });

  test('lines: 120 characters pass, 121 do not', () => {
    expect(lineOffences(file(`${'x'.repeat(120)}\n`))).toEqual([]);
    expect(lineOffences(file(`\n${'x'.repeat(121)}\n`))).toEqual(['src/net/a.ts:2 121 characters']);
  });

  test('files: 250 lines pass in wire, 251 do not; elsewhere 375 and 376', () => {
    const lines = (count: number): string => `${'\n'.repeat(count - 1)}//`;
    expect(lengthOffence(file(lines(250), 'src/wire/a.ts'))).toEqual([]);
    expect(lengthOffence(file(lines(251), 'src/wire/a.ts'))).toHaveLength(1);
    expect(lengthOffence(file(lines(375)))).toEqual([]);
    expect(lengthOffence(file(lines(376)))).toHaveLength(1);
  });

  test('functions: 69 lines pass, 70 do not', () => {
    expect(functionOffences(file(body(69)))).toEqual([]);
    expect(functionOffences(file(body(70)))).toHaveLength(1);
    expect(functionOffences(file(`class A { m() {\n${'  g();\n'.repeat(70)}} }`))).toHaveLength(1);
  });

  test('unfinished work and silenced tests are found', () => {
    expect(unfinishedOffences(file(`// ${'TO'}${'DO'} later`))).toHaveLength(1);
    expect(unfinishedOffences(file('const todoList = [];'))).toEqual([]);
    expect(silencerOffences(file('test.only("a", f)'))).toHaveLength(1);
    expect(silencerOffences(file('describe.concurrent.only("a", f)'))).toHaveLength(1);
    expect(silencerOffences(file('test.skipIf(x)("a", f); options.only = 1'))).toEqual([]);
  });

  test('dead files: reached through types and re-exports is alive, the rest is dead', () => {
    const files = [
      file("export * from './b.ts'; import type { C } from './c.ts';", 'src/index.ts'),
      file('', 'src/b.ts'),
      file('', 'src/c.ts'),
      file("import './b.ts';", 'src/d.ts'),
    ];
    expect(deadFiles(files, ['src/index.ts'])).toEqual(['src/d.ts']);
  });
});
