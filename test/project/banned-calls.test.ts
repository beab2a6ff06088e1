/**
 * Timers, clocks, randomness and the process's end each have an owner; nobody else touches them. This is what
 * lets the same code run under the real clock, a virtual clock and a model checker. A mention counts, called or
 * not: handing `setTimeout` on as a value is using it.
 */
import { describe, expect, test } from 'vitest';
import { filesBelow, isNode, lineAt, type Node, type SourceFile, walk } from './source.ts';

const OUTER = ['src/net/', 'src/server/', 'src/client/', 'src/cli/', 'src/testing/'];
const TIMER_OWNERS = ['src/time/scheduler.ts', ...OUTER];
const CLOCK_OWNERS = ['src/base/clock.ts', ...OUTER];

/** What is banned -> the path prefixes that may use it. */
const OWNERS: Record<string, readonly string[]> = {
  setTimeout: TIMER_OWNERS,
  setInterval: TIMER_OWNERS,
  setImmediate: TIMER_OWNERS,
  'performance.now': CLOCK_OWNERS,
  'process.hrtime': CLOCK_OWNERS,
  'Date.now': CLOCK_OWNERS,
  Date: CLOCK_OWNERS,
  'Math.random': ['src/base/random.ts'],
  'process.exit': ['src/cli/'],
  'process.exitCode': ['src/cli/'],
  'process.abort': ['src/cli/'],
  'process.kill': ['src/cli/', 'src/testing/'],
};

/** The banned thing a node mentions, or null. Types (`typeof setTimeout`) and foreign members do not count. */
function mention(node: Node, parent: Node | null, field: string): string | null {
  if (node.type === 'MemberExpression' && isNode(node.object) && isNode(node.property)) {
    const property = node.computed ? node.property.value : node.property.name;
    if (node.object.name === 'globalThis') return typeof property === 'string' ? property : null;
    return `${node.object.name}.${property}`;
  }
  if (node.type !== 'Identifier' || parent === null) return null;
  const isMemberName = field === 'property' && parent.computed !== true;
  const isKey = field === 'key' && parent.computed !== true && parent.shorthand !== true;
  const isInType = parent.type === 'TSTypeQuery' || parent.type === 'TSTypeReference';
  const isObject = parent.type === 'MemberExpression' && field === 'object';
  return isMemberName || isKey || isInType || isObject ? null : String(node.name);
}

function offences(file: SourceFile): string[] {
  const found = new Set<string>();
  walk(file, (node, parent, field) => {
    const name = mention(node, parent, field);
    if (name === null || !Object.hasOwn(OWNERS, name)) return;
    if (OWNERS[name]!.some((prefix) => file.path.startsWith(prefix))) return;
    found.add(`${file.path}:${lineAt(file.text, node.start)} uses ${name}`);
  });
  return [...found];
}

describe('banned calls', () => {
  test('timers, clocks, randomness and process.exit stay with their owners', () => {
    expect(filesBelow('src', /\.ts$/).flatMap(offences)).toEqual([]);
  });

  test.each([
    ['src/time/wheel.ts', 'setTimeout(() => {}, 1);'],
    ['src/time/wheel.ts', 'const host = { setTimeout };'],
    ['src/session/a.ts', 'const later = globalThis.setImmediate;'],
    ['src/wire/a.ts', 'export const now = Date.now();'],
    ['src/wire/a.ts', 'export const now = Date["now"]();'],
    ['src/wire/a.ts', 'export const now = new Date();'],
    ['src/session/a.ts', 'export const now = performance.now;'],
    ['src/net/a.ts', 'export const phase = Math.random();'],
    ['src/server/a.ts', 'process.exit(1);'],
    ['src/net/a.ts', 'process.exitCode = 1;'],
  ])('refuses in %s: %s', (path, text) => {
    expect(offences({ path, text })).toHaveLength(1);
  });

  test.each([
    ['src/time/scheduler.ts', 'const host = { setTimeout };'],
    ['src/net/a.ts', 'socket.setTimeout(0); setImmediate(poll);'],
    ['src/cli/a.ts', 'process.exit(2);'],
    ['src/base/clock.ts', 'export const now = () => performance.now();'],
    ['src/time/host.ts', 'export interface Host { setTimeout: typeof setTimeout } // setTimeout() elsewhere'],
    ['src/session/a.ts', 'export const text = "Date.now() lives elsewhere"; host.setTimeout(text);'],
  ])('allows in %s: %s', (path, text) => {
    expect(offences({ path, text })).toEqual([]);
  });
});
