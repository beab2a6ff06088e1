/** Processes that do not run: the peer's, its workers, our own. Their kernels go on answering for them. */
import { machineNowMs } from '../program.ts';
import { BEAT, PATIENCE_MS, type Scenario, SILENT_PEER } from '../scenario.ts';
import { ending, linked, order, survival } from '../watching.ts';

const LONG_MS = 60_000;
/** The shortest the policy allows. */
const PROBE = Object.freeze({ probeEveryMs: 1_000, probeLimitMs: 1_000 });
/** How long the far end's last good result may still be handed out. */
const CHECK_REUSE_MS = 1_000;
const TIME_OUT_MS = BEAT.deadAfter * BEAT.intervalMs;

export const PROCESSES: readonly Scenario[] = [
  {
    name: 'own-stall',
    what: 'our own loop is blocked for four time-outs (F1, F3)',
    expected: () => 'we-were-late',
    async run(stage) {
      const { watcher } = await linked(stage, SILENT_PEER);
      const stallMs = 4 * TIME_OUT_MS;
      const sinceMs = await order(watcher, `block ${stallMs}`);
      const late = await watcher.need('self-late', PATIENCE_MS);
      const { found, broken } = await survival(watcher, 2 * TIME_OUT_MS);
      const told = found === 'alive' ? 'we-were-late' : found;
      return { found: told, tookMs: late.atMs - sinceMs, boundMs: stallMs, note: 'nobody killed', broken };
    },
  },
  {
    name: 'healthy',
    what: 'nothing happens for three time-outs',
    expected: () => 'alive',
    async run(stage) {
      const { watcher } = await linked(stage, BEAT);
      return survival(watcher, 3 * TIME_OUT_MS);
    },
  },
  {
    name: 'stuck-worker',
    what: 'workers are stuck, the heartbeat answers (F19)',
    expected: () => 'business-hung',
    async run(stage) {
      const { peer, watcher } = await linked(stage, BEAT, PROBE);
      const sinceMs = await order(peer, 'stick');
      const told = await watcher.find(
        ({ event, detail }) => event === 'closed' || (event === 'business' && detail.outcome !== 'ok'),
        PATIENCE_MS,
      );
      if (told === undefined) return { found: undefined, tookMs: PATIENCE_MS, boundMs: 0 };
      const found = told.detail.outcome === 'hung' ? 'business-hung' : told.event;
      const boundMs = CHECK_REUSE_MS + PROBE.probeEveryMs + PROBE.probeLimitMs;
      return { found, tookMs: told.atMs - sinceMs, boundMs };
    },
  },
  {
    name: 'stopped',
    what: 'the peer process is stopped (F17)',
    expected: () => 'process-hung',
    async run(stage) {
      const { peer, watcher } = await linked(stage, BEAT);
      peer.signal('SIGSTOP');
      return ending(watcher, machineNowMs());
    },
  },
  {
    name: 'blocked-loop',
    what: "the peer's event loop is blocked (F18)",
    expected: () => 'process-hung',
    async run(stage) {
      const { peer, watcher } = await linked(stage, BEAT);
      return ending(watcher, await order(peer, `block ${LONG_MS}`));
    },
  },
];
