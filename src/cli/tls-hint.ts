/**
 * Guesses why a plain connection was never heard: a service that expects TLS answers our first frame with an alert of
 * its own protocol, or closes without a word.
 */
import type { Socket } from 'node:net';
import type { ClosedDetail } from '../net/events.ts';

/** How a TLS record of an alert begins. */
const ALERT = 0x15;
const MAJOR_VERSION = 3;

export class TlsHint {
  #isAlert = false;

  /** Look at the first bytes that come. */
  watch(socket: Socket): void {
    socket.once('data', (bytes: Buffer) => {
      this.#isAlert = bytes[0] === ALERT && bytes[1] === MAJOR_VERSION;
    });
  }

  /** To be put behind the reason; '' when nothing speaks for TLS. */
  text(bytesReceived: number, { cause, code }: ClosedDetail): string {
    if (this.#isAlert) return '; it speaks TLS: say --tls';
    const wasClosed = cause === 'peer-closed' || code === 'ECONNRESET';
    return wasClosed && bytesReceived === 0 ? ', without a word; if it speaks TLS, say --tls' : '';
  }
}
