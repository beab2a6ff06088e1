/** When the kernel is asked: only for links in trouble, one read for all, and rarely when a read takes long. */
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { KernelFigures } from '../../../src/net/diagnosis/evidence.ts';
import { KernelEvidence, type Suspect } from '../../../src/net/diagnosis/kernel-evidence.ts';
import type { ReadTable } from '../../../src/net/diagnosis/proc-reader.ts';
import type { NativeSockets } from '../../../src/net/native/native.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const FIGURES = { source: 'proc', unackedBytes: 0, ackAgeMs: undefined } as unknown as KernelFigures;

interface Read {
  readonly table: string;
  readonly keys: readonly string[];
  readonly atMs: number;
}

/** A kernel whose table takes `tookMs` to read and says `unackedBytes` of everybody. */
class FakeKernel {
  readonly clock = new VirtualClock();
  readonly reads: Read[] = [];
  readonly evidence: KernelEvidence;
  tookMs = 4;
  unackedBytes = 0;
  error: NodeJS.ErrnoException | null = null;

  constructor(native?: NativeSockets) {
    const readTable: ReadTable = (table, keys, onFound, done) => {
      this.reads.push({ table, keys: [...keys], atMs: this.clock.now() });
      this.clock.setTimeout(() => {
        for (const key of keys) onFound(key, { ...FIGURES, unackedBytes: this.unackedBytes });
        done(this.error);
      }, this.tookMs);
    };
    this.evidence = new KernelEvidence({ native: () => native, readTable }, this.clock, () =>
      this.clock.now(),
    );
  }

  pass(ms: number): void {
    this.clock.advance(ms);
  }
}

let port = 1;
function suspect(address = '127.0.0.1', fd = -1): Suspect & { session: { state: string } } {
  const ends = { localAddress: address, localPort: port++, remoteAddress: address, remotePort: 7400 };
  return { socket: { ...ends, _handle: { fd } } as unknown as Socket, session: { state: 'suspect' } };
}

