/** A hub whose events are kept in order, for tests: what was told, about which link, and when. */

import type { ClosedDetail, HubEvents } from '../../src/net/events.ts';
import { HeartbeatHub, type HubOptions } from '../../src/net/hub.ts';
import type { Link } from '../../src/net/types.ts';
import { eventually, later } from './sockets.ts';

const EVENTS: readonly (keyof HubEvents)[] = [
  'up',
  'suspect',
  'recovered',
  'dead',
  'leaving',
  'closed',
  'degraded',
  'write-stall',
  'one-way',
  'read-paused',
];

export interface Told {
  readonly event: keyof HubEvents;
  readonly link: Link;
  readonly detail: Record<string, unknown>;
  readonly atMs: number;
}

export class HubLog {
  readonly hub: HeartbeatHub;
  readonly told: Told[] = [];

  constructor(options: HubOptions = {}) {
    this.hub = new HeartbeatHub(options);
    for (const event of EVENTS) {
      this.hub.on(event, (link: Link, detail: object) => {
        this.told.push({ event, link, detail: { ...detail }, atMs: this.hub.now() });
      });
    }
    later(() => {
      this.hub.removeAllListeners();
      for (const link of this.hub.links()) link.destroy();
      return this.hub.close();
    });
  }

  of(event: keyof HubEvents, link?: Link): Told[] {
    return this.told.filter((told) => told.event === event && (link === undefined || told.link === link));
  }

  /** The names of all events of this link, in order. */
  names(link: Link): string[] {
    return this.told.filter((told) => told.link === link).map(({ event }) => event);
  }

  async next(event: keyof HubEvents, link?: Link): Promise<Told> {
    await eventually(() => this.of(event, link).length > 0, `event ${event}`);
    return this.of(event, link)[0] as Told;
  }

  /** The one `closed` of this link. */
  async closed(link: Link): Promise<ClosedDetail> {
    return (await this.next('closed', link)).detail as unknown as ClosedDetail;
  }
}
