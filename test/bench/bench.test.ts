/**
 * Every bench is run with tiny inputs, so that it cannot rot: rows exist and are numbers. Nothing here judges a
 * time. The harness is held to its arithmetic with work whose cost is known.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { benchCommand } from '../../bench/command.ts';
import { type Bench, benchContext, formatTable, median, type Row } from '../../bench/harness.ts';
import { hasTool, needs } from '../support/tools.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'bench');
const names = readdirSync(FOLDER).flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);

const isFigure = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value > 0;

/** The command with these arguments, in this process. */
async function command(...args: string[]) {
  const ended = { status: 0, stdout: '', stderr: '' };
  ended.status = await benchCommand(args, {
    out: (text) => void (ended.stdout += text),
    err: (text) => void (ended.stderr += text),
  });
  return ended;
}

describe('benches', () => {
  const rowsOf = new Map<string, Row[]>();

  test('there are some', () => {
    expect(names).toEqual(expect.arrayContaining(['codec', 'wheel']));
  });

  test.each(names)(
    '%s runs, and every row is a named figure beside a peer',
    { timeout: 60_000 },
    async (name) => {
      const { default: bench } = (await import(join(FOLDER, `${name}.bench.ts`))) as { default: Bench };
      const rows = await bench(benchContext(true));
      rowsOf.set(name, rows);
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) {
        for (const { name: label, nsPerOp } of [row, ...row.peers, ...(row.limit ? [row.limit] : [])]) {
          expect(label).not.toBe('');
          expect(isFigure(nsPerOp), `${row.name}: ${label} is ${nsPerOp}`).toBe(true);
        }
        if (row.bytesPerOp !== undefined) expect(row.bytesPerOp).toBeGreaterThanOrEqual(0);
      }
      expect(rows.some((row) => row.peers.length > 0)).toBe(true);
      expect(new Set(rows.map((row) => row.name)).size).toBe(rows.length);
    },
  );

  test.skipIf(!hasTool('gcc'))(`codec and wheel rows stand beside C${needs('gcc')}`, () => {
    const without = ['codec', 'wheel'].flatMap((name) =>
      rowsOf.get(name)!.filter((row) => row.limit === undefined),
    );
    expect(without.map((row) => row.name)).toEqual([
      'decodeFrame (an object)',
      'the same, host bytes delivered',
    ]);
  });
});

describe('the bench command', () => {
  test('prints machine, command and table', async () => {
    const { status, stdout } = await command('codec', '--quick');
    expect(status).toBe(0);
    expect(stdout).toContain(`Node ${process.version}`);
    expect(stdout).toContain('npm run bench -- codec --quick');
    expect(stdout).toMatch(/^encode +\d.* Buffer\.write\* \+ table CRC +\d/m);
  });

  test('a process of its own prints one JSON object, whatever the benches have to say', {
    timeout: 60_000,
  }, () => {
    const args = ['--import', 'tsx', 'bench/main.ts', '--quick', '--json'];
    const { status, stdout } = spawnSync(process.execPath, args, {
      cwd: join(FOLDER, '..'),
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    const { rows, machine } = JSON.parse(stdout) as { rows: (Row & { bench: string })[]; machine: string };
    expect(machine).toContain('Node');
    expect(rows.every((row) => isFigure(row.nsPerOp))).toBe(true);
    expect([...new Set(rows.map((row) => row.bench))]).toEqual(names);
  });

  test.each([
    ['kodec', /^bench: no bench named kodec; there are codec, .*wheel\n$/],
    ['codec --fast', /^bench: Unknown option '--fast'.*\n$/],
    ['--quick=yes', /^bench: Option '--quick' does not take an argument\n$/],
  ])('refuses %s in one line, exit code 2', async (line, message) => {
    expect(await command(...line.split(' '))).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });

  test('--help names the benches and the options', async () => {
    const { status, stdout } = await command('--help');
    expect(status).toBe(0);
    for (const word of [...names, '--quick', '--json']) expect(stdout).toContain(word);
  });
});

describe('the harness', () => {
  test('divides by the operations of a run', () => {
    let calls = 0;
    const spin = (): void => {
      calls++;
      for (const until = performance.now() + 2; performance.now() < until; );
    };
    const { nsPerOp } = benchContext(true).measure('spin', 1000, spin);
    expect(calls).toBe(1);
    expect(nsPerOp).toBeGreaterThanOrEqual(1900);
    // Undivided it would be two million; the slack is for a machine that pauses us.
    expect(nsPerOp).toBeLessThan(1_000_000);
  });

  test('sees allocation, and its absence', () => {
    const kept: unknown[] = new Array(1000);
    let sum = 0;
    const { allocated } = benchContext(false);
    const objects = allocated(1000, () => {
      for (let index = 0; index < 1000; index++) kept[index] = { index, next: index + 1 };
    });
    const none = allocated(1000, () => {
      for (let index = 0; index < 1000; index++) sum = (sum + index) | 0;
    });
    expect(objects).toBeGreaterThanOrEqual(16);
    expect(objects).toBeLessThan(100);
    expect(none).toBe(0);
  });

  test('takes the middle figure', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(3);
  });

  test('the table shows both ratios, and a dash where there is nothing', () => {
    const table = formatTable([
      {
        name: 'a',
        nsPerOp: 5,
        peers: [{ name: 'p', nsPerOp: 50 }],
        limit: { name: 'C', nsPerOp: 2 },
        bytesPerOp: 0,
      },
      {
        name: 'b',
        nsPerOp: 120,
        peers: [
          { name: 'q', nsPerOp: 60 },
          { name: 'r', nsPerOp: 30_000 },
        ],
      },
    ]);
    expect(table.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ns per operation', 'ours', 'peer', 'peer/ours', 'limit (C)', 'ours/limit', 'B/op'],
      ['a', '5.00', 'p', '50.0', '10.00x', '2.00', '2.50x', '0'],
      ['b', '120', 'q', '60.0', '0.50x', '-', '-', '-'],
      ['', 'r', '30000', '250x'],
    ]);
  });
});
