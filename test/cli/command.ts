/**
 * Runs the command as a user would, in a process of its own. It is bundled once, as for the published package: a start
 * then costs a tenth of what it costs to compile on the fly, and what is tested is what is shipped.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type OutputFile } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A command that ends by itself has long done so, even on a busy machine. */
const LIMIT_MS = 30_000;
/** A server lives as long as its tests. */
const SERVER_LIMIT_MS = 300_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A started command, its output so far, and its end. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  #onOutput: () => void = () => {};

  constructor(child: ChildProcess, limitMs = LIMIT_MS) {
    this.child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#onOutput();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        this.#onOutput();
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** The match of `pattern` in stdout, as soon as it is there; rejects when the command ends without it. */
  saying(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.stdout);
        if (match !== null) resolve(match);
        else if (this.child.exitCode !== null || this.child.signalCode !== null) {
          reject(new Error(`ended without ${pattern}: ${this.stdout}${this.stderr}`));
        }
      };
      this.#onOutput = look;
      look();
    });
  }
}

/** The files of the command; the same for all test files that share a process. */
let bundled: Promise<OutputFile[]> | undefined;

async function bundle(): Promise<OutputFile[]> {
  const require =
    "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/cli/main.ts'],
    outdir: 'dist/cli',
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    banner: { js: require },
    logLevel: 'error',
  });
  return outputFiles;
}

export class CommandUnderTest {
  readonly folder = mkdtempSync(join(tmpdir(), 'wirebeat-cli-'));
  readonly #running = new Set<Running>();

  get script(): string {
    return join(this.folder, 'dist', 'cli', 'main.js');
  }

  async build(): Promise<void> {
    bundled ??= bundle();
    mkdirSync(join(this.folder, 'dist', 'cli'), { recursive: true });
    copyFileSync(join(ROOT, 'package.json'), join(this.folder, 'package.json'));
    for (const { path, contents } of await bundled) {
      writeFileSync(join(this.folder, 'dist', 'cli', basename(path)), contents);
    }
  }

  start(args: readonly string[], options: SpawnOptions = {}, limitMs = LIMIT_MS): Running {
    const child = spawn(process.execPath, [this.script, ...args], { stdio: 'pipe', ...options });
    const running = new Running(child, limitMs);
    this.#running.add(running);
    void running.ended.then(() => this.#running.delete(running));
    return running;
  }

  /** Run to the end, with `input` on stdin. */
  run(args: readonly string[], input: string | Uint8Array = '', options: SpawnOptions = {}): Promise<Ended> {
    const running = this.start(args, options);
    running.child.stdin?.on('error', () => {}); // the command may end before it has read all
    running.child.stdin?.end(input);
    return running.ended;
  }

  /** A line for the shell, in which `wirebeat` is the command: $NODE with $SCRIPT. */
  shell(line: string): Promise<Ended> {
    const script = `wirebeat() { "$NODE" "$SCRIPT" "$@"; }\n${line}`;
    const env = { ...process.env, NODE: process.execPath, SCRIPT: this.script };
    return new Running(spawn('bash', ['-c', script], { stdio: 'pipe', env })).ended;
  }

  /** `serve` on a free port, and where it listens. */
  async serve(...args: string[]): Promise<{ server: Running; address: string }> {
    const where = args.includes('--unix') ? [] : ['--port', '0'];
    const server = this.start(['serve', ...where, ...args], {}, SERVER_LIMIT_MS);
    const [, address] = await server
      .saying(/listening on (\S+):|"address":"([^"]+)"/)
      .then((match) => match.filter(Boolean));
    return { server, address: address as string };
  }

  async dispose(): Promise<void> {
    for (const { child } of this.#running) child.kill('SIGKILL');
    await Promise.all([...this.#running].map(({ ended }) => ended));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The objects of an NDJSON output. */
export function objectsOf(stdout: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
