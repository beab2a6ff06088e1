/**
 * Other ends of a connection that are no links of ours: what a watcher meets in the wild. Each takes a lab socket and
 * plays its part in that socket's process, so that whatever befalls the process befalls the peer.
 */
import { Flag } from '../wire/constants.ts';
import { encodeFrame } from '../wire/frame.ts';
import { FrameSplitter } from '../wire/splitter.ts';
import type { LabSocket } from './lab-socket.ts';

export interface AnsweringPeerOptions {
  /** How often each ping is answered; more than 1 is a peer that repeats itself. Default 1. */
  answers?: number;
  /** Present: the connection is shared with this host protocol, whose frames are read and dropped. */
  hostFrameLength?(bytes: Uint8Array, start: number, end: number): number;
}

/** The least a peer can be: answers pings, ignores all else, judges nobody. Can be told to say frames of its own. */
export class AnsweringPeer {
  readonly socket: LabSocket;
  /** Pings received so far. */
  pings = 0;
  #seq: number;

  constructor(socket: LabSocket, options: AnsweringPeerOptions = {}) {
    this.socket = socket;
    this.#seq = socket.process.random.u32();
    const answers = options.answers ?? 1;
    const splitter = new FrameSplitter({
      hostFrameLength: options.hostFrameLength,
      onFrame: (flags, seq, timestamp) => {
        if ((flags & Flag.AckRequest) === 0) return;
        this.pings++;
        for (let answer = 0; answer < answers; answer++) this.say(Flag.Ack, seq, timestamp);
      },
      onError: () => socket.destroy(),
    });
    readAll(socket, (bytes) => splitter.push(bytes));
  }

  /** Put a frame on the wire, whatever it is. */
  say(flags: number, seq: number, timestamp: number): void {
    if (!this.socket.destroyed && !this.socket.writableEnded) {
      this.socket.write(encodeFrame({ flags, seq, timestamp }));
    }
  }

  /** Say a frame of its own, with the next number; returns that number. */
  sayNext(flags: number): number {
    const seq = this.#seq;
    this.#seq = (this.#seq + 1) >>> 0;
    this.say(flags, seq, Math.floor(this.socket.process.clock.now()) >>> 0);
    return seq;
  }
}

/** Accepts, reads everything, never says a word: a load balancer whose backend is gone. */
export function swallow(socket: LabSocket): void {
  readAll(socket, () => {});
}

/** Sends back whatever comes in: a plain echo service, which must not pass for a peer. */
export function echo(socket: LabSocket): void {
  readAll(socket, (bytes) => {
    if (!socket.destroyed && !socket.writableEnded) socket.write(bytes);
  });
}

function readAll(socket: LabSocket, receive: (bytes: Uint8Array) => void): void {
  socket.on('data', receive);
  socket.on('error', () => {});
  socket.resume();
}
