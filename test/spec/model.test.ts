/**
 * The models of spec/model: their table of states is the one of the code, and, where spin is installed, one search
 * of each model holds and finds a planted mistake. All of them are `npm run model`.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { nameOf, readOutcome, search, UNOPTIMISED } from '../../spec/model/check.ts';
import { CHECKS, MUTANTS } from '../../spec/model/checks.ts';
import { type LinkState, TRANSITIONS } from '../../src/session/index.ts';
import { hasTool, needs } from '../support/tools.ts';

const SEARCH_LIMIT_MS = 60_000;
/** The smallest search of each model, and a mistake planted into it. */
const SAMPLES = [
  ['liveness ENDS', 'liveness ENDS MUTANT_ENDS_TWICE'],
  ['negotiation', 'negotiation MUTANT_ANSWERS_A_FINAL'],
] as const;
const canSearch = hasTool('spin', '-V') && hasTool('gcc');
const missing = needs('spin') || needs('gcc');

function readModel(name: string): string {
  return readFileSync(new URL(`../../spec/model/${name}.pml`, import.meta.url), 'utf8');
}

/** `from trigger to`, one for each row between the markers of the model. */
function modelRows(text: string): string[] {
  const block = /\/\* table begins \*\/\n([\s\S]*?)\/\* table ends \*\//.exec(text)?.[1] ?? '';
  return block
    .trimEnd()
    .split('\n')
    .map((line) => {
      const row = /^\s*:: row\((\w+), (\w+)\) -> next\((\w+)\)$/.exec(line);
      if (row === null) throw new Error(`not a row of the table: ${line}`);
      return `${row[1]} ${row[2]!.replace('_', '-')} ${row[3]}`;
    });
}

function codeRows(): string[] {
  return Object.entries(TRANSITIONS).flatMap(([from, moves]) =>
    Object.entries(moves as Record<string, LinkState | undefined>)
      .filter(([, to]) => to !== undefined)
      .map(([trigger, to]) => `${from} ${trigger} ${to}`),
  );
}

/** The names of a set of words that the model declares. */
function declared(text: string, set: string): string[] {
  const names = new RegExp(`mtype:${set} = \\{([^}]*)\\}`).exec(text)![1]!;
  return names.split(',').map((name) => name.trim().replace('_', '-'));
}

describe('the models', () => {
  test("the liveness model moves through the code's table of states, row by row", () => {
    expect(modelRows(readModel('liveness'))).toEqual(codeRows());
  });

  test('the liveness model knows the states and triggers of the code, and no others', () => {
    const text = readModel('liveness');
    expect(declared(text, 'state')).toEqual(Object.keys(TRANSITIONS));
    expect(declared(text, 'trigger')).toEqual(Object.keys(TRANSITIONS.opening));
  });

  test('every planted mistake of the models is searched for', () => {
    const planted = ['liveness', 'negotiation'].flatMap(
      (name) => readModel(name).match(/MUTANT_[A-Z_]+/g) ?? [],
    );
    const searched = MUTANTS.map(({ defines }) => defines.at(-1));
    expect([...new Set(planted)].sort()).toEqual(searched.sort());
  });

  test.each([
    ['a violated assertion', 'pan:1: assertion violated (deafTicks[0]<=8) (at depth 9)\nerrors: 1\n'],
    ['a depth that was too small', 'error: max search depth too small\nState-vector 68 byte, errors: 0\n'],
    ['memory that ran out', 'pan: reached -DMEMLIM bound\nState-vector 68 byte, errors: 0\n'],
    ['no result at all', ''],
  ])('a search with %s does not count as complete', (_name, output) => {
    expect(readOutcome(output).isComplete).toBe(false);
  });
});

describe.skipIf(!canSearch)(`spin${missing}`, () => {
  test.each(SAMPLES)(
    'one search holds, and a planted mistake is found: %s, %s',
    (defines, mistake) => {
      const check = CHECKS.find((planned) => nameOf(planned) === defines)!;
      expect(search(check)).toMatchObject({ isComplete: true, violated: undefined });
      const mutant = MUTANTS.find((planned) => nameOf(planned) === mistake)!;
      expect(search(mutant, UNOPTIMISED).violated).toBe(mutant.shows);
    },
    SEARCH_LIMIT_MS,
  );
});
