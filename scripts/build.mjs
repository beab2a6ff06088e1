/**
 * `npm run build`: everything a user gets, into `dist/`. `prepare` runs it, so `npm ci` leaves a built checkout, and an
 * install from git builds itself.
 *
 * The library floors are compiled file by file (JavaScript and types). The command line is bundled with what it
 * uses, so that the published package needs no `dependencies`; the licences of what was bundled are listed
 * beside it. All is built in a scratch folder and moved into place at the end: a failed build leaves the last
 * good `dist/` alone, and a reader of `dist/` never meets half of one. Exit code 1 and one line on failure.
 */
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const scratch = join(root, '.tmp', `build-${process.pid}`);
const output = join(root, 'dist');

/** Types and JavaScript of the library floors; the compiler's own report reaches the terminal unchanged. */
function compileLibrary() {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const run = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', scratch], {
    cwd: root,
    stdio: 'inherit',
  });
  if (run.error) throw run.error;
  if (run.status !== 0) throw new Error('the library does not compile (tsc -p tsconfig.build.json)');
}

/**
 * The command bundles other people's packages, not our own floors: those stand beside it, compiled. Bundling turns
 * their constants into variables, which the engine then no longer folds into the hot paths.
 */
const ownFloorsStayFiles = {
  name: 'own-floors-stay-files',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const fromSource = relative(join(root, 'src'), join(resolveDir, path));
      if (fromSource.startsWith('..') || fromSource.startsWith('cli')) return undefined;
      return { path: `../${fromSource.replace(/\.ts$/, '.js')}`, external: true };
    });
  },
};

/**
 * One executable file, and beside it what single commands need, loaded when they are asked for. Optional peers stay
 * imports: they are looked up where the user installed them.
 */
async function bundleCommand() {
  const { peerDependencies = {} } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const outdir = join(scratch, 'cli');
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/cli/main.ts'],
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: Object.keys(peerDependencies),
    plugins: [ownFloorsStayFiles],
    // Bundled CommonJS calls `require` for Node's own modules; an ES module has none unless we make it.
    banner: {
      js:
        "import { createRequire as makeRequire } from 'node:module';\n" +
        'const require = makeRequire(import.meta.url);',
    },
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  await chmod(join(outdir, 'main.js'), 0o755);
  return Object.keys(metafile.inputs);
}

/** `node_modules/a/node_modules/@b/c/x.js` belongs to the innermost package, `.../@b/c`. */
function packageFolderOf(input) {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
}

/** The licence text of every bundled package; a package without one must not be bundled. */
async function writeLicences(inputs) {
  const folders = [...new Set(inputs.map(packageFolderOf).filter((folder) => folder !== undefined))].sort();
  const parts = [];
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
    const file = (await readdir(join(root, folder))).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} is bundled but ships no licence text`);
    const text = (await readFile(join(root, folder, file), 'utf8')).trim();
    parts.push(`${name} ${version} (${license})\n\n${text}\n`);
  }
  const intro = 'dist/cli contains code of these packages.\n';
  await writeFile(
    join(scratch, 'THIRD-PARTY-LICENSES.txt'),
    [intro, ...parts].join(`\n${'-'.repeat(70)}\n\n`),
  );
}

const startedAt = performance.now();
try {
  await mkdir(scratch, { recursive: true });
  compileLibrary();
  await writeLicences(await bundleCommand());
  await rm(output, { recursive: true, force: true });
  await rename(scratch, output);
  console.log(`built dist/ in ${Math.round(performance.now() - startedAt)} ms`);
} catch (error) {
  console.error(`build failed: ${error.message}`);
  process.exitCode = 1;
} finally {
  await rm(scratch, { recursive: true, force: true });
}
