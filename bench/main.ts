/**
 * `npm run bench -- [name ...] [--quick] [--json]`: runs `bench/<name>.bench.ts`, all of them without a name.
 * `--json` prints one object instead of the table. Exit code 2 for arguments that are none.
 */
import { benchCommand } from './command.ts';

process.exitCode = await benchCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
