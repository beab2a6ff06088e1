/** F19: the application's check, asked by many links: one run at a time, a limit, and a result good for one second. */
import { describe, expect, it } from 'vitest';
import { type Check, CheckRunner } from '../../src/net/check-runner.ts';
import type { WheelEntry } from '../../src/time/probes.ts';
import { Scheduler } from '../../src/time/scheduler.ts';
import { VirtualHost } from '../time/virtual-host.ts';

interface Run {
  readonly signal: AbortSignal;
  readonly end: (passed: boolean) => void;
  readonly fail: (error: unknown) => void;
}

function checking(limitMs = 3000) {
  const host = new VirtualHost();
  const scheduler = new Scheduler<WheelEntry>({ clock: host, host, onExpire: (entry) => entry.wake(false) });
  const runner = new CheckRunner(scheduler);
  const runs: Run[] = [];
  const check: Check = (signal) =>
    new Promise((end, fail) => {
      runs.push({ signal, end, fail });
    });
  const answers: boolean[] = [];
  const ask = (which: Check = check): void => runner.ask(which, limitMs, (passed) => answers.push(passed));
  const pass = (ms: number): number => host.runUntil(host.nowMs + ms);
  return { host, scheduler, runs, answers, ask, pass };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

describe('a check', () => {
  it('is one run for all who ask while it lasts', async () => {
    const { runs, answers, ask } = checking();
    for (let link = 0; link < 10_000; link++) ask();
    expect([runs.length, answers.length]).toEqual([1, 0]);
    runs[0]!.end(true);
    await settled();
    expect(answers).toEqual(Array(10_000).fill(true));
  });

  it.each([true, false])(
    'its result (%s) is good for one second, and not a millisecond longer',
    async (passed) => {
      const { runs, answers, ask, pass } = checking();
      ask();
      runs[0]!.end(passed);
      await settled();
      pass(1000);
      ask();
      expect([runs.length, answers]).toEqual([1, [passed, passed]]);
      pass(1);
      ask();
      expect([runs.length, answers.length]).toEqual([2, 2]);
      runs[1]!.end(!passed);
      await settled();
      expect(answers.at(-1)).toBe(!passed);
    },
  );

  it.each([
    ['resolves true', () => Promise.resolve(true), true],
    ['returns true', () => true, true],
    ['resolves false', () => Promise.resolve(false), false],
    ['returns nothing', () => undefined, false],
    ['says yes in another way', () => 1, false],
    ['rejects', () => Promise.reject(new Error('down')), false],
    [
      'throws',
      () => {
        throw new Error('down');
      },
      false,
    ],
  ])('that %s: %s', async (_title, check, want) => {
    const { answers, ask } = checking();
    ask(check as Check);
    await settled();
    expect(answers).toEqual([want]);
  });

  it('beyond its limit it has failed, is told to stop, and no second run joins it', async () => {
    const { runs, answers, ask, pass, scheduler } = checking();
    ask();
    pass(2990);
    expect(answers).toEqual([]);
    pass(10);
    expect(answers).toEqual([false]);
    expect(runs[0]!.signal.aborted).toBe(true);
    expect(scheduler.size).toBe(0);
    for (let minute = 0; minute < 60; minute++) {
      pass(60_000); // it never settles
      ask();
    }
    expect(runs.length).toBe(1);
    expect(answers).toEqual(Array(61).fill(false));
  });

  it('what it says after its limit is not heard, but the next may run then', async () => {
    const { runs, answers, ask, pass } = checking();
    ask();
    pass(3000);
    runs[0]!.end(true);
    await settled();
    ask(); // within a second of the failure
    expect(answers).toEqual([false, false]);
    pass(1001);
    ask();
    expect(runs.length).toBe(2);
    runs[1]!.end(true);
    await settled();
    expect(answers).toEqual([false, false, true]);
  });

  it('a run that ends in time is not told to stop, and leaves no timer', async () => {
    const { runs, ask, scheduler, pass } = checking();
    ask();
    runs[0]!.fail(new Error('down'));
    await settled();
    pass(10_000);
    expect([runs[0]!.signal.aborted, scheduler.size]).toEqual([false, 0]);
  });

  it('different checks do not wait for each other', async () => {
    const { answers, ask } = checking();
    ask();
    ask(() => true);
    await settled();
    expect(answers).toEqual([true]);
  });
});
