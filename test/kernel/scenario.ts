/** One way for a link to go wrong on real kernels, and what wirebeat has to say about it. */
import type { Cause } from '../../src/session/causes.ts';
import type { Stage } from './stage.ts';

/** A cause of death, an event of a link that lives on, or that nothing of the kind was told. */
export type Found = Cause | 'one-way' | 'alive';

export interface Finding {
  /** What was told; undefined when nothing was. */
  readonly found: string | undefined;
  /** From the moment the trouble was in force to the verdict, ms. */
  readonly tookMs: number;
  /** What was promised, ms. */
  readonly boundMs: number;
  /** A word on what the kernel did, for the table. */
  readonly note?: string;
  /** What else did not hold. */
  readonly broken?: string | undefined;
}

export interface Scenario {
  readonly name: string;
  /** What happens, in a clause, with the number of the fault. */
  readonly what: string;
  /** The right answer; it may depend on whether the kernel can be asked. */
  expected(isNative: boolean): Found;
  run(stage: Stage): Promise<Finding>;
}

/** Intervals short enough to run many scenarios, long enough for a busy machine. */
export const BEAT = Object.freeze({ intervalMs: 400, deadAfter: 3 });
/** Nothing takes longer in the lab. */
export const PATIENCE_MS = 20_000;
/** A far end that judges nobody and says nothing by itself, so that only the near end's view decides. */
export const SILENT_PEER = Object.freeze({ role: 'responder', intervalMs: 60_000 } as const);
