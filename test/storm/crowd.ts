/**
 * A crowd of links on one hub in virtual time: thousands of sockets that cost no descriptor, whose far ends answer
 * pings while they are told to. Shows every frame that leaves, and counts per tick.
 *
 * Far barer than the lab's sockets, so that 50 000 fit into seconds of real time: the kernel takes every write at
 * once, and an answer is read in the next poll phase.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { seededRandom } from '../../src/base/random.ts';
import { HeartbeatHub } from '../../src/net/hub.ts';
import type { AttachOptions } from '../../src/net/types.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { Flag, FRAME_BYTES, Param } from '../../src/wire/constants.ts';
import { encodeFrame, readFlags, readSeq, readTimestamp } from '../../src/wire/frame.ts';
import { makeParam, makePoll, parameterDigest } from '../../src/wire/param.ts';

export const TICK_MS = 10;

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
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) this.#crowd.wrote(this, bytes, at);
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
  /** A frame left, numbered by the link that sent it. */
  onFrame: (flags: number, nowMs: number, socket: object) => void = () => {};
  /** A GOAWAY left, with this word. */
  onGoAway: (word: number, nowMs: number) => void = () => {};

  constructor(seed: number) {
    const random = seededRandom(seed);
    this.hub = new HeartbeatHub({ clock: this.clock, timers: this.clock, random, tickMs: TICK_MS });
  }

  /** All at the same instant. */
  accept(links: number, options: AttachOptions): void {
    for (let link = 0; link < links; link++) {
      this.hub.attach(new CrowdSocket(this) as unknown as Socket, options);
    }
  }

  /** Every far end says this, at this instant. */
  sayAll(bytes: Uint8Array): void {
    for (const { socket } of this.hub.links()) socket.emit('data', bytes);
  }

  wrote(socket: CrowdSocket, bytes: Uint8Array, at: number): void {
    const flags = readFlags(bytes, at);
    this.onFrame(flags, this.clock.now(), socket);
    if ((flags & Flag.GoAway) !== 0) this.onGoAway(readTimestamp(bytes, at), this.clock.now());
    if (!this.answers || (flags & Flag.AckRequest) === 0) return;
    const answer = encodeFrame({
      flags: Flag.Ack,
      seq: readSeq(bytes, at),
      timestamp: readTimestamp(bytes, at),
    });
    this.clock.onPoll(() => socket.emit('data', answer));
  }
}

/** A ping. */
export const PING = encodeFrame({ flags: Flag.AckRequest, seq: 1, timestamp: 1 });

/** What a peer says that wishes to send and receive at this interval: its three words and a POLL. */
export function pollGroup(intervalMs: number): Buffer {
  const words = [
    makeParam(Param.DesiredMinTx, intervalMs),
    makeParam(Param.RequiredMinRx, intervalMs),
    makeParam(Param.DetectMult, 3),
  ] as const;
  const poll = makePoll(1, parameterDigest(...words));
  return Buffer.concat(
    [...words, poll].map((timestamp, seq) => encodeFrame({ flags: Flag.Param, seq, timestamp })),
  );
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

  /** Interval by interval: how many there were, and the fullest tick in mean ticks. */
  intervals(): { total: number; peakOfMean: number }[] {
    const length = this.#ticksPerInterval;
    return Array.from({ length: this.#ticks.length / length }, (_, interval) => {
      const ticks = this.#ticks.subarray(interval * length, (interval + 1) * length);
      const total = ticks.reduce((sum, count) => sum + count, 0);
      return { total, peakOfMean: (Math.max(...ticks) * length) / total };
    });
  }
}

/** Most of these times, sorted, that lie within any `windowMs`. */
export function mostWithin(timesMs: readonly number[], windowMs: number): number {
  let most = 0;
  let from = 0;
  timesMs.forEach((atMs, index) => {
    while (timesMs[from]! <= atMs - windowMs) from++;
    most = Math.max(most, index - from + 1);
  });
  return most;
}
