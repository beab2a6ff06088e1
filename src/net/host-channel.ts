/**
 * The host protocol's side of a shared link: hands the splitter's pieces on, and puts whole frames together when the
 * host wants them whole. Exists only on shared links; it is the splitter's handler there.
 *
 * Memory: a frame that came in one chunk is passed as a view; a frame in pieces is gathered in a buffer that grows
 * with what really arrived, never with what a header claims.
 */
import type { FrameSplitter } from '../wire/splitter.ts';
import type { FrameSplitterOptions, SplitterCode, SplitterErrorDetail } from '../wire/splitter-options.ts';
import { ATTACH_DEFAULTS } from './options.ts';
import type { HostProtocol, Link } from './types.ts';

const FIRST_GATHER_BYTES = 1024;
const NOTHING = Buffer.alloc(0);

/** What the channel tells its link. */
export interface ChannelOwner {
  onFrame(flags: number, seq: number, timestamp: number): void;
  onError(code: SplitterCode, detail: SplitterErrorDetail): void;
  onHostBytes(bytes: number): void;
}

export class HostChannel implements FrameSplitterOptions {
  readonly reserved: 'strict' | 'ignore';
  readonly maxHostFrameBytes: number;
  readonly #owner: ChannelOwner;
  readonly #link: Link;
  readonly #host: HostProtocol;
  readonly #gathers: boolean;
  #gathered = NOTHING;
  #gatheredBytes = 0;
  #splitter: FrameSplitter | undefined;
  /** The piece at hand, while listeners are told of it. */
  #current: Uint8Array = NOTHING;

  constructor(owner: ChannelOwner, link: Link, host: HostProtocol, reserved: 'strict' | 'ignore') {
    this.#owner = owner;
    this.#link = link;
    this.#host = host;
    this.reserved = reserved;
    this.maxHostFrameBytes = host.maxFrameBytes ?? ATTACH_DEFAULTS.maxFrameBytes;
    this.#gathers = (host.delivery ?? 'whole') === 'whole';
  }

  /** The splitter this object handles; told once, as each needs the other. */
  bind(splitter: FrameSplitter): void {
    this.#splitter = splitter;
  }

  onFrame(flags: number, seq: number, timestamp: number): void {
    this.#owner.onFrame(flags, seq, timestamp);
  }

  onError(code: SplitterCode, detail: SplitterErrorDetail): void {
    this.#owner.onError(code, detail);
  }

  hostFrameLength(bytes: Uint8Array, start: number, end: number): number {
    return this.#host.frameLength(bytes, start, end);
  }

  onHost(bytes: Uint8Array): void {
    this.#current = bytes;
    this.#owner.onHostBytes(bytes.length); // tells who listens: they may detach the link, or destroy the socket
    if (this.#current === NOTHING) return;
    this.#current = NOTHING;
    if (this.#isGone()) return;
    const isLast = (this.#splitter as FrameSplitter).hostRemainingBytes === 0;
    if (!this.#gathers || (isLast && this.#gatheredBytes === 0)) {
      this.#deliver(bytes);
      return;
    }
    this.#gather(bytes);
    if (isLast) this.#deliver(this.#takeGathered());
  }

  #deliver(bytes: Uint8Array): void {
    this.#host.onFrame(this.#link, bytes);
    this.#isGone();
  }

  /** The socket was destroyed: as from any stream, nothing comes after that. */
  #isGone(): boolean {
    const { destroyed } = this.#link.socket;
    if (destroyed) (this.#splitter as FrameSplitter).stop();
    return destroyed;
  }

  /** The pieces of an unfinished frame, and the one that is just being told of: the caller's from now on. */
  takeUndelivered(): Buffer {
    const current = this.#current;
    this.#current = NOTHING;
    const gathered = this.#takeGathered();
    return current === NOTHING ? gathered : Buffer.concat([gathered, current]);
  }

  #takeGathered(): Buffer {
    const frame = this.#gathered.subarray(0, this.#gatheredBytes);
    this.#gathered = NOTHING;
    this.#gatheredBytes = 0;
    return frame;
  }

  #gather(bytes: Uint8Array): void {
    const needed = this.#gatheredBytes + bytes.length;
    if (needed > this.#gathered.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#gathered.length, FIRST_GATHER_BYTES));
      grown.set(this.#gathered.subarray(0, this.#gatheredBytes));
      this.#gathered = grown;
    }
    this.#gathered.set(bytes, this.#gatheredBytes);
    this.#gatheredBytes = needed;
  }
}
