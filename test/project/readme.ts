/**
 * Runs the code of a README the way a reader would, so that it cannot rot. The convention:
 *
 * - Every fenced block names its language. `sh`, `console` and `ts` blocks run, in the order of the page;
 *   `text` and `json` blocks are pictures and data. Any other language is refused.
 * - `sh`: one script, run by `sh -e` in a scratch folder that all blocks share. `console`: lines that start
 *   with `$ ` are such scripts; the lines below one must appear in its output, in order, where any number
 *   matches any number and `...` matches anything. `ts`: type-checked against the built package, then run.
 * - `npx wirebeat` is the built command and `npx tsx` this checkout's tsx. A line that starts with `npm` or
 *   `git clone` is the reader's set-up: `npm run <script>` must name a script that exists, none of them runs.
 * - Ports 7400 to 7499 stand for free ports, the same one on the whole page.
 * - Words after the language, or in a comment `<!-- readme: words -->` on the line above the block:
 *   `background` (starts here, lives until the next `## ` heading, then must end by itself on SIGINT),
 *   `exit=N` (ends with status N), `check` (a `ts` block that is type-checked only), `file=NAME` (a `ts` block
 *   kept under that name for later blocks).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';

export interface Block {
  readonly line: number;
  /** Number of `## ` headings above it. */
  readonly section: number;
  readonly language: string;
  readonly words: readonly string[];
  readonly text: string;
}

const LANGUAGES = new Set(['sh', 'console', 'ts', 'text', 'json']);
const WORDS = /^(background|check|exit=\d+|file=[\w.-]+\.ts)$/;
const BLOCK_LIMIT_MS = 30_000;

