/**
 * One vocabulary: the tables of spec/HB1.md and src/wire/constants.ts hold the same words and the same numbers, and
 * the specification keeps its own house rules (unique statement ids, one heading per error code).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as constants from '../../src/wire/constants.ts';
import {
  TwinWindow,
  twinCrc,
  twinDistance,
  twinFrame,
  twinFrameName,
  twinRestarts,
} from '../support/spec-twin.ts';

const root = new URL('../../', import.meta.url);
const spec = readFileSync(new URL('spec/HB1.md', root), 'utf8');

/** The lines from a heading to the next of its level or above. */
function section(title: string): string {
  const lines = spec.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '').startsWith(title));
  if (start < 0) throw new Error(`no section "${title}"`);
  const level = lines[start]!.indexOf(' ');
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level);
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join('\n');
}

/** The rows of the section's table number `index`, without its head. */
function table(title: string, index = 0): string[][] {
  const tables = section(title).match(/(?:^\|.*\n?)+/gm) ?? [];
  return tables[index]!.trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** GOAWAY_INFO, GoAwayInfo and goAwayInfo are one word. */
const word = (name: string): string => name.replaceAll('_', '').toLowerCase();

function wordsOf(object: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [word(name), value]));
}

function column(rows: string[][], name: number, value: number, radix = 10): Record<string, number> {
  return Object.fromEntries(rows.map((row) => [word(row[name]!), Number.parseInt(row[value]!, radix)]));
}

describe('tables of the specification equal the constants', () => {
  it('field names and offsets', () => {
    const rows = table('1.1 Layout');
    expect(column(rows, 2, 0)).toEqual(wordsOf(constants.Offset));
    const lengths = rows.map((row) => Number(row[1]));
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(constants.FRAME_BYTES);
    expect(rows.map((row) => Number(row[0]))).toEqual(
      lengths.map((_, i) => lengths.slice(0, i).reduce((a, b) => a + b, 0)),
    );
  });

  it('flag names and masks', () => {
    expect(column(table('2.1 Flags'), 1, 0, 16)).toEqual(wordsOf(constants.Flag));
  });

  it('legal combinations: the table printed is the table the vectors were made by', () => {
    const masks = wordsOf(constants.Flag);
    const mask = (cell: string): number =>
      cell === '-' ? 0 : cell.split(', ').reduce((sum, name) => sum | masks[word(name)]!, 0);
    const rows = table('2.2 Legal').map(([name, must, may]) => ({
      name,
      must: mask(must!),
      may: mask(may!),
    }));
    let legal = 0;
    for (let flags = 0; flags < 128; flags++) {
      const row = rows.find(({ must, may }) => (flags & must) === must && (flags & ~(must | may)) === 0);
      const informs = (flags & constants.Flag.Param) !== 0 && (flags & constants.Flag.GoAway) !== 0;
      expect(twinFrameName(flags, informs ? 0x07000000 : 0), `flags ${flags}`).toBe(row?.name);
      if (row !== undefined) legal++;
    }
    expect(section('2.2 Legal')).toContain(`${legal} of the 128 combinations`);
  });

  it('parameter ids', () => {
    expect(column(table('2.4 Parameter'), 1, 0)).toEqual(wordsOf(constants.Param));
  });

  it('GOAWAY reasons', () => {
    expect(column(table('2.5 Leaving'), 1, 0)).toEqual(wordsOf(constants.GoAwayReason));
  });

  it('refusal codes', () => {
    expect(column(table('2.6 Refusal'), 1, 0)).toEqual(wordsOf(constants.RefuseCode));
  });

  it('every plain number of the constants stands in Annex C, and no other', () => {
    const numbers = Object.entries(constants).filter((entry) => typeof entry[1] === 'number');
    const printed = table('Annex C').map((row) => [row[0], Number(row[1])]);
    expect(Object.fromEntries(printed)).toEqual(Object.fromEntries(numbers));
  });

  it('the validation order', () => {
    const codes = [...section('1.3 Reading').matchAll(/^ {2}\d\. [\s\S]*?`(HB_ERR_[A-Z_]+)`/gm)].map(
      (match) => match[1],
    );
    expect(codes).toEqual(constants.FRAME_CODES);
  });
});

