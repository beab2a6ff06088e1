/** Where inputs live: `corpus/TARGET/` is checked in, `crashes/` is what campaigns find, ignored by git. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CORPUS_FOLDER = join(import.meta.dirname, 'corpus');

/** The corpus of a target in the order of its names; empty when there is none. */
export function readCorpus(target: string): Map<string, Buffer> {
  const folder = join(CORPUS_FOLDER, target);
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
}

/** Write a failing input below `folder`, named after its content; its path. */
export function writeCrash(folder: string, target: string, input: Buffer): string {
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(input).digest('hex').slice(0, 12);
  const path = join(folder, `${target}-${digest}.bin`);
  writeFileSync(path, input);
  return path;
}