/** Cut a page into its blocks. Throws, naming the line, for a block outside the convention. */
export function parseBlocks(markdown: string): Block[] {
  const lines = markdown.split('\n');
  const blocks: Block[] = [];
  let section = 0;
  for (let index = 0; index < lines.length; index++) {
    if (/^##? /.test(lines[index]!)) section++;
    const fence = /^(```+)(.*)$/.exec(lines[index]!);
    if (fence === null) continue;
    const line = index + 1;
    const close = lines.findIndex((text, at) => at > index && text === fence[1]);
    if (close === -1) throw new Error(`README line ${line}: the block is never closed`);
    const [language = '', ...info] = fence[2]!.trim().split(/\s+/);
    if (!LANGUAGES.has(language)) throw new Error(`README line ${line}: unknown language "${language}"`);
    const comment = /^<!-- readme: (.*) -->$/.exec(lines[index - 1] ?? '')?.[1]?.split(/\s+/) ?? [];
    const words = [...info, ...comment];
    const unknown = words.find((word) => !WORDS.test(word));
    if (unknown !== undefined) throw new Error(`README line ${line}: unknown word "${unknown}"`);
    blocks.push({ line, section, language, words, text: lines.slice(index + 1, close).join('\n') });
    index = close;
  }
  return blocks;
}

/** The script lines that are the reader's set-up, taken out; throws for `npm run` of a script there is not. */
export function withoutSetUp(script: string, scripts: Record<string, string>): string {
  const kept = script.split('\n').filter((line) => {
    if (!/^(npm|git clone) /.test(line)) return true;
    for (const [, name] of line.matchAll(/npm run ([\w:-]+)/g)) {
      if (!Object.hasOwn(scripts, name!)) throw new Error(`"${line}": there is no script "${name}"`);
    }
    return false;
  });
  return kept.join('\n');
}

/** The steps of a `console` block: each command with the output lines below it. */
export function consoleSteps(text: string): { command: string; expected: string[] }[] {
  const steps: { command: string; expected: string[] }[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: [] });
    else if (steps.length === 0) throw new Error(`console block starts with output: "${line}"`);
    else if (line.trim() !== '') steps.at(-1)!.expected.push(line.trim());
  }
  return steps;
}

/** The first expected line that the output does not hold, in order; null when all are there. */
export function missingLine(expected: readonly string[], output: string): string | null {
  const lines = output.split('\n');
  let at = 0;
  for (const line of expected) {
    const escaped = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const pattern = new RegExp(escaped.replace(/\\\.\\\.\\\.|…/g, '.*').replace(/\d+/g, '\\d+'));
    while (at < lines.length && !pattern.test(lines[at]!)) at++;
    if (at++ === lines.length) return line;
  }
  return null;
}

/** Where a `ts` block is kept. */
function fileOf({ line, words }: Block): string {
  return words.find((word) => word.startsWith('file='))?.slice(5) ?? `line-${line}.ts`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

interface Running {
  readonly child: ChildProcess;
  /** Its status once the process is gone; null after a signal. */
  readonly ended: Promise<number | null>;
  /** When its whole group has let go of the pipes: the output is complete. */
  readonly silent: Promise<void>;
  output(): string;
}

/** A reader's desk: a scratch folder with the package installed, its ports, and what runs in the background. */
export class Desk {
  readonly folder = mkdtempSync(join(tmpdir(), 'wirebeat-readme-'));
  readonly #root: string;
  readonly #scripts: Record<string, string>;
  readonly #endingLimitMs: number;
  readonly #ports = new Map<string, number>();
  /** What the compiler says of each file that was checked; empty when all is well. */
  readonly #faults = new Map<string, string>();
  #background: { line: number; section: number; running: Running }[] = [];

  /** What runs in the background has `endingLimitMs` to end on SIGINT. */
  constructor(root: string, scripts: Record<string, string>, endingLimitMs = 3_000) {
    this.#root = root;
    this.#scripts = scripts;
    this.#endingLimitMs = endingLimitMs;
    mkdirSync(join(this.folder, 'node_modules'));
    mkdirSync(join(this.folder, 'bin'));
    symlinkSync(root, join(this.folder, 'node_modules', 'wirebeat'));
    symlinkSync(join(root, 'node_modules', '@types'), join(this.folder, 'node_modules', '@types'));
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "module" }');
    const npx = `#!/bin/sh
case "$1" in
wirebeat) shift; exec "${process.execPath}" "${root}/dist/cli/main.js" "$@" ;;
tsx) shift; exec "${process.execPath}" --import "${this.#tsx()}" "$@" ;;
*) echo "the README runs npx $1, which it does not install" >&2; exit 97 ;;
esac
`;
    writeFileSync(join(this.folder, 'bin', 'npx'), npx);
    chmodSync(join(this.folder, 'bin', 'npx'), 0o755);
  }

  /** Run one block; throws with what it printed when it does not do what the page says. */
  async run(block: Block): Promise<void> {
    await this.#endBackground((other) => other.section !== block.section);
    const text = await this.#withPorts(block.text);
    if (block.language === 'sh') await this.#script(block, withoutSetUp(text, this.#scripts), []);
    else if (block.language === 'ts') await this.#module(block, text);
    else if (block.language === 'console') {
      for (const { command, expected } of consoleSteps(text)) {
        await this.#script(block, withoutSetUp(command, this.#scripts), expected);
      }
    }
  }

  /** End everything and remove the folder; throws when something had to be killed or had died before. */
  async close(): Promise<void> {
    try {
      await this.#endBackground(() => true);
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  /** Type-check these `ts` blocks by one run of the compiler; `run` complains of each when it comes to it. */
  async check(blocks: readonly Block[]): Promise<void> {
    const files = blocks.map(fileOf);
    for (const block of blocks) {
      writeFileSync(join(this.folder, fileOf(block)), await this.#withPorts(block.text));
    }
    const compiler = join(this.#root, 'node_modules', 'typescript', 'bin', 'tsc');
    const flags =
      '--noEmit --strict --module nodenext --moduleDetection force --target es2022 --lib es2023,esnext.disposable';
    const more = '--types node --allowImportingTsExtensions --skipLibCheck';
    const running = this.#start(process.execPath, [
      compiler,
      ...flags.split(' '),
      ...more.split(' '),
      ...files,
    ]);
    await running.silent;
    for (const file of files) this.#faults.set(file, '');
    if (running.child.exitCode === 0) return;
    // Each fault begins with its file; what belongs to none of them concerns all.
    const faults = running.output().split(/^(?=\S)/m);
    const ownerOf = (fault: string): string | undefined => files.find((file) => fault.startsWith(`${file}(`));
    for (const fault of faults) {
      const owner = ownerOf(fault);
      for (const file of owner === undefined ? files : [owner]) {
        this.#faults.set(file, this.#faults.get(file) + fault);
      }
    }
  }

  async #module(block: Block, text: string): Promise<void> {
    const file = fileOf(block);
    if (!this.#faults.has(file)) await this.check([block]);
    const fault = this.#faults.get(file)!;
    if (fault !== '') throw new Error(`README line ${block.line}: it does not compile\n${fault}`);
    if (block.words.includes('check')) return;
    await this.#settle(block, this.#start(process.execPath, [await this.#erased(file, text)]), []);
  }

  /** What the block says, as plain JavaScript: to run it takes a third of what `tsx` takes. */
  async #erased(file: string, text: string): Promise<string> {
    const { code } = await transform(text, { loader: 'ts', format: 'esm', target: 'node20' });
    const script = file.replace(/\.m?ts$/, '.mjs');
    writeFileSync(join(this.folder, script), code);
    return script;
  }

  async #script(block: Block, script: string, expected: readonly string[]): Promise<void> {
    if (script.trim() !== '') await this.#settle(block, this.#start('sh', ['-e', '-c', script]), expected);
  }

  async #settle(block: Block, running: Running, expected: readonly string[]): Promise<void> {
    if (!block.words.includes('background')) return this.#finish(block, running, expected);
    this.#background.push({ line: block.line, section: block.section, running });
    await this.#firstOutput(block, running);
  }

  async #finish(block: Block, running: Running, expected: readonly string[]): Promise<void> {
    const limit = setTimeout(() => kill(running, 'SIGKILL'), BLOCK_LIMIT_MS);
    const status = await running.ended;
    clearTimeout(limit);
    // What a script left behind in its process group ends with it.
    kill(running, 'SIGKILL');
    await running.silent;
    const wanted = Number(block.words.find((word) => word.startsWith('exit='))?.slice(5) ?? 0);
    const tell = (what: string): Error =>
      new Error(`README line ${block.line}: ${what}\n${running.output()}`);
    if (status !== wanted) throw tell(`ended with ${status ?? 'a signal (time limit)'}, not ${wanted}`);
    const missing = missingLine(expected, running.output());
    if (missing !== null) throw tell(`printed no line like "${missing}"`);
  }

  /** A background block is ready when it has printed something. */
  async #firstOutput(block: Block, running: Running): Promise<void> {
    const printed = new Promise<'printed'>((done) => {
      for (const stream of [running.child.stdout!, running.child.stderr!]) {
        stream.once('data', () => done('printed'));
      }
    });
    let limit: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((done) => {
      limit = setTimeout(() => done('late'), BLOCK_LIMIT_MS);
    });
    // The end is often heard of before the last output is.
    const ended = running.ended.then(() => running.silent).then(() => 'ended' as const);
    const first = await Promise.race([printed, late, ended]);
    clearTimeout(limit);
    if (first === 'printed') return;
    throw new Error(`README line ${block.line}: ${first} before it printed anything\n${running.output()}`);
  }

  async #endBackground(which: (other: { section: number }) => boolean): Promise<void> {
    const ending = this.#background.filter(which);
    this.#background = this.#background.filter((other) => !which(other));
    const complaints: string[] = [];
    for (const { line, running } of ending) {
      const died = running.child.exitCode !== null || running.child.signalCode !== null;
      kill(running, 'SIGINT');
      let killed = false;
      const limit = setTimeout(() => {
        killed = true;
        kill(running, 'SIGKILL');
      }, this.#endingLimitMs);
      await running.ended;
      clearTimeout(limit);
      kill(running, 'SIGKILL');
      if (died || killed) {
        complaints.push(
          `README line ${line}: ${died ? 'died early' : 'ignored SIGINT'}\n${running.output()}`,
        );
      }
    }
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  }

  async #withPorts(text: string): Promise<string> {
    for (const [port] of text.matchAll(/\b74\d\d\b/g)) {
      if (!this.#ports.has(port)) this.#ports.set(port, await freePort());
    }
    return text.replace(/\b74\d\d\b/g, (port) => String(this.#ports.get(port)));
  }

  #tsx(): string {
    return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  }

  /** In a process group of its own, so that nothing it starts outlives the block. */
  #start(command: string, args: readonly string[]): Running {
    const child = spawn(command, args, {
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: `${join(this.folder, 'bin')}:${process.env.PATH}` },
    });
    let output = '';
    child.stdout!.on('data', (data: Buffer) => (output += data));
    child.stderr!.on('data', (data: Buffer) => (output += data));
    const ended = new Promise<number | null>((done) => child.once('exit', (status) => done(status)));
    const silent = new Promise<void>((done) => child.once('close', () => done()));
    return { child, ended, silent, output: () => output };
  }
}

function kill(running: Running, signal: NodeJS.Signals): void {
  try {
    process.kill(-running.child.pid!, signal);
  } catch {
    // The whole group has ended already.
  }
}
