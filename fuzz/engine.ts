/**
 * A fuzz campaign: the whole corpus, then batches of raw and of built-and-damaged inputs in turn, until an input
 * breaks the invariant or `isOver` says so. Which inputs come, and in which order, depends on seed, mode and corpus
 * alone; time only decides how many. There is no feedback from coverage: building first reaches what it would have to
 * find, and the targets have the signature of fuzzers that offer it.
 */
import fc from 'fast-check';
import { type Random, seededRandom } from '../src/base/random.ts';
import { execute } from './execute.ts';
import { minimise } from './minimise.ts';
import { rawInputs } from './mutate.ts';
import type { Target } from './registry.ts';

/** `raw` and `damage` alone, or `both` in turn. */
export const MODES = ['both', 'raw', 'damage'] as const;
export type Mode = (typeof MODES)[number];

export interface Campaign {
  readonly target: Pick<Target, 'fuzz' | 'built'>;
  readonly corpus: readonly Buffer[];
  readonly mode: Mode;
  /** u32. */
  readonly seed: number;
  /** Longest time for a batch of 64 inputs before it counts as a hang. Default 10 000. */
  readonly hangMs?: number;
  /** Asked before every batch with the number of inputs run so far. */
  isOver(executions: number): boolean;
}

export interface Crash {
  /** As found, and with everything left out that does not matter. */
  readonly input: Buffer;
  readonly minimised: Buffer;
  readonly error: Error;
  readonly source: 'corpus' | 'raw' | 'damage';
}

export interface Outcome {
  /** Inputs run, the failing one included; those of minimising are not counted. */
  readonly executions: number;
  readonly crash?: Crash;
}

const BATCH_INPUTS = 64;
const HANG_MS = 10_000;

/** Built inputs for ever. */
function* builtInputs(built: fc.Arbitrary<Uint8Array>, random: Random): Generator<Buffer, never> {
  for (;;) {
    for (const bytes of fc.sample(built, { seed: random.u32() | 0, numRuns: BATCH_INPUTS })) {
      yield Buffer.from(bytes);
    }
  }
}

/** Batches of a campaign for ever: the corpus once, then 64 inputs at a time. */
export function* batches(
  campaign: Omit<Campaign, 'isOver'>,
): Generator<{ source: Crash['source']; inputs: Buffer[] }, never> {
  const { target, corpus, mode, seed } = campaign;
  // Streams of chance of their own, so that one mode gives the same inputs with and without the other.
  const sources = {
    raw: rawInputs(corpus, seededRandom(seed)),
    damage: builtInputs(target.built, seededRandom(seed + 2 ** 32)),
  };
  const order = mode === 'both' ? (['raw', 'damage'] as const) : [mode];
  yield { source: 'corpus', inputs: [...corpus] };
  for (;;) {
    for (const source of order) {
      yield { source, inputs: Array.from({ length: BATCH_INPUTS }, () => sources[source].next().value) };
    }
  }
}

/** Run until the first crash or the end. */
export function runCampaign(campaign: Campaign): Outcome {
  const { fuzz } = campaign.target;
  const hangMs = campaign.hangMs ?? HANG_MS;
  let executions = 0;
  for (const { source, inputs } of batches(campaign)) {
    if (campaign.isOver(executions)) break;
    const finding = execute(fuzz, inputs, hangMs);
    executions += finding === undefined ? inputs.length : finding.index + 1;
    if (finding === undefined) continue;
    const input = inputs[finding.index]!;
    const fails = (candidate: Buffer): boolean => execute(fuzz, [candidate], hangMs) !== undefined;
    // Each step of minimising a hang would take as long as the hang.
    const minimised = finding.isHang ? input : minimise(input, fails);
    return { executions, crash: { input, minimised, error: finding.error, source } };
  }
  return { executions };
}
