/**
 * A crowd of links on one hub in virtual time: thousands of sockets that cost no descriptor, whose far ends answer
 * pings while they are told to. Counts what leaves, per tick.
 *
 * Far barer than the lab's sockets, so that 50 000 fit into a second of real time: the kernel takes every write at
 * once, and an answer is read in the next poll phase.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { HeartbeatHub } from '../../src/net/hub.ts';
import type { AttachOptions } from '../../src/net/types.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { Flag } from '../../src/wire/constants.ts';
import { encodeFrame, readFlags, readSeq, readTimestamp } from '../../src/wire/frame.ts';

export const TICK_MS = 10;

/** One frame of our own that left, as the tests see it. */
export type OnFrame = (flags: number, nowMs: number) => void;

class CrowdSocket extends EventEmitter {
  readonly connecting = false;
  readonly readableEncoding = null;
  readonly readableEnded = false;
  readonly writableEnded = false;
  readonly writableLength = 0;
  bytesWritten = 0;
  destroyed = false;
  readonly #crowd: Crowd;

  constructor(crowd: Crowd) {
    super();
    this.#crowd = crowd;
  }

  write(bytes: Uint8Array): boolean {
    this.bytesWritten += bytes.length;
    this.#crowd.wrote(this, bytes);
    return true;
  }

  setNoDelay(): void {}
  resume(): void {}
  end(): void {}

  destroy(): void {
    this.destroyed = true;
  }
}

export class Crowd {
  readonly clock = new VirtualClock();
  readonly hub: HeartbeatHub;
  /** The far ends answer. */
  answers = true;
  onFrame: OnFrame = () => {};

  constructor(random: Random) {
    this.hub = new HeartbeatHub({ clock: this.clock, timers: this.clock, random, tickMs: TICK_MS });
  }

  /** All at the same instant. */
  accept(links: number, options: AttachOptions): void {
    for (let link = 0; link < links; link++) {
      this.hub.attach(new CrowdSocket(this) as unknown as Socket, options);
    }
  }

  wrote(socket: CrowdSocket, bytes: Uint8Array): void {
    const flags = readFlags(bytes, 0);
    this.onFrame(flags, this.clock.now());
    if (!this.answers || (flags & Flag.AckRequest) === 0) return;
    const answer = encodeFrame({ flags: Flag.Ack, seq: readSeq(bytes, 0), timestamp: readTimestamp(bytes, 0) });
    this.clock.onPoll(() => socket.emit('data', answer));
  }
}

/** Happenings per tick, interval by interval. */
export class Histogram {
  readonly #ticks: Uint32Array;
  readonly #startMs: number;
  readonly #ticksPerInterval: number;

  constructor(startMs: number, intervalMs: number, intervals: number) {
    this.#startMs = startMs;
    this.#ticksPerInterval = intervalMs / TICK_MS;
    this.#ticks = new Uint32Array(this.#ticksPerInterval * intervals);
  }

  count(nowMs: number): void {
    const tick = Math.floor((nowMs - this.#startMs) / TICK_MS);
    if (tick < this.#ticks.length) this.#ticks[tick]!++;
  }

  /** Of one interval, the first is 0. */
  of(interval: number): { total: number; peak: number; peakOfMean: number } {
    const from = interval * this.#ticksPerInterval;
    const ticks = this.#ticks.subarray(from, from + this.#ticksPerInterval);
    const total = ticks.reduce((sum, count) => sum + count, 0);
    const peak = Math.max(...ticks);
    return { total, peak, peakOfMean: (peak * ticks.length) / total };
  }
}

export const seeded = (seed: number): Random => seededRandom(seed);
