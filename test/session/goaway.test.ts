/** GOAWAY words: literal values, rounding, clamping, and what the other side reads. */
import { describe, expect, it } from 'vitest';
import { goAwayRetryAfterMs, goAwayWord, peerGoAwayReason } from '../../src/session/goaway.ts';

describe('goAwayWord', () => {
  it.each([
    ['too fast, 30.0 s: the golden frame', 2, 30_000, 0x0702012c, 30_000],
    ['own backoff', 1, 0, 0x07010000, 0],
    ['anything above 0 is at least 100 ms', 1, 0.5, 0x07010001, 100],
    ['rounded up', 6, 101, 0x07060002, 200],
    ['the longest that can be said', 3, 6_553_400, 0x0703fffe, 6_553_400],
    ['more is clamped to it, never read as "do not return"', 3, 6_553_401, 0x0703fffe, 6_553_400],
    ['do not return', 255, Infinity, 0x07ffffff, Infinity],
  ])('%s', (_, reason, retryAfterMs, word, read) => {
    expect(goAwayWord(reason, retryAfterMs)).toBe(word);
    expect(goAwayRetryAfterMs(word)).toBe(read);
  });

  it.each([
    [-1, 0, RangeError, /^reason must be .* got -1$/],
    [256, 0, RangeError, /^reason must be .* got 256$/],
    [1.5, 0, RangeError, /^reason must be .* got 1\.5$/],
    [1, -1, RangeError, /^retryAfterMs must be .* got -1$/],
    [1, Number.NaN, RangeError, /^retryAfterMs must be .* got NaN$/],
    [1, '5' as unknown as number, TypeError, /^retryAfterMs must be a number, got "5"$/],
  ])('refuses reason %s with retry-after %s', (reason, retryAfterMs, kind, message) => {
    expect(() => goAwayWord(reason, retryAfterMs)).toThrow(kind);
    expect(() => goAwayWord(reason, retryAfterMs)).toThrow(message);
  });
});

it.each([
  [0x07000000, 0],
  [0x07080001, 8],
  [0x07090001, 0],
  [0x07ff0001, 0],
  [0, 0],
])('the reason in %i reads as %i: one that is not assigned is none', (word, reason) => {
  expect(peerGoAwayReason(word)).toBe(reason);
});
