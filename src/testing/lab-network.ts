/**
 * Connections of the lab: two sockets, two pipes, and the faults that concern a path as a whole: loss of either or
 * both directions, reset, an address translator that forgets idle flows.
 */
import { LabPipe, type LabPipeOptions } from './lab-pipe.ts';
import type { LabProcess } from './lab-process.ts';
import { LabSocket } from './lab-socket.ts';
import type { LabWorld } from './lab-world.ts';

export interface LabConnectionOptions {
  /** From the first process to the second, and back; one given serves both ways. */
  there?: LabPipeOptions;
  back?: LabPipeOptions;
  /** A translator on the path forgets the flow after this long without a packet, silently. Default Infinity. */
  natIdleMs?: number;
}

export class LabConnection {
  /** The ends, at the first process and at the second. */
  readonly near: LabSocket;
  readonly far: LabSocket;
  /** near -> far, far -> near. */
  readonly there: LabPipe;
  readonly back: LabPipe;
  /** When the translator forgot the flow, world ms; Infinity while it knows it. */
  forgottenMs = Number.POSITIVE_INFINITY;
  readonly #world: LabWorld;
  readonly #natIdleMs: number;
  #lastPacketMs: number;

  constructor(near: LabProcess, far: LabProcess, options: LabConnectionOptions = {}) {
    const { world } = near;
    this.#world = world;
    this.#natIdleMs = options.natIdleMs ?? Number.POSITIVE_INFINITY;
    this.#lastPacketMs = world.nowMs;
    this.there = new LabPipe(world, options.there ?? {});
    this.back = new LabPipe(world, options.back ?? options.there ?? {});
    this.near = new LabSocket(near, this.back, this.there, () => this.#sendReset(this.there));
    this.far = new LabSocket(far, this.there, this.back, () => this.#sendReset(this.back));
    this.there.connect(this.near, this.far);
    this.back.connect(this.far, this.near);
    for (const pipe of [this.there, this.back]) {
      pipe.onPacket = () => this.#notePacket();
      // Bytes for a closed socket: its kernel answers with RST, on the way back.
      pipe.onRefused = () => this.#sendReset(pipe === this.there ? this.back : this.there);
    }
  }

  /** Nothing arrives at either end until `untilMs` (default: for ever). */
  blackHole(untilMs: number = Number.POSITIVE_INFINITY): void {
    this.there.lose(untilMs);
    this.back.lose(untilMs);
  }

  /** Something on the path resets both ends. */
  reset(): void {
    this.near.wasReset();
    this.far.wasReset();
  }

  /** RST travels like everything else, and meets the same losses. */
  #sendReset(pipe: LabPipe): void {
    const receiver = pipe === this.there ? this.far : this.near;
    const delayMs = typeof pipe.delayMs === 'function' ? pipe.delayMs() : pipe.delayMs;
    this.#notePacket();
    this.#world.at(this.#world.nowMs + delayMs, () => {
      if (!pipe.isLost && !receiver.isClosed) receiver.wasReset();
    });
  }

  #notePacket(): void {
    const { nowMs } = this.#world;
    if (nowMs - this.#lastPacketMs > this.#natIdleMs && this.forgottenMs === Number.POSITIVE_INFINITY) {
      this.forgottenMs = nowMs;
      this.blackHole();
    }
    this.#lastPacketMs = nowMs;
  }
}

/** Connect two processes of one world. */
export function connectLab(
  near: LabProcess,
  far: LabProcess,
  options: LabConnectionOptions = {},
): LabConnection {
  return new LabConnection(near, far, options);
}
