/** Parameter words: golden words, the whole range of each field, the digest, and misuse. */
import { describe, expect, it } from 'vitest';
import * as param from '../../src/wire/param.ts';

describe('parameter words', () => {
  it('id in bits 24-31, value in bits 0-23, over the whole range of both', () => {
    for (const id of [0, 1, 127, 128, 255]) {
      for (const value of [0, 1, 0x800000, 0xffffff]) {
        const word = param.makeParam(id, value);
        expect(word).toBe(id * 2 ** 24 + value);
        expect([param.paramId(word), param.paramValue(word)]).toEqual([id, value]);
      }
    }
  });

  it('GOAWAY_INFO: the golden word (too fast, 30.0 s) and its parts', () => {
    const word = param.makeGoAwayInfo(2, 300);
    expect(word).toBe(0x0702012c);
    expect([param.goAwayReason(word), param.goAwayRetryAfterUnits(word)]).toEqual([2, 300]);
    expect(param.makeGoAwayInfo(255, 0xffff)).toBe(0x07ffffff);
  });

  it('digest b1c3 over the golden words, POLL and FINAL that carry it', () => {
    const digest = param.parameterDigest(0x01003a98, 0x02002710, 0x03000003);
    expect(digest).toBe(0xb1c3);
    const poll = param.makePoll(0x5a, digest);
    expect(poll).toBe(0x045ab1c3);
    expect(param.makeFinal(poll)).toBe(0x055ab1c3);
    expect([param.paramToken(poll), param.pollDigest(poll)]).toEqual([0x5a, 0xb1c3]);
  });

  it('the digest depends on each word and on their order', () => {
    const digests = [
      param.parameterDigest(1, 2, 3),
      param.parameterDigest(2, 1, 3),
      param.parameterDigest(1, 3, 2),
    ];
    digests.push(param.parameterDigest(0xffffffff, 2, 3), param.parameterDigest(1, 2, 0xffffffff));
    expect(new Set(digests).size).toBe(digests.length);
  });

  it('REFUSE: token and code', () => {
    const word = param.makeRefuse(0x5a, 2);
    expect(word).toBe(0x085a0200);
    expect([param.paramToken(word), param.refuseCode(word)]).toEqual([0x5a, 2]);
  });

  it.each<[string, () => number]>([
    ['id', () => param.makeParam(256, 0)],
    ['value', () => param.makeParam(1, 0x1000000)],
    ['value', () => param.makeParam(1, -1)],
    ['reason', () => param.makeGoAwayInfo(256, 0)],
    ['retryAfterUnits', () => param.makeGoAwayInfo(0, 0x10000)],
    ['token', () => param.makePoll(256, 0)],
    ['digest', () => param.makePoll(0, 0x10000)],
    ['pollWord', () => param.makeFinal(2 ** 32)],
    ['token', () => param.makeRefuse(-1, 0)],
    ['code', () => param.makeRefuse(0, 256)],
    ['desiredMinTx', () => param.parameterDigest(-1, 0, 0)],
    ['requiredMinRx', () => param.parameterDigest(0, 2 ** 32, 0)],
    ['detectMult', () => param.parameterDigest(0, 0, 0.5)],
  ])('refuses a bad %s by name (%#)', (name, make) => {
    expect(make).toThrow(RangeError);
    expect(make).toThrow(new RegExp(`^${name} must be`));
  });
});
