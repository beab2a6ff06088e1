/**
 * The door of a server: accepted sockets become links or are turned away, and each link counts against the limits
 * until it is closed. Other links of the same hub are left alone.
 */
import type { Socket } from 'node:net';
import type { LinkEvent } from '../net/events.ts';
import type { HeartbeatHub } from '../net/hub.ts';
import { LINGER_MS } from '../net/link-core.ts';
import type { AttachOptions, Link } from '../net/types.ts';
import { Admission, type Refusal } from './admission.ts';
import { inSlots } from './slots.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { TurnedAway } from './turn-away.ts';

export interface DoorLimits {
  readonly maxLinks: number;
  readonly maxLinksPerAddress: number;
  /** Not limited by address: many come through one of them. */
  readonly trustedProxies: TrustedProxies;
}

export class Door {
  readonly refused: Record<Refusal, number> = {
    HB_ERR_TOO_MANY_LINKS: 0,
    HB_ERR_TOO_MANY_FROM_ADDRESS: 0,
    HB_ERR_PROXY_HEADER: 0,
  };
  readonly #hub: HeartbeatHub;
  readonly #attachOptions: AttachOptions;
  readonly #admission: Admission;
  readonly #trusted: TrustedProxies;
  readonly #turnedAway = new TurnedAway();
  readonly #addresses = new Map<Link, string>();
  #isLeaving = false;

  constructor(hub: HeartbeatHub, limits: DoorLimits, attachOptions: AttachOptions) {
    this.#hub = hub;
    this.#attachOptions = attachOptions;
    this.#admission = new Admission(limits.maxLinks, limits.maxLinksPerAddress);
    this.#trusted = limits.trustedProxies;
    hub.observers.add(this.#observe);
  }

  /** Links that came in here and are not closed. */
  get links(): number {
    return this.#admission.links;
  }

  readonly accept = (socket: Socket): void => this.enter(socket, socket.remoteAddress ?? '');

  /** A connection of the client at `from` ('' = no address), of which `head` was read already. */
  enter(socket: Socket, from: string, head?: Uint8Array): void {
    const address = this.#trusted.includes(from) ? '' : from;
    if (this.#isLeaving) {
      this.#turnedAway.add(socket);
      return;
    }
    const refusal = this.#admission.admit(address);
    if (refusal === undefined) {
      this.#attach(socket, address, head);
      return;
    }
    this.refused[refusal]++;
    this.#turnedAway.add(socket);
  }

  /**
   * Say GOAWAY on every link, spread over `spreadMs`, with the time to stay away. Resolves when they are closed, at
   * the latest `drainMs` and the time for a last word later. Throws then what listeners threw.
   */
  async leave(drainMs: number, spreadMs: number, retryAfterMs: number): Promise<void> {
    this.#isLeaving = true;
    const untilMs = performance.now() + drainMs;
    const links = [...this.#addresses.keys()];
    const errors: unknown[] = [];
    const cutOff = (): void => {
      for (const link of links) {
        try {
          link.destroy();
        } catch (error) {
          errors.push(error); // a listener's throw must not keep the other links open
        }
      }
    };
    // Some were leaving before, with more time than this, or still flush what a slow peer takes.
    const cut = setTimeout(cutOff, drainMs + LINGER_MS);
    const closings: Promise<unknown>[] = [];
    await inSlots(links, spreadMs, (link) => {
      const leftMs = Math.max(0, Math.ceil(untilMs - performance.now()));
      closings.push(link.leave({ retryAfterMs, drainMs: leftMs }).catch((error) => errors.push(error)));
    });
    await Promise.all(closings);
    clearTimeout(cut);
    if (errors.length > 0) throw errors[0];
  }

  /** Nobody comes in any more. */
  close(): void {
    this.#turnedAway.destroy();
    this.#hub.observers.delete(this.#observe);
  }

  #attach(socket: Socket, address: string, head: Uint8Array | undefined): void {
    const options = head === undefined ? this.#attachOptions : { ...this.#attachOptions, head };
    try {
      this.#addresses.set(this.#hub.attach(socket, options), address);
    } catch {
      // The socket died before it was ours, or the hub was closed by its owner: no reason for a server to fall.
      this.#admission.leave(address);
      socket.on('error', () => {});
      socket.destroy();
    }
  }

  readonly #observe = (event: LinkEvent, link: Link): void => {
    const address = this.#addresses.get(link);
    if (address === undefined) return;
    // A peer that takes none of its echoes for a whole detection time cannot be told anything: it is cut.
    if (event === 'write-stall') link.destroy({ cause: 'peer-not-reading' });
    if (event !== 'closed') return;
    this.#addresses.delete(link);
    this.#admission.leave(address);
  };
}
