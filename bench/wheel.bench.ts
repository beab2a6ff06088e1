/**
 * The timer wheel against Node's own timers: arm, cancel and fire at 10 000, 100 000 and 1 000 000 timers, and the
 * memory of one timer. Deadlines are spread over 15 s in no order, as heartbeats are. Peers: creating a `setTimeout`
 * beside as many others, `refresh()` of one, and clearing one.
 */
import { TimerWheel } from '../src/time/index.ts';

interface Figure {
  name: string;
  nsPerOp: number;
}
interface Context {
  quick: boolean;
  measure(name: string, operationsPerRun: number, run: () => void): { nsPerOp: number };
}

const TICK_MS = 10;
const SPREAD_MS = 15_000;

/** Distances to deadlines, shuffled by a step that shares no factor with the spread. */
function distances(count: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => SPREAD_MS + ((i * 7919) % SPREAD_MS));
}

function nodeTimers({ quick, measure }: Context): { create: Figure; refresh: Figure; clear: Figure } {
  const count = quick ? 100 : 100_000;
  const timers: NodeJS.Timeout[] = [];
  const idle = (): void => {};
  const clear = (): void => {
    for (const timer of timers) clearTimeout(timer);
  };
  const create = (): void => {
    for (let i = 0; i < count; i++) timers[i] = setTimeout(idle, SPREAD_MS + (i % 100));
  };
  const createAndClear = measure('setTimeout create and clear', count, () => {
    create();
    clear();
  });
  create();
  const refresh = measure('setTimeout refresh()', count, () => {
    for (const timer of timers) timer.refresh();
  });
  clear();
  return {
    create: { name: 'setTimeout create and clear', nsPerOp: createAndClear.nsPerOp },
    refresh: { name: 'setTimeout refresh()', nsPerOp: refresh.nsPerOp },
    clear: { name: 'setTimeout create and clear', nsPerOp: createAndClear.nsPerOp },
  };
}

/** Bytes one timer adds, arrays and payload references, at `count` timers. Needs --expose-gc to be exact. */
function bytesPerTimer(count: number): number {
  globalThis.gc?.();
  const before = process.memoryUsage();
  const wheel = new TimerWheel<number>({ onExpire() {} });
  for (let i = 0; i < count; i++) wheel.arm(SPREAD_MS + i, i);
  globalThis.gc?.();
  const after = process.memoryUsage();
  const bytes = after.arrayBuffers - before.arrayBuffers + (after.heapUsed - before.heapUsed);
  return wheel.size === count ? bytes / count : Number.NaN;
}

export default async function wheelRows(context: Context) {
  const { quick, measure } = context;
  const node = nodeTimers(context);
  const rows: { name: string; nsPerOp: number; peers: Figure[] }[] = [];
  for (const count of quick ? [10, 100] : [10_000, 100_000, 1_000_000]) {
    let fired = 0;
    let nowMs = 0;
    const wheel = new TimerWheel<object>({ tickMs: TICK_MS, onExpire: () => void fired++ });
    const after = distances(count);
    const handles = new Float64Array(count);
    const payload = {};
    const armAll = (): void => {
      for (let i = 0; i < count; i++) handles[i] = wheel.arm(nowMs + after[i]!, payload);
    };
    const cancelAll = (): void => {
      for (let i = 0; i < count; i++) wheel.cancel(handles[i]!);
    };
    const fireAll = (): void => {
      for (const endMs = nowMs + 2 * SPREAD_MS; nowMs < endMs; ) wheel.advance((nowMs += TICK_MS));
    };
    // A run must leave the wheel as it found it, so pairs are measured and the parts told apart by timing one.
    const parts = { arm: 0, cancel: 0, fire: 0 };
    const timed = (part: keyof typeof parts, work: () => void): void => {
      const started = process.hrtime.bigint();
      work();
      const ns = Number(process.hrtime.bigint() - started) / count;
      if (parts[part] === 0 || ns < parts[part]) parts[part] = ns;
    };
    measure(`wheel arm, cancel, arm, fire at ${count}`, 4 * count, () => {
      timed('arm', armAll);
      timed('cancel', cancelAll);
      armAll();
      timed('fire', fireAll);
    });
    armAll();
    const rearm = measure(`wheel rearm at ${count}`, count, () => {
      for (let i = 0; i < count; i++) wheel.rearm(handles[i]!, nowMs + after[count - 1 - i]!);
    });
    if (fired === 0 || wheel.size !== count) throw new Error('the wheel bench lost timers');
    rows.push(
      { name: `wheel arm at ${count}`, nsPerOp: parts.arm, peers: [node.create] },
      { name: `wheel cancel at ${count}`, nsPerOp: parts.cancel, peers: [node.clear] },
      { name: `wheel fire at ${count}`, nsPerOp: parts.fire, peers: [node.create] },
      { name: `wheel rearm at ${count}`, nsPerOp: rearm.nsPerOp, peers: [node.refresh] },
    );
  }
  const count = quick ? 1000 : 1_000_000;
  console.log(
    `wheel: ${bytesPerTimer(count).toFixed(1)} bytes per timer at ${count} (8 of them the payload)`,
  );
  return rows;
}
