/**
 * The sources are TypeScript a newer Node runs by erasing types. The compiler keeps that with
 * `erasableSyntaxOnly`; these tests keep the compiler's setting, and look at the trees themselves, so that one
 * changed line in a configuration cannot let the syntax in. CI runs the sources under such Nodes as well.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sized } from '../support/sizes.ts';
import { filesBelow, importsOf, lineAt, ROOT, type SourceFile, walk } from './source.ts';

const FORBIDDEN: Record<string, string> = {
  TSEnumDeclaration: 'an enum',
  TSParameterProperty: 'a parameter property',
  TSImportEqualsDeclaration: 'import =',
  TSExportAssignment: 'export =',
  TSTypeAssertion: 'an angle-bracket assertion',
  Decorator: 'a decorator',
};

function offences(file: SourceFile): string[] {
  const found: string[] = [];
  walk(file, (node) => {
    const runtimeNamespace = node.type === 'TSModuleDeclaration' && node.declare !== true;
    const what = runtimeNamespace ? 'a namespace' : FORBIDDEN[node.type];
    if (what !== undefined) found.push(`${file.path}:${lineAt(file.text, node.start)} ${what}`);
  });
  return found;
}

/** Node resolves what is written: a relative import without an ending, or with .js, finds nothing. */
function endings(file: SourceFile): string[] {
  return importsOf(file)
    .filter(({ specifier }) => specifier.startsWith('.') && !/\.(ts|mjs|json)$/.test(specifier))
    .map(({ specifier, line }) => `${file.path}:${line} ${specifier}`);
}

describe('type stripping', () => {
  const folders = sized(['src', 'bench', 'fuzz', 'test', 'spec'], ['src']);
  const files = folders.flatMap((folder) => filesBelow(folder, /\.ts$/));

  test('no file uses TypeScript that must be translated rather than erased', () => {
    expect(files.flatMap(offences)).toEqual([]);
  });

  test('relative imports carry the ending of the file they name', () => {
    expect(files.flatMap(endings)).toEqual([]);
  });

  test('the compiler is told so too', () => {
    const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
    expect(compilerOptions).toMatchObject({ erasableSyntaxOnly: true, verbatimModuleSyntax: true });
  });

  test.each([
    'enum A { B }',
    'const enum A { B }',
    'class A { constructor(private readonly b: number) {} }',
    'namespace A { export const b = 1; }',
    "import fs = require('node:fs');",
    'export = 1;',
    'const a = <number>b;',
    '@sealed class A {}',
  ])('refuses: %s', (text) => {
    expect(offences({ path: 'src/net/a.ts', text })).toHaveLength(1);
  });

  test.each([
    'const a = b as number; const c = { d: 1 } as const satisfies E;',
    'class A { private b = 1; constructor(readonly: number) {} declare c: number }',
    "declare module 'x' { export const y: number; }",
  ])('allows: %s', (text) => {
    expect(offences({ path: 'src/net/a.ts', text })).toEqual([]);
  });

  test('refuses imports without the real ending', () => {
    expect(endings({ path: 'src/net/a.ts', text: "import './b.js';\nimport './c';" })).toHaveLength(2);
  });
});
