/**
 * Measures small operations and prints them beside their rivals.
 *
 * A figure is the best of several batches: on a shared machine noise only ever adds. Each batch is long enough
 * (40 ms) for the clock, and the code is warm before the first counts. Only ratios measured in one run mean
 * anything; the table therefore shows ours, an idiomatic way (peer) and C (limit) side by side.
 * `quick` does each thing once, so that tests can prove that the benches still run; its figures mean nothing.
 */
import { cpus } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Rival {
  readonly name: string;
  readonly nsPerOp: number;
}

/** One line of the table. `limit` is what C reaches; `bytesPerOp` is heap allocated per operation. */
export interface Row extends Rival {
  readonly peers: readonly Rival[];
  readonly limit?: Rival | undefined;
  readonly bytesPerOp?: number | undefined;
}

export interface BenchContext {
  readonly quick: boolean;
  /** Time `run`, which does `operationsPerRun` operations. */
  measure(
    name: string,
    operationsPerRun: number,
    run: () => void,
  ): { nsPerOp: number; medianNsPerOp: number };
  /** Heap bytes `run` allocates per operation once warm, garbage included. */
  allocated(operationsPerRun: number, run: () => void): number;
}

export type Bench = (context: BenchContext) => Promise<Row[]>;

const BATCH_NS = 40e6;
const BATCHES = 9;
const WARM_UP_NS = 100e6;
const ALLOCATION_TRIES = 7;

function elapsedNs(run: () => void, times: number): number {
  const startedAt = process.hrtime.bigint();
  for (let index = 0; index < times; index++) run();
  return Number(process.hrtime.bigint() - startedAt);
}

/** The larger of the two middle values when there is no middle one. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** How many runs fill a batch, judged after a warm-up long enough for the optimising compiler. */
function calibrate(run: () => void): number {
  let times = 1;
  let spentNs = 0;
  for (;;) {
    const ns = Math.max(1, elapsedNs(run, times));
    spentNs += ns;
    if (spentNs >= WARM_UP_NS) return Math.max(1, Math.ceil((BATCH_NS * times) / ns));
    if (ns < WARM_UP_NS / 4) times *= 2;
  }
}

function measure(quick: boolean, operationsPerRun: number, run: () => void) {
  const times = quick ? 1 : calibrate(run);
  const figures: number[] = [];
  for (let batch = 0; batch < (quick ? 1 : BATCHES); batch++) {
    figures.push(elapsedNs(run, times) / (times * operationsPerRun));
  }
  return { nsPerOp: Math.min(...figures), medianNsPerOp: median(figures) };
}

let collect: (() => void) | undefined;

/** A full collection, whether or not Node was started with --expose-gc. */
function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
}

/** Growth of the used heap over one run: a run must allocate less than the young generation holds. */
function heapGrowth(run: () => void): number {
  collectGarbage();
  const before = getHeapStatistics().used_heap_size;
  run();
  return getHeapStatistics().used_heap_size - before;
}

function allocated(quick: boolean, operationsPerRun: number, run: () => void): number {
  if (!quick) calibrate(run);
  const growths: number[] = [];
  const idle: number[] = [];
  for (let attempt = 0; attempt < (quick ? 1 : ALLOCATION_TRIES); attempt++) {
    growths.push(heapGrowth(run));
    idle.push(heapGrowth(() => {}));
  }
  const bytes = Math.max(0, median(growths) - median(idle)) / operationsPerRun;
  return Math.round(bytes * 10) / 10;
}

export function benchContext(quick: boolean): BenchContext {
  return {
    quick,
    measure: (_name, operationsPerRun, run) => measure(quick, operationsPerRun, run),
    allocated: (operationsPerRun, run) => allocated(quick, operationsPerRun, run),
  };
}

/** What a reader needs to judge the figures by. */
export function machineLine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  return `${processors.length} x ${model}, ${process.platform} ${process.arch}, Node ${process.version}`;
}

const figure = (ns: number): string => (ns >= 100 ? ns.toFixed(0) : ns.toFixed(ns >= 10 ? 1 : 2));
const ratio = (value: number): string => `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}x`;

/** The table: one line per row, and one more for each further peer. */
export function formatTable(rows: readonly Row[]): string {
  const head = ['ns per operation', 'ours', 'peer', '', 'peer/ours', 'limit (C)', 'ours/limit', 'B/op'];
  const cells: string[][] = [head];
  for (const { name, nsPerOp, peers, limit, bytesPerOp } of rows) {
    const [first, ...more] = peers;
    const peerCells = (peer: Rival): string[] => [
      peer.name,
      figure(peer.nsPerOp),
      ratio(peer.nsPerOp / nsPerOp),
    ];
    const limitCells = limit ? [figure(limit.nsPerOp), ratio(nsPerOp / limit.nsPerOp)] : ['-', '-'];
    const bytes = bytesPerOp === undefined ? '-' : String(bytesPerOp);
    cells.push([
      name,
      figure(nsPerOp),
      ...(first ? peerCells(first) : ['-', '-', '-']),
      ...limitCells,
      bytes,
    ]);
    for (const peer of more) cells.push(['', '', ...peerCells(peer), '', '', '']);
  }
  const widths = head.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  const textColumns = new Set([0, 2]);
  return cells
    .map((line) =>
      line
        .map((cell, at) => (textColumns.has(at) ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