describe('worked examples', () => {
  it('the checksum after each byte of the golden ping', () => {
    const lines = section('1.2 Checksum').split('\n');
    const cells = (name: string): string[] =>
      lines.find((line) => line.startsWith(`| ${name} |`))!.match(/[0-9a-f]{2,4}(?=\*{0,2} \|)/g)!;
    const bytes = cells('byte').map((cell) => Number.parseInt(cell, 16));
    expect(bytes).toEqual(twinFrame(1, 0xfffffffe, 0x12345678).slice(0, 12));
    const steps = bytes.map((_, index) =>
      twinCrc(bytes.slice(0, index + 1))
        .toString(16)
        .padStart(4, '0'),
    );
    expect(cells('crc')).toEqual(steps);
  });

  it('the digest of a poll', () => {
    const hex = section('2.4 Parameter').match(/`((?:[0-9a-f]{2} ){11}[0-9a-f]{2})`/)![1]!;
    expect(twinCrc(hex.split(' ').map((byte) => Number.parseInt(byte, 16)))).toBe(0xb1c3);
  });

  it('sequence arithmetic', () => {
    const rows = table('3.1 Counting');
    expect(rows.length).toBeGreaterThan(5);
    for (const [a, b, distance] of rows) expect(twinDistance(Number(a), Number(b))).toBe(Number(distance));
  });

  it('the walk through the window', () => {
    const window = new TwinWindow();
    const rows = table('3.2 The window');
    expect(rows.length).toBeGreaterThan(10);
    for (const [seq, distance, verdict, newest] of rows) {
      if (distance !== '-') expect(window.distanceFromNewest(Number(seq)), seq).toBe(Number(distance));
      expect(window.accept(Number(seq)), seq).toBe(verdict);
      expect(window.distanceFromNewest(Number(newest)), `newest after ${seq}`).toBe(0);
    }
  });

  it('F66: restarted counters', () => {
    const rows = table('3.3 A counter');
    expect(rows.length).toBeGreaterThan(3);
    for (const [newest, arrivals, verdicts] of rows) {
      const sequences = [newest!, ...arrivals!.split(', ')].map(Number);
      expect(twinRestarts(sequences).slice(1).join(', '), newest).toBe(verdicts!.split(':')[0]);
    }
  });
});

describe('house rules of the specification', () => {
  const statements = [...spec.matchAll(/^- \*\*\[([A-Z]-\d+)\]\*\*((?:.*\n)(?: {2}.*\n|\n(?= {2}))*)/gm)];

  it('statement ids are unique, and count up without a gap within their letter', () => {
    const ids = statements.map((match) => match[1]!);
    expect(ids.length).toBeGreaterThan(100);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const last = new Map<string, number>();
    for (const id of ids) {
      const [letter, number] = id.split('-') as [string, string];
      expect(Number(number), id).toBe((last.get(letter) ?? 0) + 1);
      last.set(letter, Number(number));
    }
  });

  it('every reference to a statement finds it', () => {
    const ids = new Set(statements.map((match) => match[1]!));
    const references = [...spec.matchAll(/\[([A-Z]-\d+)\]/g)].map((match) => match[1]!);
    expect(references.filter((id) => !ids.has(id))).toEqual([]);
  });

  it('every statement says MUST, SHOULD or MAY', () => {
    const silent = statements.filter(([, , body]) => !/\b(MUST|SHOULD|MAY)\b/.test(body!));
    expect(silent.map((match) => match[1])).toEqual([]);
  });

  it('every link of the contents leads to a heading', () => {
    const anchors = [...spec.matchAll(/^#+ (.*)$/gm)].map((match) =>
      match[1]!
        .toLowerCase()
        .replace(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = [...spec.matchAll(/\]\(#([^)]*)\)/g)].map((match) => match[1]!);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });

  it('each error code in src has exactly one heading, or one row among the codes that never concern the peer', () => {
    const errors = section('12 Error codes');
    const used = new Set(
      sources(new URL('src/', root)).flatMap((code) => code.match(/HB_ERR_[A-Z_]*[A-Z]/g) ?? []),
    );
    expect(used.size).toBeGreaterThan(5);
    const entries = [...errors.matchAll(/^(?:### |\| `)(HB_ERR_[A-Z_]+)/gm)].map((match) => match[1]!);
    expect(
      entries.filter((code, index) => entries.indexOf(code) !== index),
      'twice',
    ).toEqual([]);
    expect(
      [...used].filter((code) => !entries.includes(code)),
      'used in src, not in section 12',
    ).toEqual([]);
    const named = new Set(spec.match(/HB_ERR_[A-Z_]*[A-Z]/g));
    expect(
      [...named].filter((code) => !entries.includes(code)),
      'named in the text, not in section 12',
    ).toEqual([]);
  });
});

function sources(folder: URL): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return sources(new URL(`${entry.name}/`, folder));
    return entry.name.endsWith('.ts') ? [readFileSync(new URL(entry.name, folder), 'utf8')] : [];
  });
}
