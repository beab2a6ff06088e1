/**
 * Entry of the `wirebeat` command: turns argv into one of the commands beside this file.
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
  description: string;
};

await new Command('wirebeat')
  .description(manifest.description)
  .version(manifest.version)
  .parseAsync(process.argv);
