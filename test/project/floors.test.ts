/**
 * The house keeps its floors: a file imports only from lower floors or from its own folder. Sockets belong to
 * the floors that own connections, and the sans-IO core takes time and randomness as arguments, so it may name
 * the clock and the random source as types only.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesBelow, floorOf, importsOf, ROOT, resolveImport, type SourceFile } from './source.ts';

/** Bottom to top; floors of one storey do not see each other. `index` is the package's front door. */
const STOREYS = [
  ['base'],
  ['wire', 'time'],
  ['session'],
  ['net'],
  ['server', 'client'],
  ['registry', 'resilience'],
  ['ops'],
  ['index'],
  ['cli'],
];
const SOCKET_FLOORS = new Set(['net', 'server', 'client', 'cli', 'testing']);
const SOCKET_MODULES = /^node:(net|tls|dgram|http|https|http2|dns|cluster|child_process|worker_threads)$/;
/** Embeddable core: nothing from outside at run time. */
const WITHOUT_PACKAGES = new Set(['base', 'wire', 'time', 'session', 'net']);
const SANS_IO = /^src\/(wire\/|session\/|time\/wheel)/;
const SOURCES_OF_CHANCE = /^src\/base\/(clock|random)\.ts$/;

const storeyOf = (floor: string): number => STOREYS.findIndex((storey) => storey.includes(floor));

/** True when a file on floor `from` may import one on floor `to`. */
function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  if (to === 'testing') return from === 'cli';
  if (from === 'testing') return to !== 'cli' && storeyOf(to) >= 0;
  return storeyOf(to) >= 0 && storeyOf(to) < storeyOf(from);
}

/** Everything this file imports against the rules, each as `path:line reason`. */
function offences(file: SourceFile): string[] {
  const from = floorOf(file.path);
  const found: string[] = [];
  for (const { specifier, typeOnly, line } of importsOf(file)) {
    const complain = (reason: string): number => found.push(`${file.path}:${line} ${reason}`);
    const target = resolveImport(file.path, specifier);
    const sansIo = SANS_IO.test(file.path);
    if (specifier === '<computed>') complain('imports something computed: name it literally');
    else if (target !== null) {
      if (!target.startsWith('src/')) complain(`imports ${target}, outside src`);
      else if (!mayImport(from, floorOf(target)))
        complain(`${from} may not import ${floorOf(target)} (${target})`);
      else if (sansIo && !typeOnly && SOURCES_OF_CHANCE.test(target))
        complain(`sans-IO code imports ${target}`);
    } else if (specifier.startsWith('node:')) {
      if (SOCKET_MODULES.test(specifier) && !SOCKET_FLOORS.has(from))
        complain(`${from} may not use ${specifier}`);
      else if (sansIo && !typeOnly && specifier !== 'node:buffer') complain(`sans-IO code uses ${specifier}`);
    } else if (WITHOUT_PACKAGES.has(from)) complain(`${from} may not depend on the package ${specifier}`);
  }
  return found;
}

const sources = filesBelow('src', /\.ts$/);

describe('floors', () => {
  test('every file in src keeps to its floor', () => {
    expect(sources.length).toBeGreaterThan(5);
    expect(sources.flatMap(offences)).toEqual([]);
  });

  test('every folder in src is a floor of the house', () => {
    const floors = new Set(sources.map((file) => floorOf(file.path)));
    expect([...floors].filter((floor) => floor !== 'testing' && storeyOf(floor) < 0)).toEqual([]);
  });

  test('relative imports name existing files, with their .ts ending', () => {
    const broken = sources.flatMap((file) =>
      importsOf(file)
        .map(({ specifier }) => resolveImport(file.path, specifier))
        .filter((target) => target !== null && !(target.endsWith('.ts') && existsSync(join(ROOT, target))))
        .map((target) => `${file.path} -> ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test.each([
    ['src/wire/a.ts', "import { x } from '../net/x.ts';"],
    ['src/wire/a.ts', "import type { X } from '../session/x.ts';"],
    ['src/wire/a.ts', "export * from '../time/x.ts';"],
    ['src/wire/a.ts', "export type { X } from '../time/x.ts';"],
    ['src/wire/a.ts', "type X = import('../net/x.ts').X;"],
    ['src/wire/a.ts', "await import('../net/x.ts');"],
    ['src/wire/a.ts', 'await import(name);'],
    ['src/wire/a.ts', "import { Socket } from 'node:net';"],
    ['src/wire/a.ts', "import type { Socket } from 'node:net';"],
    ['src/wire/a.ts', "import { performance } from 'node:perf_hooks';"],
    ['src/time/wheel.ts', "import { monotonicClock } from '../base/clock.ts';"],
    ['src/session/a.ts', "import { systemRandom } from '../base/random.ts';"],
    ['src/net/a.ts', "import pino from 'pino';"],
    ['src/net/a.ts', "import { x } from '../testing/x.ts';"],
    ['src/server/a.ts', "import { x } from '../client/x.ts';"],
    ['src/testing/a.ts', "import { x } from '../cli/x.ts';"],
    ['src/net/a.ts', "import { x } from '../../test/x.ts';"],
    ['src/net/a.ts', "import { x } from '../index.ts';"],
  ])('refuses in %s: %s', (path, text) => {
    expect(offences({ path, text })).toHaveLength(1);
  });

  test.each([
    ['src/session/a.ts', "import type { Random } from '../base/random.ts';"],
    ['src/session/a.ts', "import { FRAME_BYTES } from '../wire/constants.ts';"],
    ['src/time/scheduler.ts', "import { monotonicClock } from '../base/clock.ts';"],
    ['src/net/a.ts', "import { Socket } from 'node:net';"],
    ['src/testing/a.ts', "import fc from 'fast-check';"],
    ['src/cli/a.ts', "import { x } from '../testing/x.ts';"],
    ['src/wire/a.ts', "// import { x } from '../net/x.ts';\nexport const text = \"import 'node:net'\";"],
  ])('allows in %s: %s', (path, text) => {
    expect(offences({ path, text })).toEqual([]);
  });
});
