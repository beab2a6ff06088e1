/** The demo's tables as text: the live one and the summary. Pure; columns as wide as their widest cell. */
import type { Row } from './judgement.ts';
import type { Peer } from './peer.ts';
import { KINDS } from './scenario.ts';

/** Cells right-aligned where they are numbers; two spaces between columns. */
export function renderTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          /^(-|[\d.]+)$/.test(cell) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** How many links of each kind are in which state now. */
export function liveTable(peers: readonly Peer[]): string {
  const rows = KINDS.map((kind) => {
    const own = peers.filter((peer) => peer.kind === kind);
    const count = (is: (peer: Peer) => boolean): string => String(own.filter(is).length);
    return [
      kind.name,
      kind.fate,
      count(() => true),
      count(({ struckAtMs }) => struckAtMs !== undefined),
      count(({ link }) => link.state === 'up' || link.state === 'opening'),
      count(({ link }) => link.state === 'suspect'),
      count(({ verdict }) => verdict !== undefined),
      count(({ ended, verdict }) => ended !== undefined && verdict === undefined),
    ];
  });
  return renderTable([['peers', 'what happens', 'links', 'hit', 'up', 'suspect', 'dead', 'closed'], ...rows]);
}

/** The same in one line, for logs. */
export function liveLine(peers: readonly Peer[], elapsedMs: number): string {
  const count = (is: (peer: Peer) => boolean): number => peers.filter(is).length;
  const up = count(({ ended }) => ended === undefined);
  const suspect = count(({ link }) => link.state === 'suspect');
  const dead = count(({ verdict }) => verdict !== undefined);
  const hit = count(({ struckAtMs }) => struckAtMs !== undefined);
  return (
    `${(elapsedMs / 1_000).toFixed(1).padStart(4)} s  ${hit} hit, ${up} alive (${suspect} suspect), ` +
    `${dead} dead, ${peers.length - up - dead} closed`
  );
}

/** What each kind came to, against what was expected. */
export function summaryTable(rows: readonly Row[]): string {
  const head = [
    'peers',
    'what happened',
    'links',
    'seen',
    'after (ms)',
    'silence (ms)',
    'at most (ms)',
    'result',
  ];
  const body = rows.map((row) => [
    row.kind.name,
    row.kind.fate,
    String(row.links),
    row.seen,
    Number.isNaN(row.maxAfterMs) ? '-' : `${row.minAfterMs.toFixed(0)}..${row.maxAfterMs.toFixed(0)}`,
    show(row.maxSilentMs),
    show(row.boundMs),
    row.right === row.links ? 'PASS' : `FAIL (${row.links - row.right} wrong)`,
  ]);
  return renderTable([head, ...body]);
}

function show(ms: number): string {
  return Number.isNaN(ms) ? '-' : ms.toFixed(0);
}
