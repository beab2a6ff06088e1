/** How long the kernel itself waits, with heartbeats and without, beside what `explainTuning` says of it. */
import type { TuneOptions, TuningExplanation } from '../../../src/net/index.ts';
import type { Child } from '../child.ts';
import { loseAll } from '../faults.ts';
import { BEAT, PATIENCE_MS, type Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { ending, linked, order, spared } from '../watching.ts';

/** Beats slow enough for the kernel to be first. */
const SLOW = Object.freeze({ intervalMs: 1_500, deadAfter: 3 });
const USER_TIMEOUT_MS = 2_000;
/** Linux counts it from the first retransmission, which comes after a tail probe and a time-out, 200 ms each. */
const FIRST_RETRANSMISSION_MS = 400;
/** In user space the queue is looked at eight times per time-out, and a stall is seen by the second look. */
const EMULATION_LATE_MS = USER_TIMEOUT_MS / 4;
/** More than the near kernel takes, so that without native calls there is a queue to look at. */
const DATA_BYTES = 8 * 2 ** 20;
/** The least that keepalive can be told; without native calls Node 20 and 22 make it ten questions. */
const KEEP_ALIVE = Object.freeze({ idleMs: 1_000, intervalMs: 1_000, count: 2 });

interface Plain {
  readonly socket: Child;
  readonly failures: TuningExplanation['failures'];
}

/** A plain socket without heartbeats, tuned, behind a black hole; and what is said about its patience. */
async function plain(stage: Stage, tune: TuneOptions): Promise<Plain> {
  const network = await stage.hosts('near', 'far');
  const { port } = await stage.peer('far', { role: 'swallow' });
  const socket = stage.plain({ host: network.address('far'), port, tune });
  const { detail } = await socket.need('tuned', PATIENCE_MS);
  await loseAll(stage);
  return { socket, failures: (detail.explained as TuningExplanation).failures };
}

export const PATIENCE: readonly Scenario[] = [
  {
    name: 'keepalive',
    what: 'no heartbeats, idle: keepalive, as explained',
    expected: () => 'link-dead',
    async run(stage) {
      const { socket, failures } = await plain(stage, { keepAlive: KEEP_ALIVE });
      const { ms, lateMs } = failures.idle.kernel;
      // The last packet came between these two.
      const { atMs: dialledMs } = await socket.need('dials', PATIENCE_MS);
      const { atMs: connectedMs } = await socket.need('connected', PATIENCE_MS);
      const finding = await ending(socket, connectedMs, ms + lateMs);
      const isEarly = finding.tookMs + connectedMs - dialledMs < ms;
      return { ...finding, broken: isEarly ? `sooner than the ${ms} ms explained` : finding.broken };
    },
  },
  {
    name: 'keepalive-in-flight',
    what: 'no heartbeats, data in flight: keepalive is mute (F22)',
    expected: () => 'alive',
    async run(stage) {
      const { socket, failures } = await plain(stage, { keepAlive: KEEP_ALIVE });
      return spared(socket, await order(socket, 'write 1000'), 1.25 * failures.idle.kernel.ms);
    },
  },
  {
    name: 'user-timeout-alone',
    what: 'the same with a user time-out, as explained',
    // What the kernel has taken, only the kernel's own time-out sees.
    expected: (isNative) => (isNative ? 'link-dead' : 'alive'),
    async run(stage) {
      const tune = { keepAlive: KEEP_ALIVE, userTimeoutMs: USER_TIMEOUT_MS };
      const { socket, failures } = await plain(stage, tune);
      const { ms, lateMs } = failures.dataInFlight.kernel;
      const sinceMs = await order(socket, 'write 1000');
      if (ms > PATIENCE_MS) return spared(socket, sinceMs, 2 * USER_TIMEOUT_MS);
      const finding = await ending(socket, sinceMs, ms + lateMs);
      return {
        ...finding,
        broken: finding.tookMs < ms ? `sooner than the ${ms} ms explained` : finding.broken,
      };
    },
  },
  {
    name: 'user-timeout',
    what: 'data in flight, a short user time-out: it is first',
    expected: () => 'link-dead',
    async run(stage) {
      const options = { ...SLOW, isMixed: true, userTimeout: USER_TIMEOUT_MS };
      const { watcher } = await linked(stage, { ...BEAT, deadAfter: 100 }, options);
      await loseAll(stage);
      const sinceMs = await order(watcher, `write ${DATA_BYTES}`);
      const lateMs = stage.isNative ? FIRST_RETRANSMISSION_MS : EMULATION_LATE_MS;
      const finding = await ending(watcher, sinceMs, USER_TIMEOUT_MS + lateMs);
      const isFirst = finding.note?.includes('ETIMEDOUT') === true;
      return { ...finding, broken: isFirst ? finding.broken : 'the user time-out was not first' };
    },
  },
  {
    name: 'in-flight',
    what: 'data in flight, no user time-out: our verdict is first',
    expected: () => 'link-dead',
    async run(stage) {
      const { watcher } = await linked(stage, BEAT, { isMixed: true });
      await loseAll(stage);
      const finding = await ending(watcher, await order(watcher, 'write 1000'));
      const isFirst = finding.note?.includes('ETIMEDOUT') !== true;
      return { ...finding, broken: isFirst ? finding.broken : 'the kernel was first' };
    },
  },
];
