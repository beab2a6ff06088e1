/** A load run in this process, where its parts can be looked at. */
import { describe, expect, test } from 'vitest';
import { LoadRun, type RunOptions, warmUpOf } from '../../src/cli/load/run.ts';
import { createEchoServer } from '../../src/server/index.ts';
import { eventually } from '../support/sockets.ts';

const OPTIONS: Omit<RunOptions, 'destinations'> = {
  ...{ tls: undefined, links: 5, intervalMs: 100, deadAfter: 5, durationMs: 60_000, perSecond: 1_000 },
  ...{ inFlight: 5, waitMs: 2_000, end: 'reset', comesBack: false },
};

async function running() {
  const server = createEchoServer({ intervalMs: 1_000 });
  const { port } = (await server.listen()) as { port: number };
  const run = new LoadRun({ ...OPTIONS, destinations: [{ host: '127.0.0.1', port }] });
  let interrupt = (): void => {};
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  const done = run.carryOut(interrupted);
  await eventually(() => run.live === OPTIONS.links, 'all links');
  return {
    ...{ server, run },
    async end(): Promise<void> {
      interrupt();
      await done;
      await server.close();
    },
  };
}

describe('the count of what was asked and answered', () => {
  test('has the links that were lost', async () => {
    const { server, run, end } = await running();
    await eventually(() => run.tally.answers > 75, 'some fifteen answers on each');
    const [theirs] = server.hub.links();
    theirs!.pause();
    const owes = () => [...run.hub.links()].some((link) => link.stats().unanswered >= 3);
    await eventually(owes, 'three questions that nobody answers');
    theirs!.destroy();
    await eventually(() => run.live === OPTIONS.links - 1, 'the loss');
    await end();
    const { pingsSent, pongsMatched } = run.hub.stats();
    // Between the count and the end of all links each may ask once more, and answers may be under way.
    expect(run.sent).toBeLessThanOrEqual(pingsSent);
    expect(run.sent).toBeGreaterThan(pingsSent - 2 * OPTIONS.links);
    expect(run.unanswered).toBeGreaterThanOrEqual(3);
    expect(run.unanswered).toBeLessThan(3 + 2 * OPTIONS.links);
    expect(run.sent - run.unanswered).toBeLessThanOrEqual(pongsMatched);
    expect(run.tally.losses).toBe(1);
  });

  test('ends with the measurement: a late answer is an answer, but no round trip', async () => {
    const { run, end } = await running();
    await end();
    const before = run.tally.rtt.maxMs;
    run.tally.answered(10_000, performance.now());
    expect(run.tally.rtt.maxMs).toEqual(before);
  });
});

test.each([
  [1_000, 30_000, 5_000],
  [15_000, 60_000, 15_000],
  [1_000, 4_000, 2_000],
  [15_000, 20_000, 10_000],
])('of T %i ms and %i ms the first %i ms are warm-up', (intervalMs, durationMs, expected) => {
  expect(warmUpOf(intervalMs, durationMs)).toBe(expected);
});
