/**
 * Compiles spec/interop/c with the flags its Makefile states, into a scratch folder, and runs the programs. Without a
 * compiler, or without its sanitizers, the tests that need them are named skips.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasTool } from '../support/tools.ts';

const SOURCES = fileURLToPath(new URL('../../spec/interop/c/', import.meta.url));
const makefile = readFileSync(join(SOURCES, 'Makefile'), 'utf8');

function makeVariable(name: string): string[] {
  const line = new RegExp(`^${name} = (.*)$`, 'm').exec(makefile);
  if (line === null) throw new Error(`the Makefile has no ${name}`);
  return line[1]!.split(' ');
}

/** True when gcc links a program with the sanitizers of the Makefile; some distributions leave them out. */
export function hasSanitizers(): boolean {
  if (!hasTool('gcc')) return false;
  const flags = [...makeVariable('SANITIZE'), '-x', 'c', '-o', '/dev/null', '-'];
  return spawnSync('gcc', flags, { input: 'int main(void) { return 0; }' }).status === 0;
}

export interface Listening {
  readonly process: ChildProcess;
  readonly port: number;
  /** What it wrote to stderr so far. */
  errors(): string;
}

/** A folder of compiled programs. */
export class CPrograms {
  readonly folder = mkdtempSync(join(tmpdir(), 'wirebeat-c-'));
  readonly #running = new Set<ChildProcess>();

  /** Compiles all of them, warnings being errors; throws with the compiler's words. */
  async build(sanitize: boolean): Promise<void> {
    const flags = [...makeVariable('CFLAGS'), ...(sanitize ? makeVariable('SANITIZE') : [])];
    await Promise.all(
      makeVariable('PROGRAMS').map((name) =>
        output('gcc', [...flags, '-o', join(this.folder, name), join(SOURCES, `${name}.c`)]),
      ),
    );
  }

  /** Runs a filter to its end and returns what it wrote; throws when it fails. */
  filter(name: string, args: string[], input: Uint8Array | string): Buffer {
    const maxBuffer = 2 ** 28;
    const done = spawnSync(join(this.folder, name), args, { input, maxBuffer });
    if (done.status !== 0)
      throw new Error(`${name} ${args.join(' ')}: status ${done.status}\n${done.stderr}`);
    return done.stdout;
  }

  /** Runs a program to its end, whatever its status, and returns what it wrote to stdout. */
  run(name: string, args: string[]): Promise<string> {
    return output(join(this.folder, name), args, true);
  }

  /** Starts a server on a free port and waits until it listens. */
  async listen(name: string, args: string[] = []): Promise<Listening> {
    const process = spawn(join(this.folder, name), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#running.add(process);
    let errors = '';
    process.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const port = await new Promise<number>((resolve, reject) => {
      process.once('error', reject);
      process.once('exit', (status) => reject(new Error(`${name} ended with ${status}: ${errors}`)));
      process.stdout.setEncoding('utf8').once('data', (line: string) => resolve(Number(line)));
    });
    return { process, port, errors: () => errors };
  }

  /** Ends what still runs and removes the folder. */
  dispose(): void {
    for (const process of this.#running) process.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What a command writes to stdout. It rejects with its stderr when it fails, unless any status will do. */
function output(command: string, args: string[], anyStatus = false): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      const cannotRun = error !== null && typeof error.code !== 'number';
      if (error === null || (anyStatus && !cannotRun)) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}\n${stderr || error.message}`));
    });
  });
}
