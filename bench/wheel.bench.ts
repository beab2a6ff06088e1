/**
 * The timer wheel against Node's own timers, at 10 000, 100 000 and 1 000 000 timers with deadlines over 15 s.
 * `arm`, `rearm` and `cancel` take the timers in one order, their deadlines in none. `fire` runs 30 s in steps of a
 * tick: in order, each timer lies beside the one before it; shuffled, each is a miss of the processor's cache at a
 * million timers. The peer of arm, cancel and fire is creating and clearing a `setTimeout`; of rearm, `refresh()`. The
 * limit is a wheel in C that does the same to the same timers (c/wheel.c).
 */
import { TimerWheel } from '../src/time/index.ts';
import { cLimits } from './c-limit.ts';
import type { BenchContext, Rival, Row } from './harness.ts';

const TICK_MS = 10;
const SPREAD_MS = 15_000;
const TRIES = 6;

/** Distances to deadlines; the step shares no factor with the spread, so neighbours lie far apart. */
function distances(count: number, step: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => SPREAD_MS + ((i * step) % SPREAD_MS));
}

function nodeTimers({ quick, measure }: BenchContext): { create: Rival; refresh: Rival } {
  const count = quick ? 100 : 100_000;
  const timers: NodeJS.Timeout[] = [];
  const idle = (): void => {};
  const create = (): void => {
    for (let i = 0; i < count; i++) timers[i] = setTimeout(idle, SPREAD_MS + (i % 100));
  };
  const clear = (): void => {
    for (const timer of timers) clearTimeout(timer);
  };
  const pair = measure('setTimeout, clearTimeout', count, () => {
    create();
    clear();
  });
  create();
  const refresh = measure('refresh()', count, () => {
    for (const timer of timers) timer.refresh();
  });
  clear();
  return {
    create: { name: 'setTimeout and clear', nsPerOp: pair.nsPerOp },
    refresh: { name: 'refresh()', nsPerOp: refresh.nsPerOp },
  };
}

interface Parts {
  arm: number;
  rearm: number;
  cancel: number;
  'fire in order': number;
  'fire shuffled': number;
}

/**
 * Best time per timer of each part. Arming cannot be repeated without undoing it, so the parts are timed one by one
 * within a round that leaves its wheel empty; the first rounds warm up. Each part that fires has a wheel of its own,
 * because firing hands the places on in the order of deadlines.
 */
function wheelParts(count: number, tries: number): Parts {
  const payload = {};
  const handles = new Float64Array(count);
  const shuffled = distances(count, 7919);
  const moved = distances(count, 7907);
  const ordered = shuffled.slice().sort();
  const best: Parts = {
    arm: Infinity,
    rearm: Infinity,
    cancel: Infinity,
    'fire in order': Infinity,
    'fire shuffled': Infinity,
  };
  let fired = 0;
  const build = () => new TimerWheel<object>({ tickMs: TICK_MS, onExpire: () => void fired++ });
  const time = (part: keyof Parts, work: () => void): void => {
    const startedAt = process.hrtime.bigint();
    work();
    best[part] = Math.min(best[part], Number(process.hrtime.bigint() - startedAt) / count);
  };
  const arm = (wheel: TimerWheel<object>, nowMs: number, after: Float64Array): void => {
    for (let i = 0; i < count; i++) handles[i] = wheel.arm(nowMs + after[i]!, payload);
  };
  const wheel = build();
  for (let round = 0; round < tries; round++) {
    time('arm', () => arm(wheel, 0, shuffled));
    time('rearm', () => {
      for (let i = 0; i < count; i++) wheel.rearm(handles[i]!, moved[i]!);
    });
    time('cancel', () => {
      for (let i = 0; i < count; i++) wheel.cancel(handles[i]!);
    });
  }
  for (const [part, after] of [
    ['fire in order', ordered],
    ['fire shuffled', shuffled],
  ] as const) {
    const firing = build();
    let nowMs = 0;
    for (let round = 0; round < tries; round++) {
      arm(firing, nowMs, after);
      time(part, () => {
        for (const endMs = nowMs + 2 * SPREAD_MS; nowMs < endMs; ) firing.advance((nowMs += TICK_MS));
      });
    }
  }
  if (fired !== 2 * tries * count || wheel.size !== 0) throw new Error(`the wheel lost timers: ${fired}`);
  return best;
}

/** Array bytes per timer when `count` timers were armed. */
function arrayBytesPerTimer(count: number): number {
  const wheel = new TimerWheel<number>({ onExpire() {} });
  for (let i = 0; i < count; i++) wheel.arm(SPREAD_MS + i, i);
  return wheel.arrayBytes / count;
}

export default async function wheelRows(context: BenchContext): Promise<Row[]> {
  const { quick } = context;
  const { create, refresh } = nodeTimers(context);
  const limits = cLimits('wheel', quick);
  const rows: Row[] = [];
  for (const count of quick ? [100] : [10_000, 100_000, 1_000_000]) {
    const best = wheelParts(count, quick ? 1 : Math.max(TRIES, 1_000_000 / count));
    for (const part of Object.keys(best) as (keyof Parts)[]) {
      const name = `wheel ${part}, ${count} timers`;
      const peers = [part === 'rearm' ? refresh : create];
      rows.push({ name, nsPerOp: best[part], peers, limit: limits.of(name) });
    }
  }
  const count = quick ? 1000 : 1_000_000;
  const bytes = arrayBytesPerTimer(count).toFixed(1);
  console.error(
    `wheel memory: ${bytes} B of arrays per timer at ${count}, and 8 B for the payload reference`,
  );
  return rows;
}
