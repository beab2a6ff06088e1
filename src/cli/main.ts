/**
 * Entry of the `wirebeat` command: turns argv into one of the commands beside this file. The only place that may end
 * the process; commands set an exit code and let the event loop run empty.
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addDecode } from './commands/decode.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEncode } from './commands/encode.ts';
import { addLoad } from './commands/load.ts';
import { addPing } from './commands/ping.ts';
import { addServe } from './commands/serve.ts';
import { onOneLine, reportFailure } from './errors.ts';

/** A command has had its say: whatever still holds the process after this long is a socket that lingers. */
const LINGER_MS = 2_000;

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
  description: string;
};

process.on('uncaughtException', (error) => process.exit(reportFailure(error)));

const program = new Command('wirebeat')
  .description(manifest.description)
  .version(manifest.version)
  .addHelpText('after', '\nExit codes: 0 all is well, 1 it is not, 2 the command line cannot be used.')
  .exitOverride()
  .configureOutput({
    outputError: (text, write) => write(`wirebeat: ${onOneLine(text.replace(/^error: /, ''))}\n`),
  });
for (const add of [addServe, addPing, addLoad, addDecode, addEncode, addDemo, addDoctor]) add(program);

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error);
}
setTimeout(() => process.exit(), LINGER_MS).unref();
