/** Feeds chunks to a FrameSplitter and writes down what came out, in the naive splitter's words. */
import { FrameSplitter, type FrameSplitterOptions } from '../../src/wire/splitter.ts';
import type { NaiveSplitterOptions, SplitEvent } from './naive-splitter.ts';

/** The reference host protocol: four bytes of big-endian payload length; its first byte is zero. */
function length32(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 4) return 0;
  if (bytes[start] !== 0) return -1;
  return 4 + bytes[start + 1]! * 65536 + bytes[start + 2]! * 256 + bytes[start + 3]!;
}

export class Recorder implements FrameSplitterOptions {
  readonly events: SplitEvent[] = [];
  readonly reasons: string[] = [];
  readonly splitter: FrameSplitter;
  hostFrameLength?: FrameSplitterOptions['hostFrameLength'];
  reserved?: 'strict' | 'ignore';
  resyncBudgetBytes?: number;
  maxHostFrameBytes?: number;
  maxHostHeaderBytes?: number;
  #openHost: { host: string } | undefined;

  constructor({ shared, ...options }: NaiveSplitterOptions & Partial<FrameSplitterOptions>) {
    if (shared) this.hostFrameLength = length32;
    Object.assign(this, options);
    this.splitter = new FrameSplitter(this);
  }

  onFrame(flags: number, seq: number, timestamp: number): void {
    this.events.push({ frame: [flags, seq, timestamp] });
  }

  /** Pieces of one host frame become one event; `hostRemainingBytes` tells where it ends. */
  onHost(bytes: Uint8Array): void {
    if (bytes.length === 0) throw new Error('an empty piece');
    if (this.#openHost === undefined) this.events.push((this.#openHost = { host: '' }));
    this.#openHost.host += Buffer.from(bytes).toString('hex');
    if (this.splitter.hostRemainingBytes === 0) this.#openHost = undefined;
  }

  onSkipped(skipped: number, code: string): void {
    this.events.push({ skipped, code });
  }

  onError(code: string, { offset, reason }: { offset: number; reason: string }): void {
    this.events.push({ error: code, offset });
    this.reasons.push(reason);
  }

  /** Push copies that are wiped afterwards, so that a kept reference would show. */
  feed(...chunks: Uint8Array[]): this {
    for (const chunk of chunks) {
      const copy = Uint8Array.from(chunk);
      this.splitter.push(copy);
      copy.fill(0xa5);
    }
    return this;
  }

  end(): SplitEvent[] {
    this.splitter.end();
    return this.events;
  }
}
