/** What stands between two hosts and has its own idea of how long an idle connection lives. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Scenario, SILENT_PEER } from '../scenario.ts';
import { ending, settled } from '../watching.ts';

const IDLE_LIMIT_MS = 1_000;
const PROXY_PORT = 9_000;
/** Slower than the middlebox forgets: what `wirebeat doctor` warns of. */
const TOO_SLOW = Object.freeze({ intervalMs: 3_000, deadAfter: 2 });
const FORGET_S = 2;

const proxyConfiguration = (backend: string): string => `
defaults
  mode tcp
  timeout connect 5s
  timeout client ${IDLE_LIMIT_MS}ms
  timeout server ${IDLE_LIMIT_MS}ms
listen lab
  bind 0.0.0.0:${PROXY_PORT}
  server far ${backend}
`;

export const MIDDLEBOXES: readonly Scenario[] = [
  {
    name: 'haproxy-idle',
    what: 'a load balancer ends what is idle for a second',
    expected: () => 'peer-closed',
    async run(stage) {
      const network = await stage.hosts('near', 'middle', 'far');
      const { port } = await stage.peer('far', { role: 'echo', server: SILENT_PEER });
      const folder = await mkdtemp(join(tmpdir(), 'wirebeat-haproxy-'));
      try {
        const file = join(folder, 'lab.cfg');
        await writeFile(file, proxyConfiguration(`${network.address('far')}:${port}`));
        await stage.listening(stage.start('haproxy', 'middle', 'haproxy', '-db', '-f', file), PROXY_PORT);
      } finally {
        await rm(folder, { recursive: true });
      }
      const watcher = stage.watcher({ ...TOO_SLOW, host: network.address('middle'), port: PROXY_PORT });
      const { atMs } = await settled(watcher);
      return ending(watcher, atMs, IDLE_LIMIT_MS);
    },
  },
  {
    name: 'nat-forgets',
    what: 'an address translator forgets the idle flow (F21)',
    expected: () => 'link-dead',
    async run(stage) {
      const network = await stage.hosts('near', 'middle', 'far');
      await stage.filter('middle', '-t nat -A POSTROUTING -o right -j MASQUERADE');
      await stage.filter('middle', '-A FORWARD -m conntrack --ctstate INVALID -j DROP');
      await network.set('middle', 'net/netfilter/nf_conntrack_tcp_timeout_established', FORGET_S);
      await network.set('middle', 'net/netfilter/nf_conntrack_tcp_loose', 0);
      const { port } = await stage.peer('far', { role: 'echo', server: SILENT_PEER });
      const watcher = stage.watcher({ ...TOO_SLOW, host: network.address('far'), port });
      return ending(watcher, (await settled(watcher)).atMs);
    },
  },
];
