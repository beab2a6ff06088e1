/** The states of a link: what the specification shows is what the code does. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withStates } from '../../spec/render-states.ts';
import { type LinkState, TRANSITIONS, type Trigger } from '../../src/session/index.ts';

const spec = readFileSync(new URL('../../spec/HB1.md', import.meta.url), 'utf8');
const section = spec.slice(spec.indexOf('### 5.8 States'), spec.indexOf('## 6 Negotiation'));
const [, begin, end] = /(<!-- states: rendered[^\n]*)[\s\S]*(<!-- states: end -->)/.exec(section)!;
const rendered = section.slice(section.indexOf(begin!), section.indexOf(end!));

describe('the states in the specification', () => {
  it('are rendered from the table of the code; else run spec/render-states.ts', () => {
    expect(withStates(spec)).toBe(spec);
  });

  it('a change of the table changes them, and only them', () => {
    const changed = {
      ...TRANSITIONS,
      unobserved: { ...TRANSITIONS.unobserved, life: 'up' as LinkState },
    };
    const other = withStates(spec, changed);
    expect(other).not.toBe(spec);
    expect(withStates(other)).toBe(spec);
  });

  it('show every move of the table, and no other, in the rows and in the diagram', () => {
    const moves = Object.entries(TRANSITIONS).flatMap(([state, row]) =>
      (Object.keys(row) as Trigger[]).flatMap((trigger) =>
        row[trigger] ? [`${state} ${row[trigger]}`] : [],
      ),
    );
    const rows = rendered.match(/^\| (opening|up|suspect|unobserved|leaving|closed) .*$/gm)!;
    const inTable = rows.flatMap((row) => {
      const [state, ...cells] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return cells.filter((cell) => cell !== '-').map((cell) => `${state} ${cell}`);
    });
    expect(inTable.sort()).toEqual(moves.sort());
    const arrows = [...rendered.matchAll(/^ {4}(\w+) --> (\w+):/gm)].map(([, from, to]) => `${from} ${to}`);
    expect(arrows.sort()).toEqual([...new Set(moves)].sort());
  });

  it('every state of the code has its meaning in the table above them, in the same order', () => {
    const meanings = section.slice(0, section.indexOf(begin!)).match(/^\| (\w+) \|/gm)!;
    expect(meanings.map((cell) => cell.slice(2, -2))).toEqual(['state', ...Object.keys(TRANSITIONS)]);
  });

  it('a specification without the markers is refused', () => {
    expect(() => withStates('# HB1')).toThrow('markers');
  });
});
