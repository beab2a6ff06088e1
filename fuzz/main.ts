/**
 * `npm run fuzz -- TARGET --seconds N`: runs a campaign against one target, writes an input that breaks its invariant
 * to `fuzz/crashes/` and says how to replay it. `--help` shows the rest. Exit codes: 0 nothing found, 1 an invariant is
 * broken, 2 the command line cannot be used.
 */
import { fuzzCommand } from './command.ts';

process.exitCode = fuzzCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
