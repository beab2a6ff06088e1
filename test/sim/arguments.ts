/** The sim's command line. */
import { parseArgs } from 'node:util';
import { MUTANTS, type Mutant } from './mutants.ts';

export interface SimArguments {
  /** How many histories, and the first. */
  readonly seeds: number;
  readonly from: number;
  /** Replay this one, with its log. */
  readonly seed: number | undefined;
  /** Mistakes to plant, one after the other; empty: none. */
  readonly mutants: readonly Mutant[];
  readonly json: boolean;
  readonly help: boolean;
}

const DEFAULTS = Object.freeze({ seeds: '2000', from: '1' });
const MUTANT_NAMES = MUTANTS.map(({ name }) => name);

export const SIM_HELP = `Usage: npm run sim -- [options]

Random histories of links in the lab, each checked against the published promises.

Options:
  --seeds <number>  so many histories (default: ${DEFAULTS.seeds})
  --from <seed>     the first of them (default: ${DEFAULTS.from})
  --seed <seed>     replay this one, with its log
  --mutant <name>   plant a known mistake first and see it caught; all: one after the other
  --json            one JSON object per line
  -h, --help        this text

Mistakes:
${MUTANT_NAMES.map((name) => `  ${name}`).join('\n')}

Exit codes: 0 every promise kept (every mistake caught), 1 not so, 2 the arguments cannot be used.`;

/** The arguments cannot be used; the message is one line that names the option and shows the value. */
export class UsageError extends Error {}

export function simArguments(args: readonly string[]): SimArguments {
  const { seeds, from, seed, mutant, json, help } = split(args);
  if (seed !== undefined && mutant !== undefined) {
    throw new UsageError('--seed and --mutant exclude each other');
  }
  return {
    seeds: wholeNumber('--seeds', seeds, 1),
    from: wholeNumber('--from', from, 0),
    seed: seed === undefined ? undefined : wholeNumber('--seed', seed, 0),
    mutants: mutant === undefined ? [] : mutantsNamed(mutant),
    json,
    help,
  };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string', default: DEFAULTS.seeds },
        from: { type: 'string', default: DEFAULTS.from },
        seed: { type: 'string' },
        mutant: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]);
  }
}

function wholeNumber(option: string, text: string, min: number): number {
  if (!/^\d{1,15}$/.test(text) || Number(text) < min) {
    throw new UsageError(
      `${option} must be a whole number, ${min} or more, of at most 15 digits, got ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

function mutantsNamed(name: string): readonly Mutant[] {
  const chosen = MUTANTS.filter((mutant) => name === 'all' || mutant.name === name);
  if (chosen.length > 0) return chosen;
  throw new UsageError(
    `--mutant must be all or one of ${MUTANT_NAMES.join(', ')}, got ${JSON.stringify(name)}`,
  );
}
