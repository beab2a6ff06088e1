/**
 * The project's own text, as the rules in this folder see it: files, syntax trees, imports, and a walk that
 * knows each node's parent. Rules read trees rather than lines, so that comments and strings cannot trip them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface SourceFile {
  /** From the project's root, with forward slashes: `src/wire/frame.ts`. */
  readonly path: string;
  readonly text: string;
}

/** A node of the ESTree, TypeScript's nodes included; `start` is a text offset. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Import {
  /** What is written between the quotes; `<computed>` when it is not a literal. */
  readonly specifier: string;
  /** True when the import leaves no trace at run time. */
  readonly typeOnly: boolean;
  readonly line: number;
}

const IGNORED = new Set(['node_modules', 'dist', 'coverage', '.git', '.tmp']);

/** Every file below `folder` (from the root) whose name matches, in a stable order; none if there is no folder. */
export function filesBelow(folder: string, name: RegExp): SourceFile[] {
  const absolute = join(ROOT, folder);
  if (!existsSync(absolute)) return [];
  const found: SourceFile[] = [];
  for (const entry of readdirSync(absolute, { withFileTypes: true })) {
    if (IGNORED.has(entry.name)) continue;
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) found.push(...filesBelow(path, name));
    else if (name.test(entry.name)) found.push({ path, text: readFileSync(join(ROOT, path), 'utf8') });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** `src/wire/frame.ts` -> `wire`; a file directly in `src` belongs to the floor `index`. */
export function floorOf(path: string): string {
  const parts = path.split('/');
  return parts.length > 2 ? parts[1]! : 'index';
}

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** Visit every node, parents first; `field` is the name under which the parent holds it. */
export function walk(
  file: SourceFile,
  visit: (node: Node, parent: Node | null, field: string) => void,
): void {
  const language = file.path.endsWith('.mjs') ? 'js' : 'ts';
  const descend = (node: Node, parent: Node | null, field: string): void => {
    visit(node, parent, field);
    for (const [name, value] of Object.entries(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (isNode(child)) descend(child, node, name);
      }
    }
  };
  descend(parseAst(file.text, { lang: language }) as unknown as Node, null, '');
}

export function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
  );
}

/** All ways one module can name another: import, export from, import(), and import types. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = [];
  walk(file, (node) => {
    const add = (source: unknown, typeOnly: boolean): void => {
      const literal = isNode(source) && typeof source.value === 'string' ? source.value : '<computed>';
      found.push({ specifier: literal, typeOnly, line: lineAt(file.text, node.start) });
    };
    if (node.type === 'ImportDeclaration') add(node.source, node.importKind === 'type');
    else if (node.type === 'ExportAllDeclaration') add(node.source, node.exportKind === 'type');
    else if (node.type === 'ExportNamedDeclaration' && node.source)
      add(node.source, node.exportKind === 'type');
    else if (node.type === 'ImportExpression') add(node.source, false);
    else if (node.type === 'TSImportType') add(node.source ?? node.argument, true);
  });
  return found;
}

/** The project file a relative specifier names, or null for packages and Node's own modules. */
export function resolveImport(from: string, specifier: string): string | null {
  if (!specifier.startsWith('.')) return null;
  return posix.normalize(posix.join(posix.dirname(from), specifier));
}

/** package.json, as far as these tests read it. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Record<string, string>;
  readonly exports: Record<string, string | { types: string; default: string }>;
  readonly scripts: Record<string, string>;
  readonly dependencies?: Record<string, string>;
}

export function manifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
}

/** The source files a user can enter by: one per export, and the command. */
export function entryPoints(): string[] {
  const { bin, exports } = manifest();
  const built = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.default],
  );
  return [...built, ...Object.values(bin)].map((path) =>
    posix
      .normalize(path)
      .replace(/^dist\//, 'src/')
      .replace(/\.js$/, '.ts'),
  );
}

/**
 * The folder `dist/`, unless it is missing or older than a source: what it says would then be about yesterday's
 * code, and the tests that ask for it fail instead.
 */
export function freshBuild(): string {
  const dist = join(ROOT, 'dist');
  const builtAt = statSync(join(dist, 'cli', 'main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newer = filesBelow('src', /\.ts$/).find(({ path }) => statSync(join(ROOT, path)).mtimeMs > builtAt);
  if (newer !== undefined) throw new Error(`dist/ is older than ${newer.path}: run \`npm run build\``);
  return dist;
}
