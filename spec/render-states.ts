/**
 * Renders the table of states into HB1.md, between its markers, as a table and a diagram:
 * `node --import tsx spec/render-states.ts`. A test compares what is checked in with what this makes of
 * src/session/states.ts, so that the specification and the code cannot part.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type LinkState, TRANSITIONS, type Trigger } from '../src/session/states.ts';

const BEGIN = '<!-- states: rendered by render-states.ts, do not edit -->';
const END = '<!-- states: end -->';

/** The triggers in words of the specification, in the order of the columns. */
const WORDS: Readonly<Record<Trigger, string>> = {
  life: 'life',
  silence: 'silent too long',
  pause: 'we pause',
  resume: 'we resume',
  'resume-unheard': 'we resume, never heard',
  leave: 'we send `GOAWAY`',
  goaway: '`GOAWAY` received',
  end: 'end or verdict',
};

type Table = Readonly<Record<LinkState, Readonly<Record<Trigger, LinkState | undefined>>>>;

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** One row per state, one column per trigger; a dash where nothing happens. */
function renderTable(transitions: Table): string {
  const triggers = Object.keys(WORDS) as Trigger[];
  const head = ['in state', ...triggers.map((trigger) => WORDS[trigger])];
  const body = Object.entries(transitions).map(([state, moves]) =>
    row([state, ...triggers.map((trigger) => moves[trigger] ?? '-')]),
  );
  return [row(head), `|${'---|'.repeat(head.length)}`, ...body].join('\n');
}

/** Arrows with the same ends are one, with all their triggers. */
function renderDiagram(transitions: Table): string {
  const arrows = new Map<string, string[]>();
  for (const [state, moves] of Object.entries(transitions)) {
    for (const trigger of Object.keys(WORDS) as Trigger[]) {
      const next = moves[trigger];
      if (next === undefined) continue;
      const arrow = `${state} --> ${next}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), WORDS[trigger].replaceAll('`', '')]);
    }
  }
  const lines = [...arrows].map(([arrow, words]) => `    ${arrow}: ${words.join(' / ')}`);
  return ['```mermaid', 'stateDiagram-v2', '    [*] --> opening', ...lines, '    closed --> [*]', '```'].join(
    '\n',
  );
}

/** The specification with the present table in place of whatever stood between its markers. */
export function withStates(spec: string, transitions: Table = TRANSITIONS): string {
  const begin = spec.indexOf(BEGIN);
  const end = spec.indexOf(END);
  if (begin < 0 || end < begin) throw new Error('HB1.md has lost its markers for the states');
  const rendered = `${BEGIN}\n\n${renderTable(transitions)}\n\n${renderDiagram(transitions)}\n\n`;
  return spec.slice(0, begin) + rendered + spec.slice(end);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = new URL('HB1.md', import.meta.url);
  writeFileSync(file, withStates(readFileSync(file, 'utf8')));
}
