/** What a link needs of its hub. */
import type { Random } from '../base/random.ts';
import type { Lateness } from '../session/lateness.ts';
import type { WheelEntry } from '../time/probes.ts';
import type { Scheduler } from '../time/scheduler.ts';
import type { CheckRunner } from './check-runner.ts';
import type { Examiner } from './diagnosis/examiner.ts';
import type { ClosedDetail, HubEvents, LinkEvent } from './events.ts';
import type { SocketLink } from './link.ts';
import type { SharedMemory } from './shared-memory.ts';

export interface HubCore {
  readonly random: Random;
  readonly scheduler: Scheduler<WheelEntry>;
  readonly lateness: Lateness;
  readonly checks: CheckRunner;
  /** Asked about links in trouble, and about no others. */
  readonly examiner: Examiner;
  /** Our own check fails: every link says DEGRADED. */
  readonly isDegraded: boolean;
  readonly memory: SharedMemory;
  /** Time at which the chunk being parsed was received: one clock reading per chunk, not per frame. */
  chunkMs: number;
  now(): number;
  /** Where in its interval the next link's first beat falls, [0, 1). */
  nextPhase(): number;
  allowProbe(index: number): boolean;
  /** Has the machine slept since this was last looked for? Then all links are told. */
  lookForSleep(nowMs: number): void;
  /** Wake this link again after one full poll of the sockets. */
  judgeAfterPoll(link: SocketLink): void;
  countDeath(): void;
  tell<E extends LinkEvent>(event: E, link: SocketLink, detail: HubEvents[E][1]): void;
  /** The link is finished: forget it and tell `closed`. */
  release(link: SocketLink, detail: ClosedDetail): void;
}
