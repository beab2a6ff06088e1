/**
 * The polite end of connections that are not admitted: GOAWAY (overloaded), our FIN, and a short while in which
 * whatever the other side sends is thrown away, so that it reads our word before a reset could destroy it. What this
 * may cost is bounded: beyond so many at once the rest is cut without a word.
 */
import type { Socket } from 'node:net';
import { goAwayWord } from '../session/goaway.ts';
import { Flag, GoAwayReason } from '../wire/constants.ts';
import { encodeFrame } from '../wire/frame.ts';

const LINGER_MS = 1_000;
const MAX_LINGERING = 256;

export class TurnedAway {
  readonly #lingering = new Set<Socket>();

  /** Say why, and close. */
  add(socket: Socket): void {
    socket.on('error', () => {});
    if (this.#lingering.size >= MAX_LINGERING) {
      socket.destroy();
      return;
    }
    // No idle time-out of the socket's own: a peer that talks on would put it off for ever.
    const patience = setTimeout(() => socket.destroy(), LINGER_MS);
    this.#lingering.add(socket);
    socket.once('close', () => {
      clearTimeout(patience);
      this.#lingering.delete(socket);
    });
    const timestamp = goAwayWord(GoAwayReason.Overloaded, 0);
    socket.end(encodeFrame({ flags: Flag.GoAway | Flag.Param, seq: 0, timestamp }));
    socket.resume();
  }

  /** Cut those that still linger. */
  destroy(): void {
    for (const socket of this.#lingering) socket.destroy();
  }
}
