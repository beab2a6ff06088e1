/**
 * What C reaches on this machine: compiles `bench/c/<name>.c` with gcc for this very processor into a scratch
 * folder, runs it, and reads the JSON object it prints (row name -> ns per operation). Without gcc there is no
 * limit column; a C file that does not compile or run is an error.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Rival } from './harness.ts';

export interface CLimits {
  /** The limit for a row, or undefined when there is no compiler. Throws for a row the C program has not. */
  of(row: string): Rival | undefined;
}

function run(command: string, args: string[]): string {
  const done = spawnSync(command, args, { encoding: 'utf8' });
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${done.stderr}`);
  return done.stdout;
}

export function cLimits(name: string, quick: boolean): CLimits {
  if (spawnSync('gcc', ['--version'], { stdio: 'ignore' }).error) {
    console.error('gcc not found: no limit column');
    return { of: () => undefined };
  }
  const source = fileURLToPath(new URL(`c/${name}.c`, import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'wirebeat-bench-'));
  try {
    const program = join(folder, name);
    run('gcc', ['-std=c11', '-Wall', '-Wextra', '-Werror', '-O3', '-march=native', '-o', program, source]);
    const figures = JSON.parse(run(program, quick ? ['1'] : [])) as Record<string, number>;
    return {
      of(row) {
        const nsPerOp = figures[row];
        if (nsPerOp === undefined) throw new Error(`${name}.c has no row "${row}"`);
        return { name: 'C', nsPerOp };
      },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
