/** Opinions on a link for people and dashboards: how surprising its silence is, and whether its RTT creeps up. */
import type { Limits } from './limits.ts';
import { RttTrend } from './rtt-trend.ts';
import { Suspicion } from './suspicion.ts';

export class Advice {
  readonly trend = new RttTrend();
  readonly suspicion: Suspicion;

  constructor(limits: Limits) {
    this.suspicion = new Suspicion(limits.deadMs);
  }

  heard(nowMs: number): void {
    this.suspicion.heard(nowMs);
  }
}
