/**
 * Keeps `prepare` out of the tarball: it builds a checkout, users have nothing to build, and npm would warn them of an
 * install script. `strip` runs as `prepack` and keeps package.json aside below `.tmp/`, `restore` as `postpack` puts it
 * back, byte for byte. After a pack that was killed in between, `restore` by hand or git does the same.
 * Exit code 2 for any other argument.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const manifest = join(root, 'package.json');
const aside = join(root, '.tmp', 'package.json');

/** The manifest as users get it. */
function stripped(text) {
  const { scripts, ...rest } = JSON.parse(text);
  delete scripts.prepare;
  return `${JSON.stringify({ ...rest, scripts }, null, 2)}\n`;
}

function strip() {
  restore();
  const text = readFileSync(manifest, 'utf8');
  mkdirSync(dirname(aside), { recursive: true });
  writeFileSync(aside, text);
  writeFileSync(manifest, stripped(text));
}

/** Only over what `strip` has made of it: a manifest that was changed since stays. */
function restore() {
  if (!existsSync(aside)) return;
  if (readFileSync(manifest, 'utf8') === stripped(readFileSync(aside, 'utf8'))) renameSync(aside, manifest);
  else rmSync(aside);
}

const actions = { strip, restore };
const asked = process.argv[2] ?? '';
if (Object.hasOwn(actions, asked)) actions[asked]();
else {
  console.error(`pack-manifest: strip or restore, got "${asked}"`);
  process.exitCode = 2;
}
