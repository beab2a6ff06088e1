/** What scenarios do with the two ends of a link: bring it up, wait for what is told, read it. */
import type { EchoServerOptions } from '../../src/server/options.ts';
import type { Child, Sought } from './child.ts';
import { type Happening, machineNowMs } from './program.ts';
import { BEAT, type Finding, PATIENCE_MS } from './scenario.ts';
import type { Stage } from './stage.ts';
import type { WatcherOptions } from './watcher.ts';

export interface Ends {
  readonly peer: Child;
  readonly watcher: Child;
}

/** Two hosts and a link between them, up, with a known round trip. */
export async function linked(
  stage: Stage,
  server: EchoServerOptions,
  options: WatcherOptions = {},
): Promise<Ends> {
  const network = await stage.hosts('near', 'far');
  const { peer, port } = await stage.peer('far', { role: 'echo', server });
  const watcher = stage.watcher({ ...BEAT, host: network.address('far'), port, ...options });
  await settled(watcher);
  return { peer, watcher };
}

/** From the first answer on the link promises its final detection time: the round trip is known. */
export function settled(watcher: Child): Promise<Happening> {
  return watcher.need('pong', PATIENCE_MS);
}

/** Tell a program something; resolves with the time it begins. */
export async function order(child: Child, line: string): Promise<number> {
  const from = child.happenings.length;
  child.tell(line);
  const begun = await child.find(({ event }) => event === 'obeys', PATIENCE_MS, from);
  if (begun === undefined) throw new Error(`${child.name} does not obey "${line}"`);
  return begun.atMs;
}

/** How the link ended, counted from `sinceMs`. The bound is what the link promised, unless the trouble has its own. */
export async function ending(watcher: Child, sinceMs: number, ownBoundMs?: number): Promise<Finding> {
  const closed = await watcher.need('closed', PATIENCE_MS);
  const { cause, diagnosis } = closed.detail as Told;
  const isOne = diagnosis === undefined || diagnosis.cause === cause;
  return {
    found: cause,
    tookMs: closed.atMs - sinceMs,
    boundMs: ownBoundMs ?? promisedMs(watcher, closed),
    note: noteOf(closed),
    broken: isOne ? undefined : `the diagnosis says ${diagnosis.cause}`,
  };
}

/** The promise holds as it stood at the verdict, stretched only when the watcher's own process was late. */
export function promisedMs(watcher: Child, { detail }: Happening): number {
  const wasLate = watcher.happenings.some(({ event }) => event === 'self-late');
  return Number(wasLate ? detail.detectionBoundMs : detail.detectionTimeMs);
}

/** Nothing may end the link for so long. */
export async function spared(watcher: Child, sinceMs: number, forMs: number): Promise<Finding> {
  const isOver: Sought = ({ event, atMs }) => event === 'closed' && atMs < sinceMs + forMs;
  const ended = await watcher.find(isOver, sinceMs + forMs - machineNowMs());
  if (ended === undefined) return { found: 'alive', tookMs: forMs, boundMs: forMs };
  return { found: (ended.detail as Told).cause, tookMs: ended.atMs - sinceMs, boundMs: forMs };
}

/** The same, and the peer must answer in this time. */
export async function survival(watcher: Child, forMs: number): Promise<Finding> {
  const sinceMs = machineNowMs();
  const finding = await spared(watcher, sinceMs, forMs);
  const isAnswered = watcher.happenings.some(({ event, atMs }) => event === 'pong' && atMs > sinceMs);
  return { ...finding, broken: isAnswered ? undefined : 'no question was answered' };
}

interface Told {
  readonly cause?: string;
  readonly code?: string;
  readonly diagnosis?: {
    readonly cause: string;
    readonly confidence?: string;
    readonly evidence?: { readonly source?: string };
  };
}

function noteOf({ detail }: Happening): string {
  const { code, diagnosis } = detail as Told;
  return [code, diagnosis?.confidence, diagnosis?.evidence?.source].filter((word) => word).join(', ');
}
