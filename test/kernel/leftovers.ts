/**
 * What a killed run of the lab left behind. Namespaces carry the process id of the lab that made them; one whose
 * lab no longer runs is nobody's, and so are the processes in it.
 */
import { readFile } from 'node:fs/promises';
import { command } from './command.ts';

const PREFIX = 'wirebeat';
const NAME = new RegExp(`^${PREFIX}-(\\d+)-\\d+-\\w+$`);

/** The namespace of one host: whose lab, which network of it, which host. */
export function namespaceName(labPid: number, network: number, host: string): string {
  return `${PREFIX}-${labPid}-${network}-${host}`;
}

/** Of all namespaces of this machine (`ip netns list`), those that no running lab owns. */
export function orphans(listing: string, isRunning: (labPid: number) => boolean): string[] {
  const names = listing.split('\n').map((line) => line.split(' ')[0]!);
  return names.filter((name) => {
    const pid = NAME.exec(name)?.[1];
    return pid !== undefined && !isRunning(Number(pid));
  });
}

/** Remove a namespace, and first whatever runs in it: a process would keep its network alive. */
export async function removeNamespace(name: string): Promise<void> {
  const pids = await command('ip', ['netns', 'pids', name]);
  for (const pid of pids.split('\n').filter((line) => line !== '')) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  await command('ip', ['netns', 'del', name]);
}

export async function removeOrphans(): Promise<number> {
  const listing = await command('ip', ['netns', 'list']);
  const names = listing.split('\n').map((line) => Number(NAME.exec(line.split(' ')[0]!)?.[1]));
  const labs = new Set<number>();
  for (const pid of names.filter((pid) => !Number.isNaN(pid))) if (await isLab(pid)) labs.add(pid);
  const found = orphans(listing, (pid) => labs.has(pid));
  for (const name of found) await removeNamespace(name);
  return found.length;
}

/** Process ids come round again: it has to be a lab that has this one. */
export async function isLab(pid: number): Promise<boolean> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes('kernel/main');
  } catch {
    return false;
  }
}
