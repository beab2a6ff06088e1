#!/usr/bin/env node
/**
 * Entry of the `wirebeat` command: turns argv into one of the commands beside this file. The only place that may end
 * the process; commands set an exit code and let the event loop run empty. Only the command that is asked for is
 * loaded, so that `decode` does not wait for a server; help and mistakes need the names of all.
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { parserMessage, reportFailure } from './errors.ts';

type AddCommand = (program: Command) => void;

/** In the order of the help. */
const COMMANDS: Record<string, () => Promise<AddCommand>> = {
  serve: async () => (await import('./commands/serve.ts')).addServe,
  ping: async () => (await import('./commands/ping.ts')).addPing,
  load: async () => (await import('./commands/load.ts')).addLoad,
  decode: async () => (await import('./commands/decode.ts')).addDecode,
  encode: async () => (await import('./commands/encode.ts')).addEncode,
  demo: async () => (await import('./commands/demo.ts')).addDemo,
  doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
};

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
    outputError: (text, write) => write(`wirebeat: ${parserMessage({ message: text })}\n`),
  });

/** Those that the command line cannot do without. */
function wantedCommands(first = ''): string[] {
  if (first === '--version' || first === '-V') return [];
  return Object.hasOwn(COMMANDS, first) ? [first] : Object.keys(COMMANDS);
}

try {
  const wanted = wantedCommands(process.argv[2]);
  for (const add of await Promise.all(wanted.map((name) => COMMANDS[name]!()))) add(program);
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error, process.argv.includes('--json'));
}
setTimeout(() => process.exit(), LINGER_MS).unref();