describe('/proc/net/tcp is read', () => {
  test('never while no link is suspect, and no longer than one is', () => {
    const kernel = new FakeKernel();
    kernel.pass(10_000);
    expect(kernel.reads).toEqual([]);
    const link = suspect();
    kernel.evidence.watch(link);
    kernel.pass(1_000);
    expect(kernel.reads.length).toBeGreaterThan(2);
    kernel.evidence.forget(link.socket);
    const { length } = kernel.reads;
    kernel.pass(10_000);
    expect(kernel.reads).toHaveLength(length);
    expect(kernel.evidence.size).toBe(0);
    kernel.evidence.watch(link);
    kernel.evidence.forget(link.socket);
    expect(kernel.clock.nextDueMs).toBe(Infinity);
  });

  test('once for all suspects, 60 ms after the first, each table once, a pause between', () => {
    const kernel = new FakeKernel();
    for (const link of [suspect(), suspect('::1'), suspect()]) kernel.evidence.watch(link);
    kernel.pass(59);
    expect(kernel.reads).toEqual([]);
    kernel.pass(1_000);
    const startedMs = kernel.clock.now() - 1_059;
    expect(kernel.reads.slice(0, 2).map(({ table, keys }) => [table, keys.length])).toEqual([
      ['tcp6', 1],
      ['tcp', 2],
    ]);
    const atMs = kernel.reads.filter(({ table }) => table === 'tcp6').map((read) => read.atMs - startedMs);
    expect(atMs).toEqual([60, 228, 396, 564, 732, 900]); // two tables of 4 ms each, times 20
  });

  test('every 100 ms at most', () => {
    const kernel = new FakeKernel();
    kernel.tookMs = 1;
    kernel.evidence.watch(suspect());
    kernel.pass(370);
    expect(kernel.reads.map((read) => read.atMs - kernel.reads[0]!.atMs)).toEqual([0, 101, 202, 303]);
  });

  test('for a twentieth of the time at most, when a read takes long', () => {
    const kernel = new FakeKernel();
    kernel.tookMs = 100;
    kernel.evidence.watch(suspect());
    kernel.pass(10_000);
    const atMs = kernel.reads.map((read) => read.atMs - kernel.reads[0]!.atMs);
    expect(atMs).toEqual([0, 2_100, 4_200, 6_300, 8_400]);
  });

  test('not for links that are suspect no more, though nobody said so', () => {
    const kernel = new FakeKernel();
    const [paused, silent] = [suspect(), suspect()];
    for (const link of [paused, silent]) kernel.evidence.watch(link);
    paused.session.state = 'unobserved';
    kernel.pass(100);
    expect(kernel.reads[0]!.keys).toHaveLength(1);
    silent.session.state = 'leaving';
    kernel.pass(5_000);
    expect(kernel.reads).toHaveLength(1);
    paused.session.state = 'suspect';
    kernel.pass(104);
    expect(kernel.reads).toHaveLength(2);
  });

  test('never again when it cannot be read, and never for a link that has no line there', () => {
    const kernel = new FakeKernel();
    kernel.error = Object.assign(new Error('no such file'), { code: 'ENOENT' });
    kernel.evidence.watch(suspect());
    kernel.pass(10_000);
    expect(kernel.reads).toHaveLength(1);
    const other = new FakeKernel();
    other.evidence.watch({ socket: {} as Socket, session: { state: 'suspect' } });
    other.pass(10_000);
    expect(other.reads).toEqual([]);
  });

  test('again, after a second, when it could not be read for want of descriptors', () => {
    const kernel = new FakeKernel();
    kernel.error = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    kernel.evidence.watch(suspect());
    kernel.pass(2_500);
    kernel.error = null;
    kernel.pass(1_000);
    const atMs = kernel.reads.map((read) => read.atMs - kernel.reads[0]!.atMs);
    expect(atMs).toEqual([0, 1_004, 2_008, 3_012, 3_116, 3_220, 3_324, 3_428]);
  });

  test('and its figures keep their age; an acknowledgement lies between two of them', () => {
    const kernel = new FakeKernel();
    const { socket } = suspect();
    const link = { socket, session: { state: 'suspect' } };
    expect(kernel.evidence.newest(socket)).toBeUndefined();
    kernel.unackedBytes = 32;
    kernel.evidence.watch(link);
    const sinceMs = kernel.clock.now();
    kernel.pass(70);
    expect(kernel.evidence.newest(socket)).toMatchObject({
      takenMs: sinceMs + 64,
      figures: { ackAgeMs: undefined },
    });
    kernel.unackedBytes = 16;
    kernel.pass(104);
    expect(kernel.evidence.newest(socket)).toMatchObject({
      takenMs: sinceMs + 168,
      figures: { ackAgeMs: 104 },
    });
    kernel.unackedBytes = 48;
    kernel.pass(104);
    expect(kernel.evidence.newest(socket)).toMatchObject({
      takenMs: sinceMs + 272,
      figures: { ackAgeMs: 208 },
    });
    kernel.unackedBytes = 0;
    kernel.pass(104);
    expect(kernel.evidence.newest(socket)).toMatchObject({
      takenMs: sinceMs + 376,
      figures: { ackAgeMs: 0 },
    });
  });
});

describe('with native access', () => {
  /** Tells of descriptor 7 that it is established, and that a router could not reach the host. */
  const native: NativeSockets = {
    setInt: () => 0,
    getInt: (fd, level, name) => (fd === 7 && level === 1 && name === 4 ? 113 : undefined),
    getBytes: (fd, level, name, target) => {
      if (fd !== 7 || level !== 6 || name !== 11) return -92;
      target.fill(0);
      target[0] = 1;
      return 232;
    },
  };

  test('TCP_INFO is read at the moment it is asked, and the table never', () => {
    const kernel = new FakeKernel(native);
    const link = suspect('127.0.0.1', 7);
    kernel.evidence.watch(link);
    kernel.pass(5_000);
    expect(kernel.reads).toEqual([]);
    const sample = kernel.evidence.newest(link.socket)!;
    expect(sample).toMatchObject({
      takenMs: kernel.clock.now(),
      figures: { source: 'tcp-info', state: 'established' },
    });
    expect(kernel.evidence.takeError(link.socket)).toBe('EHOSTUNREACH');
    (link.socket as unknown as { _handle: null })._handle = null; // destroyed: what was last known is kept
    kernel.pass(100);
    expect(kernel.evidence.newest(link.socket)).toBe(sample);
    expect(kernel.evidence.takeError(link.socket)).toBeUndefined();
  });

  test('a socket of another kind has no figures', () => {
    const kernel = new FakeKernel(native);
    expect(kernel.evidence.newest(suspect('127.0.0.1', 8).socket)).toBeUndefined();
    expect(kernel.evidence.takeError(suspect('127.0.0.1', 8).socket)).toBeUndefined();
  });
});
