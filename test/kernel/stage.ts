/**
 * What a scenario works with: hosts, programs on them, faults. Everything it made is gone after `clear`, whatever
 * happened before and whatever is still under way.
 */
import { readFile } from 'node:fs/promises';
import { Child } from './child.ts';
import { type HostName, Network } from './network.ts';
import type { PeerOptions } from './peer.ts';
import type { PlainOptions } from './plain.ts';
import { machineNowMs } from './program.ts';
import type { WatcherOptions } from './watcher.ts';

/** The lab's programs, bundled, and how they shall run. */
export interface Tools {
  readonly watcher: string;
  readonly peer: string;
  readonly plain: string;
  /** The packet filter command that works here. */
  readonly iptables: string;
  readonly isNative: boolean;
}

/** Programs start on a busy machine. */
const START_MS = 15_000;
const POLL_MS = 20;

export class Stage {
  readonly isNative: boolean;
  readonly children: Child[] = [];
  readonly #tools: Tools;
  #making: Promise<Network> | undefined;
  #network: Network | undefined;
  #clearing: Promise<void> | undefined;

  constructor(tools: Tools) {
    this.#tools = tools;
    this.isNative = tools.isNative;
  }

  async hosts(...hosts: HostName[]): Promise<Network> {
    this.#refuseWhenOver();
    this.#making = Network.make(hosts);
    this.#network = await this.#making;
    return this.#network;
  }

  /** Start any program on a host. */
  start(name: string, host: HostName, ...line: string[]): Child {
    this.#refuseWhenOver();
    const env = { ...process.env, ...(!this.isNative && { WIREBEAT_NATIVE: '0' }) };
    const child = new Child(name, this.#hosts.namespace(host), line, env);
    this.children.push(child);
    return child;
  }

  /** A far end that listens; answers with its port too. */
  async peer(host: HostName, options: PeerOptions): Promise<{ peer: Child; port: number }> {
    const peer = this.start('peer', host, process.execPath, this.#tools.peer, JSON.stringify(options));
    const { detail } = await peer.need('listening', START_MS);
    return { peer, port: detail.port as number };
  }

  watcher(options: WatcherOptions): Child {
    return this.start('watcher', 'near', process.execPath, this.#tools.watcher, JSON.stringify(options));
  }

  plain(options: PlainOptions): Child {
    return this.start('plain', 'near', process.execPath, this.#tools.plain, JSON.stringify(options));
  }

  /** Add a packet filter rule on a host. Resolves when it is in force, with the time. */
  async filter(host: HostName, rule: string): Promise<number> {
    await this.#hosts.run(host, this.#tools.iptables, '-w', ...rule.split(' '));
    return machineNowMs();
  }

  /** Until a foreign program listens on a port. */
  async listening(child: Child, port: number): Promise<void> {
    const listens = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} 0{8}:0000 0A`);
    const untilMs = machineNowMs() + START_MS;
    while (!listens.test(await readFile(`/proc/${child.pid}/net/tcp`, 'utf8'))) {
      if (machineNowMs() > untilMs) throw new Error(`${child.name} does not listen on ${port}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  clear(): Promise<void> {
    this.#clearing ??= this.#clear();
    return this.#clearing;
  }

  async #clear(): Promise<void> {
    await Promise.all(this.children.map((child) => child.end()));
    const network = await this.#making?.catch(() => undefined);
    await network?.remove();
  }

  #refuseWhenOver(): void {
    if (this.#clearing !== undefined) throw new Error('the stage was cleared');
  }

  get #hosts(): Network {
    if (this.#network === undefined) throw new Error('a scenario makes its hosts first');
    return this.#network;
  }
}
