/**
 * One process of the lab: an event loop on virtual time, a heartbeat hub on it, and what can happen to a process:
 * blocked loop, SIGSTOP, suspend, a stepped wall clock, kill, power failure.
 *
 * The hub is the real one. Scheduler, wheel, links, splitter, sessions and whatever a process shares between its
 * links run unchanged; only the loop and the sockets below them are the lab's.
 */
import { type Random, seededRandom } from '../base/random.ts';
import { HeartbeatHub } from '../net/hub.ts';
import type { AttachOptions, Link } from '../net/types.ts';
import type { LabSocket } from './lab-socket.ts';
import type { LabActor, LabWorld } from './lab-world.ts';
import { VirtualClock } from './virtual-clock.ts';

/** A stretch of world time in which the process did not run. */
export interface Standstill {
  readonly fromMs: number;
  toMs: number;
}

export class LabProcess implements LabActor {
  readonly name: string;
  readonly world: LabWorld;
  readonly clock: VirtualClock;
  readonly random: Random;
  /** When this process did not run, oldest first; the last one may still be going on (`toMs` Infinity). */
  readonly standstills: Standstill[] = [];
  readonly sockets = new Set<LabSocket>();
  #hub: HeartbeatHub | undefined;
  /** Nothing runs before this time; Infinity: stopped for good, or until `thaw`. */
  #blockedUntilMs = 0;
  /** World time minus own monotonic time. */
  #behindMs: number;
  #sleepUntilMs = 0;
  #isGone = false;

  constructor(world: LabWorld, name: string) {
    this.world = world;
    this.name = name;
    this.clock = new VirtualClock();
    this.#behindMs = world.nowMs - this.clock.now();
    this.random = seededRandom(world.random.u32());
    world.join(this);
  }

  /** The process's hub, made on first use. */
  get hub(): HeartbeatHub {
    this.#hub ??= new HeartbeatHub({ clock: this.clock, timers: this.clock, random: this.random });
    return this.#hub;
  }

  /** Watch a socket of this process. */
  attach(socket: LabSocket, options: AttachOptions = {}): Link {
    return this.hub.attach(socket.asNetSocket(), options);
  }

  /** The program does something as soon as its loop runs: in the poll phase, as if a socket had told it to. */
  post(action: () => void): void {
    this.clock.onPoll(action);
  }

  /** A time of this process's monotonic clock as world time. */
  worldTimeMs(ownMs: number): number {
    return ownMs + this.#behindMs;
  }

  // ---- driven by the world -----------------------------------------------------

  get wakeAtMs(): number {
    return Math.max(this.clock.nextDueMs + this.#behindMs, this.#blockedUntilMs);
  }

  turn(nowMs: number): void {
    this.#keepTime(nowMs);
    this.clock.turn();
  }

  // ---- faults --------------------------------------------------------------------

  /** The loop is blocked for `ms`, beginning now: timers are late, reads wait in the kernel, which goes on. */
  stall(ms: number): void {
    const { nowMs } = this.world;
    if (this.#blockedUntilMs === Number.POSITIVE_INFINITY) return;
    this.#keepTime(nowMs);
    const untilMs = nowMs + this.world.exact(ms);
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
    this.standstills.push({ fromMs: nowMs, toMs: untilMs });
  }

  /** SIGSTOP: nothing runs; the kernel goes on taking bytes until its buffers are full. */
  freeze(): void {
    this.#keepTime(this.world.nowMs);
    this.#blockedUntilMs = Number.POSITIVE_INFINITY;
    this.standstills.push({ fromMs: this.world.nowMs, toMs: Number.POSITIVE_INFINITY });
  }

  /** SIGCONT. Has no effect on a process that is gone, and wakes no machine that sleeps. */
  thaw(): void {
    if (this.#isGone) return;
    this.#blockedUntilMs = Math.max(this.world.nowMs, this.#sleepUntilMs);
    for (const stand of this.standstills) {
      if (stand.toMs > this.#blockedUntilMs) stand.toMs = this.#blockedUntilMs;
    }
  }

  /** The machine sleeps for `ms`, beginning now: no packet in or out, and the monotonic clock stands still. */
  suspend(ms: number): void {
    const { nowMs } = this.world;
    this.#keepTime(nowMs);
    const untilMs = nowMs + this.world.exact(ms);
    // Told to sleep while asleep: it sleeps on for what goes beyond.
    const moreMs = Math.max(0, untilMs - Math.max(nowMs, this.#sleepUntilMs));
    this.clock.sleep(moreMs);
    this.#behindMs += moreMs;
    this.#sleepUntilMs = Math.max(this.#sleepUntilMs, untilMs);
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs);
    this.standstills.push({ fromMs: nowMs, toMs: untilMs });
    for (const socket of this.sockets) socket.unplug(untilMs);
  }

  stepWall(byMs: number): void {
    this.clock.stepWall(byMs);
  }

  /** SIGKILL: the program is gone, the kernel closes its sockets (FIN, or RST where bytes were unread). */
  kill(): void {
    this.#end();
    for (const socket of this.sockets) socket.closeByKernel();
  }

  /** The power fails: nothing is said any more, not even by the kernel. */
  powerOff(): void {
    this.#end();
    for (const socket of this.sockets) socket.unplug(Number.POSITIVE_INFINITY);
  }

  #end(): void {
    this.#isGone = true;
    this.freeze();
  }

  /** The own clock up to `nowMs`. While suspended it stands still, hence the max. */
  #keepTime(nowMs: number): void {
    if (nowMs < this.#sleepUntilMs) return;
    this.clock.stall(Math.max(0, nowMs - this.#behindMs - this.clock.now()));
  }
}
