/** Packets that are lost, refused or declared undeliverable on the way. */
import { loseAll, loseInbound, loseOutbound, loseOutboundData, refuse } from '../faults.ts';
import { BEAT, PATIENCE_MS, type Scenario, SILENT_PEER } from '../scenario.ts';
import { ending, linked, promisedMs } from '../watching.ts';

export const PACKETS: readonly Scenario[] = [
  {
    name: 'black-hole',
    what: 'packets are lost both ways (F15)',
    expected: () => 'link-dead',
    async run(stage) {
      const { watcher } = await linked(stage, BEAT);
      return ending(watcher, await loseAll(stage));
    },
  },
  {
    name: 'inbound-lost',
    what: 'packets to us are lost (F16)',
    expected: () => 'link-dead',
    async run(stage) {
      const { watcher } = await linked(stage, SILENT_PEER);
      return ending(watcher, await loseInbound(stage));
    },
  },
  {
    name: 'outbound-lost',
    what: 'packets from us are lost (F16)',
    expected: () => 'link-dead',
    async run(stage) {
      const { watcher } = await linked(stage, BEAT);
      const sinceMs = await loseOutbound(stage);
      const finding = await ending(watcher, sinceMs);
      // Two more beats of the peer come through at most: then its kernel, which hears no acknowledgement, repeats them.
      return { ...finding, boundMs: finding.boundMs + 2 * BEAT.intervalMs };
    },
  },
  {
    name: 'outbound-data-lost',
    what: 'our data is lost, bare acknowledgements arrive (F16)',
    expected: () => 'one-way',
    async run(stage) {
      const { watcher } = await linked(stage, { ...BEAT, deadAfter: 100 });
      const sinceMs = await loseOutboundData(stage);
      const told = await watcher.find(({ event }) => event === 'one-way' || event === 'closed', PATIENCE_MS);
      if (told === undefined) return { found: undefined, tookMs: PATIENCE_MS, boundMs: 0 };
      // After a detection time without an answer a question is owed, it may wait for another, and our next beat tells.
      const boundMs = 2 * promisedMs(watcher, told) + BEAT.intervalMs;
      return { found: told.event, tookMs: told.atMs - sinceMs, boundMs };
    },
  },
  {
    name: 'reset',
    what: 'the connection is reset',
    expected: () => 'peer-unreachable',
    async run(stage) {
      const { watcher } = await linked(stage, SILENT_PEER);
      return ending(watcher, await refuse(stage, 'tcp-reset'), BEAT.intervalMs);
    },
  },
  {
    name: 'icmp',
    what: 'the host becomes unreachable (ICMP)',
    // On an established connection Linux keeps ICMP to itself; only a native call reads it.
    expected: (isNative) => (isNative ? 'peer-unreachable' : 'link-dead'),
    async run(stage) {
      const { watcher } = await linked(stage, SILENT_PEER);
      return ending(watcher, await refuse(stage, 'icmp-host-unreachable'));
    },
  },
  {
    name: 'icmp-connect',
    what: 'the host is unreachable while we connect (ICMP)',
    expected: () => 'peer-unreachable',
    async run(stage) {
      const network = await stage.hosts('near', 'far');
      await refuse(stage, 'icmp-host-unreachable');
      const watcher = stage.watcher({ ...BEAT, host: network.address('far'), port: 9 });
      const { atMs: sinceMs } = await watcher.need('dials', PATIENCE_MS);
      return ending(watcher, sinceMs, BEAT.intervalMs); // told by the kernel, long before a silence is judged
    },
  },
];
