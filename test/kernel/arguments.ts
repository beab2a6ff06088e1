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
}

/** RangeError or TypeError names the argument. */
export function labArguments(args: readonly string[], names: readonly string[]): LabArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: '1' },
      // Two cores: while one scenario waits for a silence to last, others start their processes.
      parallel: { type: 'string', default: '4' },
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      'without-native': { type: 'boolean', default: false },
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
  };
}
