/** One link of the demo, as it is known from both ends: what befell it, and what its own end made of it. */
import type { DeadDetail } from '../../net/events.ts';
import type { Link } from '../../net/types.ts';
import type { Cause } from '../../session/causes.ts';
import type { Kind } from './scenario.ts';

export class Peer {
  readonly kind: Kind;
  /** The end that judges. */
  readonly link: Link;
  /** When its fate struck, ms; undefined: not yet, or nothing is to happen. */
  struckAtMs: number | undefined;
  suspected = false;
  recovered = false;
  ended: { readonly cause: Cause; readonly atMs: number } | undefined;
  /** The verdict by silence, with the published limits as they stood. */
  verdict: (DeadDetail & { readonly detectionTimeMs: number; readonly detectionBoundMs: number }) | undefined;

  constructor(kind: Kind, link: Link) {
    this.kind = kind;
    this.link = link;
  }

  /** From the blow to the end of the link, ms; undefined without one of them. */
  get afterMs(): number | undefined {
    if (this.ended === undefined || this.struckAtMs === undefined) return undefined;
    return this.ended.atMs - this.struckAtMs;
  }
}
