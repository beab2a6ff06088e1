/**
 * The lab's programs as single files of JavaScript: they start in a tenth of a second, where running from source
 * takes one. Written below the checkout, so that the optional peer is found where it is installed.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { isLab } from './leftovers.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SCRATCH = join(ROOT, '.tmp');

export interface Bundle {
  readonly watcher: string;
  readonly peer: string;
  readonly plain: string;
  remove(): Promise<void>;
}

export async function bundlePrograms(): Promise<Bundle> {
  await removeOldBundles();
  const folder = join(SCRATCH, `kernel-${process.pid}`);
  await mkdir(folder, { recursive: true });
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['watcher', 'peer', 'plain'].map((name) => `test/kernel/${name}.ts`),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['koffi'],
    logLevel: 'warning',
  });
  return {
    watcher: join(folder, 'watcher.mjs'),
    peer: join(folder, 'peer.mjs'),
    plain: join(folder, 'plain.mjs'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** What killed runs left behind. */
async function removeOldBundles(): Promise<void> {
  const names = await readdir(SCRATCH).catch(() => []);
  for (const name of names) {
    const pid = /^kernel-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !(await isLab(Number(pid)))) await rm(join(SCRATCH, name), { recursive: true });
  }
}
