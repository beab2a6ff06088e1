/** What a planned fault does to the lab, now or a while later. */
import type { Link } from '../../src/net/index.ts';
import type { LabConnection } from '../../src/testing/lab-network.ts';
import type { LabProcess } from '../../src/testing/lab-process.ts';
import type { LabSocket } from '../../src/testing/lab-socket.ts';
import type { LabWorld } from '../../src/testing/lab-world.ts';
import type { Observer } from './observer.ts';
import type { FaultKind, FaultPlan } from './plan.ts';

/** One watched end of a connection. */
export interface End {
  readonly observer: Observer;
  readonly link: Link;
  readonly process: LabProcess;
  readonly socket: LabSocket;
}

export interface Target {
  readonly world: LabWorld;
  readonly connection: LabConnection;
  readonly process: LabProcess;
  /** The link on the fault's side; undefined when a scripted peer is there. */
  readonly end: End | undefined;
  readonly intervalMs: number;
  /** When the history ends. */
  readonly lengthMs: number;
  /** A standstill of this length is over. */
  countAverted(process: LabProcess, stoodStillMs: number): void;
}

const DAY_MS = 86_400_000;

type Strike = (target: Target, forMs: number) => void;

const STRIKES: Record<FaultKind, Strike> = {
  'lose-there': ({ connection, world }, forMs) => connection.there.lose(world.nowMs + forMs),
  'lose-back': ({ connection, world }, forMs) => connection.back.lose(world.nowMs + forMs),
  'black-hole': ({ connection, world }, forMs) => connection.blackHole(world.nowMs + forMs),
  stall: (target, forMs) => {
    target.process.stall(forMs);
    target.world.at(target.world.nowMs + forMs, () => target.countAverted(target.process, forMs));
  },
  thrash: (target, forMs) => thrash(target, target.world.nowMs + forMs, 0.6, 1),
  'thrash-long': (target, forMs) => thrash(target, target.world.nowMs + forMs, 1.5, 1.6),
  freeze: (target, forMs) => freeze(target, forMs),
  suspend: ({ process }, forMs) => process.suspend(forMs),
  'wall-step': ({ process }, forMs) => process.stepWall(forMs % 2 === 0 ? DAY_MS : -DAY_MS),
  kill: ({ process }) => process.kill(),
  'power-off': ({ process }) => process.powerOff(),
  reset: ({ connection }) => connection.reset(),
  'damage-back': (target) => damage(target),
  pause: ({ end }, forMs) => {
    if (end !== undefined) pause(end, forMs);
  },
  degrade: ({ end }, forMs) => {
    if (end === undefined) return;
    whenRunning(end, () => end.link.setDegraded(true));
    later(end.process, forMs, () => ifOpen(end, () => end.link.setDegraded(false)));
  },
  leave: ({ end }, forMs) => {
    if (end !== undefined)
      whenRunning(end, () => void end.link.leave({ drainMs: Math.min(300_000, 2 * forMs) }));
  },
};

export function strike(fault: FaultPlan, target: Target): void {
  STRIKES[fault.kind](target, fault.forMs);
}

/** Let the program do something after `forMs`, as soon as it runs then. */
export function later(process: LabProcess, forMs: number, action: () => void): void {
  if (forMs === Number.POSITIVE_INFINITY) return;
  process.world.at(process.world.nowMs + forMs, () => process.post(action));
}

function ifOpen({ observer }: End, action: () => void): void {
  if (observer.closed === undefined) action();
}

function whenRunning(end: End, action: () => void): void {
  end.process.post(() => ifOpen(end, action));
}

/** Blocked for `stalled` of every `period` intervals, as long as it lasts: F62. */
function thrash(target: Target, untilMs: number, stalled: number, period: number): void {
  const { process, world, intervalMs } = target;
  if (world.nowMs >= Math.min(untilMs, target.lengthMs)) return;
  process.stall(stalled * intervalMs);
  world.at(world.nowMs + period * intervalMs, () => thrash(target, untilMs, stalled, period));
}

function freeze(target: Target, forMs: number): void {
  const { process, world } = target;
  process.freeze();
  if (forMs === Number.POSITIVE_INFINITY) return;
  world.at(world.nowMs + forMs, () => {
    process.thaw();
    target.countAverted(process, forMs);
  });
}

function damage({ connection, world }: Target): void {
  const { back } = connection;
  back.damage = (bytes) => {
    const at = Math.floor(world.random.next() * bytes.length);
    bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(world.random.next() * 8));
    back.damage = undefined;
  };
}

function pause(end: End, forMs: number): void {
  whenRunning(end, () => {
    end.link.pause();
    end.observer.paused();
  });
  later(end.process, forMs, () =>
    ifOpen(end, () => {
      end.link.resume();
      end.observer.resumed();
    }),
  );
}
