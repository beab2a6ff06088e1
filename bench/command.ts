/** What `npm run bench` does with its arguments. A bench that fails is an error; arguments that are none, one line. */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Bench, benchContext, formatTable, machineLine, type Row } from './harness.ts';

const here = new URL('.', import.meta.url);
const known = readdirSync(here)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
  .sort();

const HELP = `Usage: npm run bench -- [name ...] [--quick] [--json]

Time per operation beside plain Node and, where gcc is installed, C. Names: ${known.join(', ')} (default: all).

Options:
  --quick     do each thing once; the figures mean nothing
  --json      one JSON object instead of the tables
  -h, --help  this text`;

/** Where the words go, each with its line feed. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
}

function readArguments(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no bench named ${unknown}; there are ${known.join(', ')}`);
  return { names: positionals.length > 0 ? positionals : known, ...values };
}

/** The exit code: 0, or 2 for arguments that are none. Throws what a bench throws. */
export async function benchCommand(args: readonly string[], { out, err }: Terminal): Promise<number> {
  let options: ReturnType<typeof readArguments>;
  try {
    options = readArguments(args);
  } catch (error) {
    err(`bench: ${(error as Error).message}\n`);
    return 2;
  }
  const { names, quick, json, help } = options;
  if (help) {
    out(`${HELP}\n`);
    return 0;
  }
  const command = ['npm run bench --', ...args].join(' ');
  if (!json) out(`${command}\n${machineLine()}${quick ? '\n--quick: the figures mean nothing' : ''}\n`);
  const rows: (Row & { bench: string })[] = [];
  for (const name of names) {
    const { default: bench } = (await import(new URL(`${name}.bench.ts`, here).href)) as { default: Bench };
    const own = await bench(benchContext(quick));
    rows.push(...own.map((row) => ({ bench: name, ...row })));
    if (!json) out(`\n${name}\n${formatTable(own)}\n`);
  }
  if (json) out(`${JSON.stringify({ command, machine: machineLine(), quick, rows })}\n`);
  return 0;
}
