/**
 * What the demo plays: kinds of peers, what befalls them, and what a heartbeat should make of it. A table, so that the
 * run, the live view and the judgement all read the same rows.
 */
import type { Cause } from '../../session/causes.ts';

export type KindName =
  | 'healthy'
  | 'stray'
  | 'stalled'
  | 'frozen'
  | 'mute'
  | 'reset'
  | 'crashed'
  | 'damage'
  | 'leaving';

export interface Kind {
  readonly name: KindName;
  /** What happens to these peers, in a few words. */
  readonly fate: string;
  /** Share of all links; the healthy ones are the rest. */
  readonly share: number;
  /** The end expected of their links; undefined: they live to the end of the demo. */
  readonly ends: Cause | undefined;
  /** What it is taken for where the kernel tells nothing in time. */
  readonly looksLike?: Cause;
  /** By the silence alone (judged against the formula), or by what the connection says (at once). */
  readonly by: 'silence' | 'event';
  /** The link must turn suspect and recover on the way. */
  readonly recovers: boolean;
}

const lives = { ends: undefined, by: 'event', recovers: false } as const;
const told = { by: 'event', recovers: false } as const;
const silent = { by: 'silence', recovers: false } as const;

export const KINDS: readonly Kind[] = [
  { name: 'healthy', fate: 'nothing', share: 0, ...lives },
  { name: 'stray', fate: '3 stray bytes arrive', share: 0.03, ...lives },
  { name: 'stalled', fate: 'silent until suspected', share: 0.04, ...lives, recovers: true },
  {
    ...{ name: 'frozen', fate: 'process hangs, socket open', share: 0.06, ...silent },
    ...{ ends: 'process-hung', looksLike: 'link-dead' },
  },
  { name: 'mute', fate: 'accepts, never answers', share: 0.03, ...silent, ends: 'never-answered' },
  { name: 'reset', fate: 'connection reset', share: 0.04, ...told, ends: 'peer-unreachable' },
  { name: 'crashed', fate: 'process dies, FIN', share: 0.04, ...told, ends: 'peer-closed' },
  { name: 'damage', fate: '2 KiB of garbage', share: 0.03, ...told, ends: 'protocol-error' },
  { name: 'leaving', fate: 'says GOAWAY', share: 0.03, ...told, ends: 'left' },
];

/** The kind of each of `links` links, at least one of each, victims spread among the healthy. */
export function castOf(links: number): Kind[] {
  const [healthy, ...victims] = KINDS as [Kind, ...Kind[]];
  const roles = victims.flatMap((kind) =>
    Array.from({ length: Math.max(1, Math.round(kind.share * links)) }, () => kind),
  );
  const cast = new Array<Kind>(links).fill(healthy);
  // Each kind is dealt out over the whole cast, so that faults of all kinds mix in time.
  const order = roles
    .map((kind, index) => ({ kind, at: (index * 0.618034) % 1 }))
    .sort((a, b) => a.at - b.at);
  for (const [index, { kind }] of order.entries()) cast[Math.floor((index * links) / order.length)] = kind;
  return cast;
}
