/**
 * Hosts in a row, each a network namespace of its own, neighbours joined by a veth pair: link `i` is the network
 * 10.0.i.0/24 with the left host at .1 and the right one at .2. With three hosts the middle one forwards, and both
 * ends send everything unknown to it. Needs root and `ip` (iproute2); takes 50 to 100 ms.
 */
import { command } from './command.ts';
import { namespaceName, removeNamespace } from './leftovers.ts';

export type HostName = 'near' | 'middle' | 'far';

export class Network {
  readonly hosts: readonly HostName[];
  readonly #number: number;
  static #count = 0;

  private constructor(hosts: readonly HostName[]) {
    this.hosts = hosts;
    this.#number = ++Network.#count;
  }

  static async make(hosts: readonly HostName[]): Promise<Network> {
    const network = new Network(hosts);
    try {
      await network.#build();
      return network;
    } catch (error) {
      await network.remove();
      throw error;
    }
  }

  namespace(host: HostName): string {
    return namespaceName(process.pid, this.#number, host);
  }

  /** Where a host is reached by its left neighbour. */
  address(host: HostName): string {
    return `10.0.${this.hosts.indexOf(host) - 1}.2`;
  }

  /** Run a command in the namespace of a host. */
  run(host: HostName, ...line: string[]): Promise<string> {
    return command('ip', ['netns', 'exec', this.namespace(host), ...line]);
  }

  /** Set a kernel parameter (`net/ipv4/ip_forward`) of a host. */
  async set(host: HostName, parameter: string, value: number | string): Promise<void> {
    await this.run(host, 'sh', '-c', `echo '${value}' > /proc/sys/${parameter}`);
  }

  /** Idempotent; ends whatever still runs in it. */
  async remove(): Promise<void> {
    const known = await command('ip', ['netns', 'list']);
    const names = this.hosts.map((host) => this.namespace(host));
    const listed = new Set(known.split('\n').map((line) => line.split(' ')[0]));
    for (const name of names.filter((one) => listed.has(one))) await removeNamespace(name);
  }

  async #build(): Promise<void> {
    for (const host of this.hosts) await command('ip', ['netns', 'add', this.namespace(host)]);
    const pairs = this.hosts.slice(1).map((right, index) => {
      const [a, b] = [this.namespace(this.hosts[index]!), this.namespace(right)];
      return `link add name right netns ${a} type veth peer name left netns ${b}`;
    });
    await command('ip', ['-batch', '-'], pairs.join('\n'));
    for (const [index, host] of this.hosts.entries()) {
      await command('ip', ['-n', this.namespace(host), '-batch', '-'], this.#lines(index).join('\n'));
    }
    if (this.hosts.length > 2) await this.set('middle', 'net/ipv4/ip_forward', 1);
  }

  #lines(index: number): string[] {
    const lines = ['link set lo up'];
    const last = this.hosts.length - 1;
    const plug = (name: string, address: string): number =>
      lines.push(`address add ${address}/24 dev ${name}`, `link set ${name} up`);
    if (index > 0) plug('left', `10.0.${index - 1}.2`);
    if (index < last) plug('right', `10.0.${index}.1`);
    if (last > 1 && index === 0) lines.push('route add default via 10.0.0.2');
    if (last > 1 && index === last) lines.push(`route add default via 10.0.${index - 1}.1`);
    return lines;
  }
}
