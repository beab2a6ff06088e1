/**
 * What a user installs: the files in the tarball, no dependencies, exports and types that resolve for strict
 * consumers on an old and a new compiler, an executable command, a lock file that names no download host.
 * Works on a real `npm pack` of the build, unpacked where a user's project would have it.
 */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sized } from '../support/sizes.ts';
import { freshBuild, importsOf, manifest, ROOT, type SourceFile } from './source.ts';

/** What may be in the tarball; everything else is somebody's leftover. */
const WELCOME = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  /^dist\/.+\.(js|d\.ts)$/,
  /^dist\/THIRD-PARTY-LICENSES\.txt$/,
  /^spec\/(HB1|DIAGNOSIS)\.md$/,
  /^spec\/vectors\/(.+\.json|SHA256SUMS)$/,
];
const EXPECTED = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'dist/cli/main.js', 'spec/HB1.md'];
/** The newest, and where everything must run an older one as well. */
const OLDER = '@arethetypeswrong/core/node_modules/typescript/bin/tsc';
const COMPILERS = ['typescript/bin/tsc', ...sized([OLDER], [])];

let folder = '';
let tarball = '';
let packed: string[] = [];
/** The package as a user has it: `<folder>/node_modules/wirebeat`. */
let installed = '';

function run(command: string, args: string[], cwd = ROOT): { status: number | null; output: string } {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 60_000 });
  if (done.error) throw done.error;
  return { status: done.status, output: done.stdout + done.stderr };
}

const bin = (name: string): string => join(ROOT, 'node_modules', '.bin', name);
const node = (script: string, args: string[], cwd = ROOT) => run(process.execPath, [script, ...args], cwd);
const subpaths = (): string[] =>
  Object.keys(manifest().exports).filter((path) => path !== './package.json' && !path.includes('*'));

