/** The peer's counter: window verdicts, jumps at the limits, restarts (F66), and one forged number (F44). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PeerSequence } from '../../src/session/sequence.ts';

const verdicts = (...seqs: number[]): string[] => {
  const sequence = new PeerSequence();
  return seqs.map((seq) => sequence.accept(seq >>> 0));
};

describe('PeerSequence', () => {
  it.each([0, 1, 2 ** 31, 2 ** 32 - 1])('F41: the first number may be %i', (seq) => {
    expect(verdicts(seq, seq, seq + 1)).toEqual(['new', 'duplicate', 'new']);
  });

  it.each([
    ['a jump of 1024 is taken', [50, 1074, 1075], ['new', 'new', 'new']],
    [
      'F66: one of 1025 is a candidate, the next number confirms it',
      [50, 1075, 1076, 1077],
      ['new', 'candidate', 'new', 'new'],
    ],
    ['63 behind is in the window', [500, 437, 437], ['new', 'new', 'duplicate']],
    ['64 behind is a candidate', [500, 436, 501], ['new', 'candidate', 'new']],
    ['F66: a counter that restarts at 0', [4_000_000_000, 0, 1, 2], ['new', 'candidate', 'new', 'new']],
    ['F66: a restart across the wrap', [500, 2 ** 32 - 1000, 2 ** 32 - 999], ['new', 'candidate', 'new']],
    [
      'F66: a candidate at the last number, confirmed by 0',
      [2 ** 31, 2 ** 32 - 1, 0],
      ['new', 'candidate', 'new'],
    ],
    ['F44: one huge number moves nothing', [500, 9000, 501, 9001], ['new', 'candidate', 'new', 'candidate']],
    [
      'a candidate repeated, then confirmed',
      [500, 9000, 9000, 9001],
      ['new', 'candidate', 'candidate', 'new'],
    ],
    ['F32: exactly half the circle away is no newer', [0, 2 ** 31, 1], ['new', 'candidate', 'new']],
    [
      'F43: after a restart both its numbers are known',
      [50, 9000, 9001, 9000, 9001],
      ['new', 'candidate', 'new', 'duplicate', 'duplicate'],
    ],
    [
      'after a restart the old numbers are far away',
      [50, 9000, 9001, 51],
      ['new', 'candidate', 'new', 'candidate'],
    ],
    ['F31: across the wrap', [2 ** 32 - 1, 0, 2 ** 32 - 1], ['new', 'new', 'duplicate']],
  ] as [string, number[], string[]][])('%s', (_, seqs, want) => {
    expect(verdicts(...seqs)).toEqual(want);
  });

  it('F44: a single stray number, whatever it is, costs the true counter nothing', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        (start, stray) => {
          const distance = (stray - start) | 0;
          fc.pre(distance > 1024 || distance <= -64);
          fc.pre(((stray + 1) | 0) !== ((start + 1) | 0));
          expect(verdicts(start, stray, start + 1, start + 2)).toEqual(['new', 'candidate', 'new', 'new']);
        },
      ),
    );
  });
});
