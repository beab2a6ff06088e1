/** Serial arithmetic and the dedup window: edges, jumps around 32 and 64, the wrap, and a Set-based model. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serialDistance } from '../../src/wire/serial.ts';
import { DedupWindow } from '../../src/wire/window.ts';

const accept = (...seqs: number[]): string[] => {
  const window = new DedupWindow();
  return seqs.map((seq) => window.accept(seq >>> 0));
};

/** The same judgement from a Set of everything seen, with whole numbers that never wrap. */
class ModelWindow {
  #seen = new Set<number>();
  #newest: number | undefined;

  accept(absolute: number): string {
    if (this.#newest === undefined || absolute > this.#newest) this.#newest = absolute;
    else if (absolute <= this.#newest - 64) return 'stale';
    else if (this.#seen.has(absolute)) return 'duplicate';
    this.#seen.add(absolute);
    return 'new';
  }
}

describe('serialDistance', () => {
  it.each([
    [5, 5, 0],
    [6, 5, 1],
    [5, 6, -1],
    [0, 0xffffffff, 1],
    [0xffffffff, 0, -1],
    [0x7fffffff, 0, 0x7fffffff],
    [0, 0x7fffffff, -0x7fffffff],
    [0x80000000, 0, -(2 ** 31)],
    [0, 0x80000000, -(2 ** 31)],
    [0x80000005, 4, -(2 ** 31) + 1],
  ])('F32: from %i back to %i is %i', (a, b, want) => {
    expect(serialDistance(a, b)).toBe(want);
  });
});

describe('DedupWindow', () => {
  it.each([0, 1, 0x7fffffff, 0x80000000, 0xffffffff])(
    'F41: the first seq is new, also %i, and then a duplicate',
    (seq) => {
      expect(accept(seq, seq)).toEqual(['new', 'duplicate']);
    },
  );

  it.each([
    [0, 'duplicate'],
    [1, 'new'],
    [31, 'new'],
    [32, 'new'],
    [33, 'new'],
    [63, 'new'],
    [64, 'stale'],
    [65, 'stale'],
  ])('F42: %i behind the newest is %s, and seen a second time never new', (behind, want) => {
    for (const newest of [1000, 0, 40, 0x80000010]) {
      expect(accept(newest, newest - behind, newest - behind)).toEqual([
        'new',
        want,
        want === 'stale' ? 'stale' : 'duplicate',
      ]);
    }
  });

  it.each([1, 2, 30, 31, 32, 33, 62, 63])('F43: after a jump of %i both ends are remembered', (jump) => {
    for (const start of [0, 7, 0xffffffe0, 0x7fffffe0]) {
      expect(accept(start, start + jump, start, start + jump)).toEqual([
        'new',
        'new',
        'duplicate',
        'duplicate',
      ]);
    }
  });

  it.each([64, 65, 96, 1000, 0x7fffffff])(
    'F43: a jump of %i leaves the old behind and forgets its bits',
    (jump) => {
      for (const start of [0, 7, 0xffffffe0]) {
        const end = start + jump;
        expect(accept(start, end, start, end, end - 1, end - 63)).toEqual([
          'new',
          'new',
          'stale',
          'duplicate',
          'new',
          'new',
        ]);
      }
    },
  );

  it.each([31, 32, 33, 63, 64, 65])('a full window shifted by %i keeps exactly what still fits', (jump) => {
    const window = new DedupWindow();
    for (let seq = 0; seq < 64; seq++) window.accept(seq);
    window.accept(63 + jump);
    for (let seq = 0; seq < 63 + jump; seq++) {
      const behind = 63 + jump - seq;
      const want = behind >= 64 ? 'stale' : seq < 64 ? 'duplicate' : 'new';
      expect(window.accept(seq), `seq ${seq}`).toBe(want);
    }
  });

  it('exactly 2^31 away is stale from either side and moves nothing', () => {
    expect(accept(0, 0x80000000, 1)).toEqual(['new', 'stale', 'new']);
    expect(accept(0x80000000, 0, 0x80000001)).toEqual(['new', 'stale', 'new']);
  });

  it('F31: the wrap is an ordinary step', () => {
    expect(accept(0xfffffffe, 0xffffffff, 0, 1, 0xffffffff, 0)).toEqual([
      'new',
      'new',
      'new',
      'new',
      'duplicate',
      'duplicate',
    ]);
  });

  it('equals a Set-based model on random walks, across the wrap', () => {
    const step = fc.oneof(
      fc.integer({ min: -70, max: 70 }),
      fc.constantFrom(-65, -64, -63, -33, -32, -31, 0, 1, 31, 32, 33, 63, 64, 65),
    );
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.array(step, { maxLength: 200 }), (start, steps) => {
        const window = new DedupWindow();
        const model = new ModelWindow();
        let at = start;
        for (const [index, delta] of steps.entries()) {
          at += delta;
          expect(window.accept(at >>> 0), `step ${index}`).toBe(model.accept(at));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('reset forgets: the next seq is new, the old bits are gone', () => {
    const window = new DedupWindow();
    for (let seq = 100; seq < 164; seq++) window.accept(seq);
    window.reset();
    expect(window.distance(7)).toBe(0);
    expect(window.accept(163)).toBe('new');
    expect(window.accept(162)).toBe('new');
    expect(window.accept(100)).toBe('new');
  });

  it('distance is measured from the newest, 0 while nothing was seen', () => {
    const window = new DedupWindow();
    expect(window.distance(0x80000001)).toBe(0);
    window.accept(0xfffffff0);
    window.accept(0xffffffee);
    expect(window.distance(0x10)).toBe(0x20);
    expect(window.distance(0xffffffef)).toBe(-1);
  });

  it('refuses what is no u32 and stays as it was', () => {
    const window = new DedupWindow();
    expect(() => window.accept(-1)).toThrow(
      new RangeError('seq must be an integer in 0..4294967295, got -1'),
    );
    expect(() => window.accept(2 ** 32)).toThrow(RangeError);
    expect(() => window.accept('1' as unknown as number)).toThrow(TypeError);
    expect(window.accept(0)).toBe('new');
  });
});
