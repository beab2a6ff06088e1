/** Periodic jobs on the wheel: period, phase, limit, no overlap, catching up, stopping. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Probe, type ProbeOptions, type ProbeResult, type WheelEntry } from '../../src/time/probes.ts';
import { Scheduler } from '../../src/time/scheduler.ts';
import { VirtualHost } from './virtual-host.ts';

interface Run {
  readonly startedMs: number;
  readonly signal: AbortSignal;
  readonly end: (value?: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** A probe in a virtual loop that begins at 1 000 ms, its runs (ended by hand) and its results. */
function probing(more: Partial<ProbeOptions> = {}) {
  const host = new VirtualHost();
  const scheduler = new Scheduler<WheelEntry>({ clock: host, host, onExpire: (entry) => entry.wake(false) });
  const runs: Run[] = [];
  const results: ProbeResult[] = [];
  const probe = new Probe(scheduler, {
    name: 'disk',
    periodMs: 1000,
    run: (signal) =>
      new Promise((resolve, reject) => {
        runs.push({ startedMs: host.nowMs, signal, end: resolve, fail: reject });
      }),
    onResult: (result) => results.push(result),
    ...more,
  });
  /** Let time pass, and promises settle at each end of it. */
  const pass = async (ms: number): Promise<void> => {
    host.runUntil(host.nowMs + ms);
    await settled();
  };
  return { host, scheduler, probe, runs, results, pass };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

/** Runs that end as soon as they begin. */
const AT_ONCE = { run: () => undefined };

describe('when a probe runs', () => {
  it('from one period after its making on, a period from start to start', async () => {
    const started: number[] = [];
    const { pass, host } = probing({ run: () => started.push(host.nowMs) });
    for (let turn = 0; turn < 50; turn++) await pass(100);
    expect(started).toEqual([2000, 3000, 4000, 5000, 6000]);
  });

  it.each([0, 1, 370, 5000])('with a phase of %i ms: that long after now', async (phaseMs) => {
    const started: number[] = [];
    const { pass, host } = probing({ phaseMs, run: () => started.push(host.nowMs) });
    for (let turn = 0; turn < 80; turn++) await pass(100);
    expect(started[0]).toBe(1000 + Math.max(1, Math.ceil(phaseMs / 10) * 10 || 1));
    expect(started[1]! - (1000 + phaseMs + 1000)).toBeLessThan(10);
  });

  it('many probes of one scheduler keep their own periods', async () => {
    const { scheduler, pass } = probing(AT_ONCE);
    const counts = [10, 70, 250].map((periodMs) => {
      const count = { periodMs, runs: 0 };
      new Probe(scheduler, { name: `every ${periodMs}`, periodMs, run: () => count.runs++ });
      return count;
    });
    for (let turn = 0; turn < 3500; turn++) await pass(1);
    expect(counts.map(({ runs }) => runs)).toEqual([350, 50, 14]);
  });

  it('a late process catches up with one run, and keeps its phase', async () => {
    const started: number[] = [];
    const { host, pass } = probing({ run: () => started.push(host.nowMs) });
    await pass(1000);
    host.nowMs += 7300;
    await pass(0);
    for (let turn = 0; turn < 20; turn++) await pass(100);
    expect(started).toEqual([2000, 9300, 10_000, 11_000]);
  });

  it('a run that is not over lets turns go by: never two at a time', async () => {
    const { probe, runs, pass } = probing({ limitMs: 60_000 });
    await pass(4500);
    expect([runs.length, probe.skipped, probe.isRunning]).toEqual([1, 3, true]);
    runs[0]!.end();
    await settled();
    expect(probe.isRunning).toBe(false);
    await pass(1000);
    expect(runs.map(({ startedMs }) => startedMs)).toEqual([2000, 6000]);
  });
});

describe('what it found', () => {
  it('success and failure, with times, and failures in a row', async () => {
    const { probe, runs, results, pass } = probing();
    const reason = new Error('disk is full');
    const endings: ((run: Run) => void)[] = [
      (run) => run.end(),
      (run) => run.fail(reason),
      (run) => run.end(false),
      (run) => run.fail(undefined),
      (run) => run.end(0),
    ];
    await pass(1000);
    for (const [index, end] of endings.entries()) {
      await pass(40);
      end(runs[index]!);
      await settled();
      await pass(960);
    }
    expect(results.map(({ ok, failures }) => [ok, failures])).toEqual([
      [true, 0],
      [false, 1],
      [false, 2],
      [false, 3],
      [true, 0],
    ]);
    expect(results[0]).toEqual({ name: 'disk', ok: true, startedMs: 2000, durationMs: 40, failures: 0 });
    expect(results[1]!.error).toBe(reason);
    expect(results.slice(2, 4).map(({ error }) => (error as { code: string }).code)).toEqual([
      'HB_ERR_PROBE_FAILED',
      'HB_ERR_PROBE_FAILED',
    ]);
    expect(probe.last).toBe(results[4]);
  });

  it('a job that throws has failed', async () => {
    const { results, pass } = probing({
      run: () => {
        throw new Error('no such file');
      },
    });
    await pass(1000);
    await pass(1000);
    expect(results.map(({ failures, error }) => [failures, (error as Error).message])).toEqual([
      [1, 'no such file'],
      [2, 'no such file'],
    ]);
  });

  it('beyond its limit it has failed at once and is told; what it says later is not heard', async () => {
    const { probe, runs, results, pass } = probing({ limitMs: 300 });
    await pass(1290);
    expect(results).toEqual([]);
    expect(runs[0]!.signal.aborted).toBe(false);
    await pass(10);
    expect(results[0]).toMatchObject({
      ok: false,
      failures: 1,
      durationMs: 300,
      error: { code: 'HB_ERR_PROBE_LIMIT' },
    });
    expect(runs[0]!.signal.aborted).toBe(true);
    expect(runs[0]!.signal.reason).toBe(results[0]!.error);
    expect(probe.isRunning).toBe(true); // it has not ended, whatever we told it
    await pass(1000);
    expect([runs.length, probe.skipped]).toEqual([1, 1]);
    runs[0]!.end();
    await settled();
    await pass(900);
    expect([runs.length, results.length]).toEqual([2, 1]);
  });

  it('a listener that throws does not end the probe', async () => {
    const { host, runs, pass } = probing({
      limitMs: 100,
      onResult: () => {
        throw new Error('a listener');
      },
    });
    host.runUntil(2000);
    expect(() => host.runUntil(2100)).toThrow('a listener');
    runs[0]!.end();
    await settled();
    await pass(950);
    expect(runs.length).toBe(2);
  });
});

describe('a listener that throws when a run has ended', () => {
  const strangers = process.listeners('unhandledRejection');
  const thrown: unknown[] = [];

  beforeEach(() => {
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', (error) => thrown.push(error));
  });

  afterEach(() => {
    process.removeAllListeners('unhandledRejection');
    for (const listener of strangers) process.on('unhandledRejection', listener);
  });

  it('goes uncaught, and the probe goes on', async () => {
    const failure = new Error('a listener');
    const { runs, pass } = probing({
      onResult: () => {
        throw failure;
      },
    });
    await pass(1000);
    runs[0]!.end();
    await new Promise((resolve) => setImmediate(resolve));
    await pass(1000);
    expect([thrown, runs.length]).toEqual([[failure], 2]);
  });
});

describe('stopping', () => {
  it('ends a run under way through its signal, drops its result, and leaves no timer', async () => {
    const { host, scheduler, probe, runs, results, pass } = probing();
    await pass(1500);
    probe.stop();
    probe.stop();
    expect(runs[0]!.signal.aborted).toBe(true);
    runs[0]!.end();
    await settled();
    await pass(5000);
    expect([runs.length, results, scheduler.size, host.timeouts.length]).toEqual([1, [], 0, 0]);
    expect([probe.isStopped, probe.isRunning, probe.last]).toEqual([true, false, undefined]);
  });

  it('an AbortSignal does the same, and is let go by stop', async () => {
    const controller = new AbortController();
    const { scheduler, probe, runs, pass } = probing({ signal: controller.signal });
    await pass(1500);
    controller.abort();
    expect([probe.isStopped, runs[0]!.signal.aborted, scheduler.size]).toEqual([true, true, 0]);
    const aborted = probing({ signal: controller.signal, phaseMs: 0 });
    await aborted.pass(5000);
    expect([aborted.probe.isStopped, aborted.runs, aborted.scheduler.size]).toEqual([true, [], 0]);
  });

  it.each(['run', 'onResult'])('from inside %s', async (where) => {
    let runs = 0;
    let results = 0;
    const all = probing({
      run: () => {
        runs++;
        if (where === 'run') all.probe.stop();
      },
      onResult: () => {
        results++;
        all.probe.stop();
      },
    });
    await all.pass(1000);
    await all.pass(5000);
    expect([runs, results, all.scheduler.size]).toEqual([1, where === 'run' ? 0 : 1, 0]);
  });

  it('from inside onResult at the limit, when the next turn is due in the same wake', async () => {
    const all = probing({ onResult: () => all.probe.stop() });
    await all.pass(1000);
    await all.pass(1000); // limit and period end together
    expect([all.runs.length, all.scheduler.size]).toEqual([1, 0]);
  });
});

describe('misuse', () => {
  it.each([
    [{ name: '' }, 'name must be'],
    [{ periodMs: 9 }, 'periodMs must be'],
    [{ periodMs: 2 ** 31 + 1 }, 'periodMs must be'],
    [{ limitMs: 0 }, 'limitMs must be'],
    [{ phaseMs: -1 }, 'phaseMs must be'],
    [{ run: 5 }, 'run must be'],
    [{ every: 5 }, 'options.every'],
  ])('%j is refused by name', (more, message) => {
    expect(() => probing(more as never)).toThrow(message);
  });

  it('at the limits it is taken', () => {
    expect(probing({ periodMs: 10, limitMs: 1, phaseMs: 0 }).probe.name).toBe('disk');
    expect(probing({ periodMs: 2 ** 31, limitMs: 2 ** 31, phaseMs: 2 ** 31 }).probe.name).toBe('disk');
  });
});
