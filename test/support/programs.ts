/**
 * Programs that tests run in processes of their own, each as one file of JavaScript: plain Node starts it in a tenth
 * of a second, where compiling on the fly takes most of one. Written below the checkout, so that packages are found.
 * A test file that makes some removes them in `afterAll`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..', '..');
const SCRATCH = join(ROOT, '.tmp');

const made = new Map<string, Promise<string>>();
let written = 0;
let folder: string | undefined;

async function write(from: Pick<BuildOptions, 'entryPoints' | 'stdin'>): Promise<string> {
  if (folder === undefined) {
    mkdirSync(SCRATCH, { recursive: true });
    folder = mkdtempSync(join(SCRATCH, 'programs-'));
  }
  const outfile = join(folder, `${written++}.mjs`);
  await build({
    ...from,
    absWorkingDir: ROOT,
    outfile,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
  });
  return outfile;
}

/** The path of a program made from a source file, named from the root: `test/support/responders.ts`. */
export function programFrom(source: string): Promise<string> {
  let path = made.get(source);
  if (path === undefined) made.set(source, (path = write({ entryPoints: [source] })));
  return path;
}

/** The path of a program made from code, whose imports are relative to the root. */
export function programOf(code: string): Promise<string> {
  return write({ stdin: { contents: code, loader: 'ts', resolveDir: ROOT } });
}

export function removePrograms(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
  made.clear();
}