beforeAll(() => {
  freshBuild();
  folder = mkdtempSync(join(tmpdir(), 'wirebeat-package-'));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const done = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  const answer = JSON.parse(done.stdout) as unknown;
  // npm 10 answers with a list, npm 11 with an object by package name.
  const [report] = Object.values(answer as Record<string, { filename: string; files: { path: string }[] }>);
  packed = report!.files.map((file) => file.path);
  tarball = join(folder, report!.filename);
  installed = join(folder, 'node_modules', manifest().name);
  mkdirSync(installed, { recursive: true });
  const unpacked = run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  if (unpacked.status !== 0) throw new Error(unpacked.output);
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  symlinkSync(join(ROOT, 'node_modules', 'undici-types'), join(folder, 'node_modules', 'undici-types'));
  // The optional peers, as a user who wants what needs them has installed them.
  for (const peer of ['fast-check', 'pure-rand']) {
    symlinkSync(join(ROOT, 'node_modules', peer), join(folder, 'node_modules', peer));
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});

afterAll(() => {
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

describe('the tarball', () => {
  test('holds what users need', () => {
    expect(EXPECTED.filter((path) => !packed.includes(path))).toEqual([]);
  });

  test('holds nothing else', () => {
    expect(packed.filter((path) => !WELCOME.some((pattern) => pattern.test(path)))).toEqual([]);
  });

  test('ships no file of dist that neither an export nor the command leads to', () => {
    const entries = Object.values(manifest().exports).map((to) => (typeof to === 'string' ? to : to.default));
    const pending = [...entries, ...Object.values(manifest().bin)].map((path) => posix.normalize(path));
    const reached = new Set<string>();
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      if (!path.endsWith('.js') || reached.has(path)) continue;
      reached.add(path);
      // Types reach files that leave no trace in the JavaScript.
      for (const kin of [path, path.replace(/\.js$/, '.d.ts')].filter((name) => packed.includes(name))) {
        const file: SourceFile = { path: kin, text: readFileSync(join(ROOT, kin), 'utf8') };
        for (const { specifier } of importsOf(file).filter((one) => one.specifier.startsWith('.'))) {
          const target = posix.normalize(posix.join(posix.dirname(kin), specifier));
          pending.push(target.replace(/\.ts$/, '.js'));
        }
      }
    }
    expect(packed.filter((path) => path.endsWith('.js') && !reached.has(path))).toEqual([]);
  });

  test('names no folder of the machine it was built on', () => {
    const telling = packed.filter((path) => readFileSync(join(ROOT, path), 'utf8').includes(ROOT));
    expect(telling).toEqual([]);
  });
});

describe('the manifest', () => {
  test('has no dependencies', () => {
    expect(manifest().dependencies ?? {}).toEqual({});
  });

  test('exports only files that were built, each with its types', () => {
    const targets = Object.values(manifest().exports).flatMap((to) =>
      typeof to === 'string' ? [to] : [to.types, to.default],
    );
    const missing = targets.map((path) => posix.normalize(path)).filter((path) => !packed.includes(path));
    expect(missing).toEqual([]);
  });

  test('names a command that is executable, starts, and prints the version', () => {
    for (const path of Object.values(manifest().bin)) {
      const command = join(installed, path);
      expect(statSync(command).mode & 0o111).toBe(0o111);
      expect(readFileSync(command, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node');
      const { status, output } = run(command, ['--version'], folder);
      expect({ status, output: output.trim() }).toEqual({ status: 0, output: manifest().version });
    }
  });

  test('every bundled package has its licence in the list', () => {
    const parts = packed.filter((path) => /^dist\/cli\/.+\.js$/.test(path));
    const bundle = parts.map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n');
    const licences = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
    const names = new Set(
      [...bundle.matchAll(/^\/\/ .*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm)].map((m) => m[1]!),
    );
    expect(names.size).toBeGreaterThan(0);
    expect([...names].filter((name) => !licences.includes(`\n${name} `))).toEqual([]);
  });

  test('the lock file pins by hash and names no download host', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { resolved?: string; integrity?: string; inBundle?: boolean }>;
    };
    const entries = Object.entries(lock.packages).filter(([path]) => path !== '');
    expect(entries.filter(([, entry]) => entry.resolved !== undefined).map(([path]) => path)).toEqual([]);
    const unpinned = entries.filter(([, entry]) => entry.integrity === undefined && entry.inBundle !== true);
    expect(unpinned.map(([path]) => path)).toEqual([]);
  });
});

describe('for its consumers', () => {
  test('publint finds nothing to say', () => {
    const { status, output } = node(join(ROOT, 'node_modules/publint/src/cli.js'), [
      'run',
      tarball,
      '--strict',
    ]);
    expect(output).toContain('All good!');
    expect(status).toBe(0);
  });

  // Slow, and about what changes with the exports only.
  test.skipIf(sized(false, true))('attw resolves the types of every export (ES modules only)', () => {
    const { status, output } = run(bin('attw'), [
      tarball,
      '--profile',
      'esm-only',
      '--no-emoji',
      '--no-color',
    ]);
    const resolved = (name: string): boolean => new RegExp(`"${name}" +│ OK \\(ESM\\) +│ OK `).test(output);
    const names = subpaths().map((path) => posix.join(manifest().name, path));
    expect(names.filter((name) => !resolved(name))).toEqual([]);
    expect(status).toBe(0);
  });

  test('every relative import in a .d.ts names a .d.ts that is in the tarball', () => {
    const broken: string[] = [];
    for (const path of packed.filter((name) => name.endsWith('.d.ts'))) {
      for (const { specifier } of importsOf({ path, text: readFileSync(join(ROOT, path), 'utf8') })) {
        if (!specifier.startsWith('.')) continue;
        const target = posix.normalize(posix.join(posix.dirname(path), specifier));
        if (!packed.includes(target.replace(/\.[jt]s$/, '.d.ts'))) broken.push(`${path} -> ${specifier}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test('every export can be imported', () => {
    const names = subpaths().map((path) => posix.join(manifest().name, path));
    writeFileSync(
      join(folder, 'import-all.js'),
      `for (const name of ${JSON.stringify(names)}) {
        if (Object.keys(await import(name)).length === 0) throw new Error(name + ' exports nothing');
      }`,
    );
    expect(node(join(folder, 'import-all.js'), [], folder)).toEqual({ status: 0, output: '' });
  });

  test.each(COMPILERS)('strict TypeScript checks the declarations: %s', (compiler) => {
    const lines = subpaths().map((path, index) => {
      const name = posix.join(manifest().name, path);
      return `import * as export${index} from '${name}';\nexport const name${index} = Object.keys(export${index});`;
    });
    writeFileSync(join(folder, 'consumer.ts'), lines.join('\n'));
    const options =
      '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2022 --types node';
    const script = join(ROOT, 'node_modules', compiler);
    const libraries = ['--lib', 'es2023,esnext.disposable', 'consumer.ts'];
    expect(node(script, [...options.split(' '), ...libraries], folder)).toEqual({ status: 0, output: '' });
  });
});

test('what is packed has no `prepare`, and the checkout has it again afterwards', () => {
  const copy = mkdtempSync(join(tmpdir(), 'wirebeat-pack-'));
  try {
    mkdirSync(join(copy, 'scripts'));
    const [manifestPath, script] = [join(copy, 'package.json'), join(copy, 'scripts', 'pack-manifest.mjs')];
    writeFileSync(script, readFileSync(join(ROOT, 'scripts', 'pack-manifest.mjs')));
    const before = readFileSync(join(ROOT, 'package.json'), 'utf8');
    writeFileSync(manifestPath, before);
    const run = (word: string): string => {
      expect(node(script, [word])).toEqual({ status: 0, output: '' });
      return readFileSync(manifestPath, 'utf8');
    };
    const { prepare, ...scripts } = manifest().scripts;
    expect(prepare).toBe('npm run build');
    expect(JSON.parse(run('strip'))).toEqual({ ...manifest(), scripts });
    expect(run('restore')).toBe(before);
    run('strip');
    writeFileSync(manifestPath, '{ "scripts": {} }');
    expect(run('restore')).toBe('{ "scripts": {} }');
    expect(node(script, ['stirp'])).toEqual({
      status: 2,
      output: 'pack-manifest: strip or restore, got "stirp"\n',
    });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});

test('the build says clearly when it fails, and leaves the last good dist alone', () => {
  const copy = mkdtempSync(join(tmpdir(), 'wirebeat-build-'));
  try {
    for (const path of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs']) {
      mkdirSync(join(copy, posix.dirname(path)), { recursive: true });
      writeFileSync(join(copy, path), readFileSync(join(ROOT, path)));
    }
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    mkdirSync(join(copy, 'src'));
    mkdirSync(join(copy, 'dist'));
    writeFileSync(join(copy, 'dist', 'kept.js'), '');
    writeFileSync(join(copy, 'src', 'index.ts'), "export const wrong: number = 'text';\n");
    const { status, output } = node('scripts/build.mjs', [], copy);
    expect(status).toBe(1);
    expect(output).toMatch(/src\/index\.ts.*TS2322/);
    expect(output).toMatch(/^build failed: the library does not compile/m);
    expect(statSync(join(copy, 'dist', 'kept.js')).size).toBe(0);
    expect(readdirSync(join(copy, '.tmp'))).toEqual([]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});
