/**
 * `npm run bench -- [name ...] [--quick] [--json]`: runs `bench/<name>.bench.ts`, all of them without a name.
 * `--json` prints one object instead of the table. Exit code 2 for a name there is no bench for.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Bench, benchContext, formatTable, machineLine, type Row } from './harness.ts';

const here = new URL('.', import.meta.url);
const known = readdirSync(here)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
  .sort();

function readArguments(): { names: string[]; quick: boolean; json: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
  });
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no bench named ${unknown}; there are ${known.join(', ')}`);
  return { names: positionals.length > 0 ? positionals : known, ...values };
}

async function main(): Promise<void> {
  const { names, quick, json } = readArguments();
  // A bench may remark on something; in JSON mode stdout belongs to the one object.
  if (json) console.log = console.error;
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
  if (!json) console.log(`${command}\n${machineLine()}${quick ? '\n--quick: the figures mean nothing' : ''}`);
  const rows: (Row & { bench: string })[] = [];
  for (const name of names) {
    const { default: bench } = (await import(new URL(`${name}.bench.ts`, here).href)) as { default: Bench };
    const own = await bench(benchContext(quick));
    rows.push(...own.map((row) => ({ bench: name, ...row })));
    if (!json) console.log(`\n${name}\n${formatTable(own)}`);
  }
  if (json) process.stdout.write(`${JSON.stringify({ command, machine: machineLine(), quick, rows })}\n`);
}

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
