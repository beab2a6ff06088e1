/** The lab's results as text: one row per scenario with its slowest run, and what a wrong one saw. Pure. */
import { renderTable } from '../../src/cli/demo/table.ts';
import type { Child } from './child.ts';
import type { Outcome } from './outcome.ts';

const HEAD = ['scenario', 'what happens', 'expected', 'found', 'ms', 'bound', 'right', 'note'];

/** `order`: all names, as the rows shall come. */
export function resultTable(outcomes: readonly Outcome[], order: readonly string[]): string {
  const ran = new Set(outcomes.map(({ scenario }) => scenario));
  const rows = order
    .filter((name) => ran.has(name))
    .map((name) => {
      const own = outcomes.filter(({ scenario }) => scenario === name);
      const slowest = own.reduce((worst, one) => (spareMs(one) < spareMs(worst) ? one : worst));
      const right = own.filter(({ wrong }) => wrong === undefined).length;
      return [
        name,
        slowest.what,
        slowest.expected,
        [...new Set(own.map(({ found }) => found))].join('|'),
        String(slowest.tookMs),
        String(slowest.boundMs),
        `${right}/${own.length}`,
        [...new Set(own.map(({ note }) => note))].filter((note) => note !== '').join('|'),
      ];
    });
  return renderTable([HEAD, ...rows]);
}

const spareMs = ({ tookMs, boundMs }: Outcome): number => boundMs - tookMs;

/** Everything the programs of a run said, on one clock that begins with the first. */
export function story(children: readonly Pick<Child, 'name' | 'happenings'>[]): string {
  const told = children.flatMap(({ name, happenings }) => happenings.map((one) => ({ name, ...one })));
  told.sort((a, b) => a.atMs - b.atMs);
  const startMs = told[0]?.atMs ?? 0;
  return told
    .map(({ name, atMs, event, detail }) => {
      const time = (atMs - startMs).toFixed(0).padStart(7);
      return `${time} ${name.padEnd(8)} ${event} ${JSON.stringify(detail)}`;
    })
    .join('\n');
}
