/**
 * The door of a server: accepted sockets become links or are turned away, and each link counts against the limits
 * until it is closed. Other links of the same hub are left alone.
 */
import type { Socket } from 'node:net';
import type { HeartbeatHub } from '../net/hub.ts';
import type { AttachOptions, Link } from '../net/types.ts';
import { Admission, type Refusal } from './admission.ts';
import { TurnedAway } from './turn-away.ts';

export interface DoorLimits {
  readonly maxLinks: number;
  readonly maxLinksPerAddress: number;
}

export class Door {
  readonly refused: Record<Refusal, number> = { HB_ERR_TOO_MANY_LINKS: 0, HB_ERR_TOO_MANY_FROM_ADDRESS: 0 };
  readonly #hub: HeartbeatHub;
  readonly #attachOptions: AttachOptions;
  readonly #admission: Admission;
  readonly #turnedAway = new TurnedAway();
  readonly #addresses = new Map<Link, string>();

  constructor(hub: HeartbeatHub, limits: DoorLimits, attachOptions: AttachOptions) {
    this.#hub = hub;
    this.#attachOptions = attachOptions;
    this.#admission = new Admission(limits.maxLinks, limits.maxLinksPerAddress);
    hub.on('closed', this.#onClosed);
    hub.on('write-stall', this.#onWriteStall);
  }

  /** Links that came in here and are not closed. */
  get links(): number {
    return this.#admission.links;
  }

  readonly accept = (socket: Socket): void => {
    const address = socket.remoteAddress ?? '';
    const refusal = this.#admission.admit(address);
    if (refusal === undefined) {
      this.#attach(socket, address);
      return;
    }
    this.refused[refusal]++;
    this.#turnedAway.add(socket);
  };

  /** Say GOAWAY on every link; resolves when they are closed. */
  async leave(drainMs: number): Promise<void> {
    await Promise.all([...this.#addresses.keys()].map((link) => link.leave({ drainMs })));
  }

  /** Nobody comes in any more. */
  close(): void {
    this.#turnedAway.destroy();
    this.#hub.off('closed', this.#onClosed);
    this.#hub.off('write-stall', this.#onWriteStall);
  }

  #attach(socket: Socket, address: string): void {
    try {
      this.#addresses.set(this.#hub.attach(socket, this.#attachOptions), address);
    } catch {
      // The socket died before it was ours, or the hub was closed by its owner: no reason for a server to fall.
      this.#admission.leave(address);
      socket.on('error', () => {});
      socket.destroy();
    }
  }

  readonly #onClosed = (link: Link): void => {
    const address = this.#addresses.get(link);
    if (address === undefined) return;
    this.#addresses.delete(link);
    this.#admission.leave(address);
  };

  /** A peer that takes none of its echoes for a whole detection time cannot be told anything: it is cut. */
  readonly #onWriteStall = (link: Link): void => {
    if (this.#addresses.has(link)) link.destroy({ cause: 'peer-not-reading' });
  };
}
