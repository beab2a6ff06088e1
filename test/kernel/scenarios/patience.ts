/** How long the kernel itself waits, with heartbeats and without, beside what `explainTuning` says of it. */
import type { TuneOptions, TuningExplanation } from '../../../src/net/index.ts';
import type { Child } from '../child.ts';
import { asExplained, linkedAsExplained } from '../explained.ts';
import { loseAll } from '../faults.ts';
import { PATIENCE_MS, type Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { ending, order, spared } from '../watching.ts';

/** Beats slow enough for the kernel to be first. */
const SLOW = Object.freeze({ intervalMs: 1_500, deadAfter: 3 });
const USER_TIMEOUT_MS = 2_000;
/** In user space the queue is looked at eight times per time-out, and a stall is seen by the second look. */
const EMULATION_LATE_MS = USER_TIMEOUT_MS / 4;
/** More than the near kernel takes, so that without native calls there is a queue to look at. */
const DATA_BYTES = 8 * 2 ** 20;
/** The least that keepalive can be told; without native calls Node 20 and 22 make it ten questions. */
const KEEP_ALIVE = Object.freeze({ idleMs: 1_000, intervalMs: 1_000, count: 2 });

interface Plain {
  readonly socket: Child;
  readonly explained: TuningExplanation;
}

/** A plain socket without heartbeats, tuned, behind a black hole; and what is said about its patience. */
async function plain(stage: Stage, tune: TuneOptions): Promise<Plain> {
  const network = await stage.hosts('near', 'far');
  const { port } = await stage.peer('far', { role: 'swallow' });
  const socket = stage.plain({ host: network.address('far'), port, tune });
  const { detail } = await socket.need('tuned', PATIENCE_MS);
  await loseAll(stage);
  return { socket, explained: detail.explained as TuningExplanation };
}

export const PATIENCE: readonly Scenario[] = [
  {
    name: 'keepalive',
    what: 'no heartbeats, idle: keepalive, as explained',
    expected: () => 'link-dead',
    async run(stage) {
      const { socket, explained } = await plain(stage, { keepAlive: KEEP_ALIVE });
      const { ms, lateMs } = explained.idleWithoutBeats;
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
      const { socket, explained } = await plain(stage, { keepAlive: KEEP_ALIVE });
      return spared(socket, await order(socket, 'write 1000'), 1.25 * explained.idleWithoutBeats.ms);
    },
  },
  {
    name: 'user-timeout-alone',
    what: 'the same with a user time-out, as explained',
    // What the kernel has taken, only the kernel's own time-out sees.
    expected: (isNative) => (isNative ? 'link-dead' : 'alive'),
    async run(stage) {
      const tune = { keepAlive: KEEP_ALIVE, userTimeoutMs: USER_TIMEOUT_MS };
      const { socket, explained } = await plain(stage, tune);
      const { ms, lateMs } = explained.failures.dataInFlight.kernel;
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
    what: 'data in flight, a short user time-out: it is first, as explained',
    expected: () => 'link-dead',
    async run(stage) {
      const ends = await linkedAsExplained(stage, { ...SLOW, isMixed: true, userTimeout: USER_TIMEOUT_MS });
      await loseAll(stage);
      const sinceMs = await order(ends.watcher, `write ${DATA_BYTES}`);
      if (stage.isNative) {
        return asExplained(ends, 'dataInFlight', ends.explained.failures.dataInFlight.kernel, sinceMs);
      }
      const finding = await ending(ends.watcher, sinceMs, USER_TIMEOUT_MS + EMULATION_LATE_MS);
      const isFirst = finding.note?.includes('ETIMEDOUT') === true;
      return { ...finding, broken: isFirst ? finding.broken : 'the user time-out was not first' };
    },
  },
  {
    name: 'in-flight',
    what: 'data in flight, no user time-out: our verdict is first, as explained',
    expected: () => 'link-dead',
    async run(stage) {
      const ends = await linkedAsExplained(stage, { ...SLOW, isMixed: true });
      await loseAll(stage);
      await order(ends.watcher, 'write 1000');
      return asExplained(ends, 'dataInFlight');
    },
  },
  {
    name: 'user-timeout-idle',
    what: 'idle, a short user time-out: it counts from our next beat, as explained',
    expected: () => 'link-dead',
    async run(stage) {
      const ends = await linkedAsExplained(stage, { ...SLOW, deadAfter: 4, userTimeout: USER_TIMEOUT_MS });
      await loseAll(stage);
      return asExplained(ends, 'idle');
    },
  },
  {
    name: 'keepalive-mute',
    what: 'idle, keepalive shorter than the verdict: our beats silence it, as explained',
    expected: () => 'link-dead',
    async run(stage) {
      const ends = await linkedAsExplained(stage, { ...SLOW, deadAfter: 8, keepAlive: KEEP_ALIVE });
      await loseAll(stage);
      return asExplained(ends, 'idle');
    },
  },
  {
    name: 'keepalive-before-beat',
    what: 'idle, keepalive shorter than the interval: it is first, as warned',
    expected: () => 'link-dead',
    async run(stage) {
      const keepAlive = { ...KEEP_ALIVE, count: 1 };
      const ends = await linkedAsExplained(stage, { intervalMs: 4_000, deadAfter: 3, keepAlive });
      await loseAll(stage);
      const { findings, failures, idleWithoutBeats } = ends.explained;
      const isFirst = idleWithoutBeats.ms < ends.explained.intervalMs;
      const isWarned = findings.some(({ code }) => code === 'kernel-first');
      const finding = await asExplained(ends, 'idle', idleWithoutBeats);
      const isRight = isFirst === isWarned && failures.idle.foundBy === (isFirst ? 'either' : 'verdict');
      const isKernels = finding.note?.includes('ETIMEDOUT') === true;
      return { ...finding, broken: isRight && isKernels === isFirst ? finding.broken : 'not as warned' };
    },
  },
  {
    name: 'hung-tuned',
    what: 'a stopped process, keepalive and user time-out short: neither finds it, as explained (F17)',
    expected: () => 'process-hung',
    async run(stage) {
      const tuning = { keepAlive: KEEP_ALIVE, userTimeout: USER_TIMEOUT_MS };
      const ends = await linkedAsExplained(stage, { ...SLOW, ...tuning });
      ends.peer.signal('SIGSTOP');
      return asExplained(ends, 'hung');
    },
  },
];
