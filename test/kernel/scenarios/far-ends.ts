/** Far ends that take the connection and do not do their part, do it slowly, or say goodbye. */

import type { Child } from '../child.ts';
import type { PeerOptions } from '../peer.ts';
import { BEAT, PATIENCE_MS, type Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { ending, linked, order, spared } from '../watching.ts';

/** What a slow reader does not take within the scenario; the host protocol's frames end at 16 MiB. */
const FLOOD_BYTES = 15 * 2 ** 20;
/** Least, first and largest buffer of a socket: what is written shall wait in the process, not in the kernels. */
const SMALL_BUFFERS = '4096 65536 65536';

async function connected(stage: Stage, role: PeerOptions['role'], isMixed: boolean): Promise<Child> {
  const network = await stage.hosts('near', 'far');
  await network.set('near', 'net/ipv4/tcp_wmem', SMALL_BUFFERS);
  await network.set('far', 'net/ipv4/tcp_rmem', SMALL_BUFFERS);
  const { port } = await stage.peer('far', { role });
  const watcher = stage.watcher({ ...BEAT, isMixed, host: network.address('far'), port });
  await watcher.need('connected', PATIENCE_MS);
  return watcher;
}

export const FAR_ENDS: readonly Scenario[] = [
  {
    name: 'swallowed',
    what: 'accepted and swallowed (F20)',
    expected: () => 'never-answered',
    async run(stage) {
      const watcher = await connected(stage, 'swallow', false);
      const { atMs } = await watcher.need('connected', 0);
      return ending(watcher, atMs, (BEAT.deadAfter + 1) * BEAT.intervalMs);
    },
  },
  {
    name: 'not-reading',
    what: 'the peer reads nothing while we write (F11)',
    expected: () => 'peer-not-reading',
    async run(stage) {
      const watcher = await connected(stage, 'deaf', true);
      return ending(watcher, await order(watcher, `write ${FLOOD_BYTES}`));
    },
  },
  {
    name: 'slow-reader',
    what: 'the peer takes our data at a crawl (F10)',
    expected: () => 'alive',
    async run(stage) {
      const watcher = await connected(stage, 'slow', true);
      const sinceMs = await order(watcher, `write ${FLOOD_BYTES}`);
      const finding = await spared(watcher, sinceMs, 3 * BEAT.deadAfter * BEAT.intervalMs);
      const isTempted = watcher.happenings.some(({ event }) => event === 'suspect');
      const broken = isTempted ? undefined : 'it was never suspect: nothing was at stake';
      return { ...finding, broken };
    },
  },
  {
    name: 'goaway',
    what: 'the peer says goodbye',
    expected: () => 'left',
    async run(stage) {
      const { peer, watcher } = await linked(stage, BEAT);
      return ending(watcher, await order(peer, 'leave 0'), 0);
    },
  },
];
