/** What many idle links cost: packets, bytes and processor time, from the interval and a cost per frame. */
import { SESSION_DEFAULTS } from '../../session/policy.ts';
import { FRAME_BYTES } from '../../wire/constants.ts';

export interface BeatCost {
  /** Processor time to send or to receive one frame, microseconds. */
  readonly frameUs: number;
  /** Where the figure comes from. */
  readonly measured: string;
}

/** What `wirebeat doctor --links` measured on our own machine: both ends, and the kernel's part of loopback. */
export const BEAT_COST: BeatCost = Object.freeze({
  frameUs: 25,
  measured: 'on two busy cores of an AMD EPYC with Node 20, over 10 000 frames',
});

export interface LinkLoad {
  readonly links: number;
  /** Frames sent and received, both directions together. */
  readonly framesPerSecond: number;
  /** The same with a bare acknowledgement for each: the most there can be. */
  readonly packetsPerSecond: number;
  /** In those packets, IPv4 with TCP time stamps, above the link layer. */
  readonly bytesPerSecond: number;
  /** Share of one core, 0..; above 1 it does not fit in one process. */
  readonly cpuShare: number;
  readonly cost: BeatCost;
}

/** IPv4 and TCP with time stamps. */
const HEADER_BYTES = 52;
/** Beats leave after 0.75 to 1 interval. */
const MEAN_FRACTION = 0.875;

/**
 * Idle links whose ends both beat: a question and its answer per interval, and some more whenever the other end takes
 * its turn to ask, once per detection time. An upper figure: busy links send next to nothing.
 */
export function linkLoad(
  links: number,
  intervalMs: number,
  deadAfter: number,
  cost: BeatCost = BEAT_COST,
): LinkLoad {
  const turns = deadAfter === 1 ? 1 : 2 / (3 * deadAfter);
  const meanGapMs = MEAN_FRACTION * intervalMs - SESSION_DEFAULTS.tickMs / 2; // a tick early, and rounded up to one
  const perLink = 2_000 * (1 / meanGapMs + turns / intervalMs);
  const framesPerSecond = links * perLink;
  return {
    links,
    framesPerSecond,
    packetsPerSecond: 2 * framesPerSecond,
    bytesPerSecond: framesPerSecond * (2 * HEADER_BYTES + FRAME_BYTES),
    cpuShare: (framesPerSecond * cost.frameUs) / 1e6,
    cost,
  };
}
