/**
 * What the lab needs of a machine, found out by trying: Linux, root, `ip` with namespaces, a packet filter with
 * connection tracking and address translation, haproxy. What is missing is told by name.
 */
import { command } from './command.ts';
import { namespaceName } from './leftovers.ts';

export interface Facts {
  readonly isLinux: boolean;
  readonly isRoot: boolean;
  readonly hasIp: boolean;
  readonly hasNamespaces: boolean;
  /** The packet filter command that does what the lab asks of it. */
  readonly iptables: string | undefined;
  readonly hasHaproxy: boolean;
}

/** In the order in which one would see to them; what cannot be known without the former is not listed. */
export function missingParts(facts: Facts): string[] {
  if (!facts.isLinux) return ['Linux'];
  if (!facts.isRoot) return ['root'];
  const missing = facts.hasHaproxy ? [] : ['haproxy'];
  if (!facts.hasIp) return ['ip (iproute2)', ...missing];
  if (!facts.hasNamespaces) return ['network namespaces', ...missing];
  return facts.iptables === undefined ? ['iptables with conntrack and NAT', ...missing] : missing;
}

export async function gatherFacts(): Promise<Facts> {
  const isLinux = process.platform === 'linux';
  const isRoot = process.getuid?.() === 0;
  const nothing = {
    isLinux,
    isRoot,
    hasIp: false,
    hasNamespaces: false,
    iptables: undefined,
    hasHaproxy: false,
  };
  if (!isLinux || !isRoot) return nothing;
  const hasIp = await works('ip', '-Version');
  const hasHaproxy = await works('haproxy', '-v');
  if (!hasIp) return { ...nothing, hasHaproxy };
  const trial = namespaceName(process.pid, 0, 'trial');
  const hasNamespaces = await works('ip', 'netns', 'add', trial);
  try {
    const iptables = hasNamespaces ? await filterThatWorks(trial) : undefined;
    return { isLinux, isRoot, hasIp, hasNamespaces, iptables, hasHaproxy };
  } finally {
    if (hasNamespaces) await command('ip', ['netns', 'del', trial]);
  }
}

const TRIAL_RULES = [
  '-A INPUT -p tcp -j REJECT --reject-with tcp-reset',
  '-A INPUT -p tcp --tcp-flags PSH PSH -j DROP',
  '-A FORWARD -m conntrack --ctstate INVALID -j DROP',
  '-t nat -A POSTROUTING -j MASQUERADE',
].map((rule) => rule.split(' '));

async function filterThatWorks(namespace: string): Promise<string | undefined> {
  for (const filter of ['iptables', 'iptables-legacy']) {
    const tries = TRIAL_RULES.map((rule) => works('ip', 'netns', 'exec', namespace, filter, '-w', ...rule));
    if ((await Promise.all(tries)).every(Boolean)) return filter;
  }
  return undefined;
}

async function works(program: string, ...args: string[]): Promise<boolean> {
  try {
    await command(program, args);
    return true;
  } catch {
    return false;
  }
}
