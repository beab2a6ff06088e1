/**
 * Reads a table of /proc/net piece by piece and finds some connections in it. The kernel writes at most a page per
 * read and needs about 3.5 us per connection for it, in the thread pool. Stops as soon
 * as all were found.
 */
import { close, open, read } from 'node:fs';
import type { KernelFigures } from './evidence.ts';
import { keyOfLine, type ProcTable, parseProcLine } from './proc-net.ts';

/** What the kernel hands out at once. */
const PAGE_BYTES = 4_096;
const FILES: Readonly<Record<ProcTable, string>> = { tcp: '/proc/net/tcp', tcp6: '/proc/net/tcp6' };

export type OnFound = (key: string, figures: KernelFigures) => void;

/** Reads `table` for the connections in `keys`, each told as it is found; `done` gets an error if it cannot be read. */
export type ReadTable = (
  table: ProcTable,
  keys: ReadonlySet<string>,
  onFound: OnFound,
  done: (error: NodeJS.ErrnoException | null) => void,
) => void;

/** Finds lines in text that comes in pieces. */
export class LineSearch {
  readonly #table: ProcTable;
  readonly #keys: ReadonlySet<string>;
  readonly #onFound: OnFound;
  #missing: number;
  #rest = '';

  constructor(table: ProcTable, keys: ReadonlySet<string>, onFound: OnFound) {
    this.#table = table;
    this.#keys = keys;
    this.#onFound = onFound;
    this.#missing = keys.size;
  }

  get isComplete(): boolean {
    return this.#missing <= 0;
  }

  push(piece: string): void {
    const text = this.#rest + piece;
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#look(text.slice(from, end));
      from = end + 1;
    }
    this.#rest = text.slice(from);
  }

  #look(line: string): void {
    const key = keyOfLine(line, this.#table);
    if (!this.#keys.has(key)) return;
    const figures = parseProcLine(line, this.#table);
    if (figures === undefined) return;
    this.#missing--;
    this.#onFound(key, figures);
  }
}

export const readProcTable: ReadTable = (table, keys, onFound, done) => {
  open(FILES[table], 'r', (openError, fd) => {
    if (openError !== null) {
      done(openError);
      return;
    }
    const search = new LineSearch(table, keys, onFound);
    const page = Buffer.allocUnsafe(PAGE_BYTES);
    const next = (): void =>
      read(fd, page, 0, PAGE_BYTES, null, (error, bytes) => {
        if (error === null && bytes > 0) search.push(page.toString('latin1', 0, bytes));
        if (error === null && bytes > 0 && !search.isComplete) next();
        else close(fd, () => done(error));
      });
    next();
  });
};
