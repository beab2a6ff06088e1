/** The lab's command line. */
import { parseArgs } from 'node:util';
import { integerIn } from '../../src/base/assert.ts';

export interface LabArguments {
  /** How often every scenario runs, 1..1 000. */
  readonly runs: number;
  /** Scenarios at a time, 1..32. */
  readonly parallel: number;
  /** Names of scenarios; empty: all. */
  readonly only: readonly string[];
  readonly json: boolean;
  /** Do not ask the kernel through native calls, even where that is possible. */
  readonly withoutNative: boolean;
  /** Say how to use it, and run nothing. */
  readonly help: boolean;
}

const DEFAULTS = Object.freeze({ runs: '1', parallel: '4' });

export const labHelp = (names: readonly string[]): string => `Usage: npm run test:kernel -- [options]

What sends links to their end on real kernels, and what wirebeat says about it. Needs Linux, root, iproute2, iptables
and haproxy; where one is missing it says which and is skipped.

Options:
  --runs <number>        run each scenario so often, 1 to 1000 (default: ${DEFAULTS.runs})
  --only <name,name>     these scenarios; may be given several times (default: all)
  --parallel <number>    so many at a time, 1 to 32 (default: ${DEFAULTS.parallel})
  --without-native       as if koffi were not installed
  --json                 one JSON object per run, then a summary
  -h, --help             this text

Scenarios:
${names.map((name) => `  ${name}`).join('\n')}

Exit codes: 0 every cause right and in time, 1 not so (or skipped, with WIREBEAT_REQUIRE_ALL=1), 2 bad arguments.`;

/** RangeError or TypeError names the argument. */
export function labArguments(args: readonly string[], names: readonly string[]): LabArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: DEFAULTS.runs },
      // Two cores: while one scenario waits for a silence to last, others start their processes.
      parallel: { type: 'string', default: DEFAULTS.parallel },
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      'without-native': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const only = values.only.flatMap((list) => list.split(','));
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`--only must be of ${names.join(', ')}, got ${JSON.stringify(unknown)}`);
  }
  return {
    runs: integerIn('--runs', Number(values.runs), 1, 1_000),
    parallel: integerIn('--parallel', Number(values.parallel), 1, 32),
    only,
    json: values.json,
    withoutNative: values['without-native'],
    help: values.help,
  };
}
