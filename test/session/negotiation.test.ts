/**
 * Negotiation: the words on the wire, who switches when, and two peers that change their minds at random for a long
 * time without one false kill. Both orders that would kill (the sender slows at POLL, the receiver shortens at POLL)
 * are run as mutants and must be caught.
 */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { type Answer, MAX_DETECTION_MS, Negotiation, type Rates } from '../../src/session/negotiation.ts';
import { Param, RefuseCode } from '../../src/wire/constants.ts';
import { makeParam, paramId, paramToken, paramValue } from '../../src/wire/param.ts';

const rates = (desiredMinTxMs: number, requiredMinRxMs: number, detectMultiplier = 3): Rates => ({
  desiredMinTxMs,
  requiredMinRxMs,
  detectMultiplier,
});

/** A's group, given to B as it would arrive. */
function exchange(a: Negotiation, b: Negotiation, nowMs: number): Answer {
  const group = a.poll(nowMs)!;
  for (const word of group.slice(0, 3)) b.stage(word);
  return b.polled(group[3], false, nowMs);
}

describe('Negotiation', () => {
  it('sends the golden words', () => {
    const side = new Negotiation(rates(1000, 1000), 0x59);
    side.want(rates(15_000, 10_000), 0);
    expect(side.poll(0)!.map((word) => word.toString(16))).toEqual([
      '1003a98',
      '2002710',
      '3000003',
      '45ab1c3',
    ]);
  });

  it('before anything is agreed both intervals are our own', () => {
    const side = new Negotiation(rates(5000, 100, 4), 0);
    expect([side.txIntervalMs, side.rxIntervalMs, side.multiplier]).toEqual([5000, 5000, 4]);
  });

  it("per direction the slower side decides, and the multiplier is the sender's", () => {
    const a = new Negotiation(rates(5000, 7000, 2), 0);
    const b = new Negotiation(rates(60_000, 100, 5), 0);
    a.want(a.mine, 0);
    b.want(b.mine, 0);
    const toA = exchange(a, b, 0);
    const toB = exchange(b, a, 0);
    expect([toA.kind, toB.kind]).toEqual(['agreed', 'agreed']);
    expect(a.final((toA as { word: number }).word, 1)).toBe(true);
    expect(b.final((toB as { word: number }).word, 1)).toBe(true);
    expect([a.txIntervalMs, a.rxIntervalMs, a.multiplier]).toEqual([5000, 60_000, 5]);
    expect([b.txIntervalMs, b.rxIntervalMs, b.multiplier]).toEqual([60_000, 5000, 2]);
  });

  it('whoever must do more starts at POLL, whoever may do less waits for FINAL', () => {
    const a = new Negotiation(rates(1000, 1000), 0);
    a.peer = rates(1000, 100);
    a.want(rates(4000, 500), 0);
    a.poll(0);
    expect([a.txIntervalMs, a.rxIntervalMs]).toEqual([1000, 1000]); // slower tx, smaller rx: not yet
    a.final(makeParam(Param.Final, paramValue(0x04_01_0000 | 0)), 1);
    const b = new Negotiation(rates(1000, 1000), 0);
    b.peer = rates(1000, 100);
    b.want(rates(500, 4000), 0);
    b.poll(0);
    expect([b.txIntervalMs, b.rxIntervalMs]).toEqual([500, 4000]); // faster tx, larger rx: at once
  });

  it('our own multiplier narrows the spread of our sends at once, and widens it at FINAL', () => {
    const side = new Negotiation(rates(1000, 100, 3), 0);
    side.want(rates(1000, 100, 1), 0);
    side.poll(0);
    expect(side.jitterMultiplier).toBe(1);
    const wide = new Negotiation(rates(1000, 100, 1), 0);
    wide.want(rates(1000, 100, 3), 0);
    wide.poll(0);
    expect(wide.jitterMultiplier).toBe(1);
  });

  it('a peer that only answers is expected at our own rate', () => {
    const side = new Negotiation(rates(2000, 500), 0);
    side.peer = rates(0, 100);
    expect([side.txIntervalMs, side.rxIntervalMs]).toEqual([2000, 2000]);
  });

  it('one POLL at a time; a later wish waits, the last one wins, and a second passes in between', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    const answer = exchange(a, b, 0) as { word: number };
    a.want(rates(3000, 100), 10);
    a.want(rates(4000, 100), 10);
    expect([a.dueMs, a.poll(20)]).toEqual([Infinity, undefined]);
    a.final(answer.word, 50);
    expect([a.dueMs, a.poll(1049)]).toEqual([1050, undefined]);
    expect(paramValue(a.poll(1050)![0])).toBe(4000);
  });

  it('a repeated POLL gets the same answer and applies nothing', () => {
    const a = new Negotiation(rates(1000, 100), 7);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    const group = a.poll(0)!;
    for (const word of group.slice(0, 3)) b.stage(word);
    const first = b.polled(group[3], false, 0);
    b.peer = rates(9000, 100);
    expect(b.polled(group[3], false, 1)).toEqual({
      kind: 'repeated',
      word: (first as { word: number }).word,
    });
    expect(b.peer.desiredMinTxMs).toBe(9000);
  });

  it('a POLL without its words, or with other words than it vouches for, is not answered', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    const group = a.poll(0)!;
    expect(b.polled(group[3], false, 0).kind).toBe('ignored');
    for (const word of group.slice(0, 2)) b.stage(word);
    b.stage(makeParam(Param.DetectMult, 4));
    expect(b.polled(group[3], false, 0).kind).toBe('ignored');
    for (const word of group.slice(0, 3)) b.stage(word);
    expect(b.polled(group[3], false, 0).kind).toBe('agreed'); // nothing of the bad groups was kept
  });

  it.each([
    ['required rx 0', rates(1000, 0), RefuseCode.IllegalValue],
    ['multiplier 0', rates(1000, 100, 0), RefuseCode.IllegalValue],
    ['multiplier 256', rates(1000, 100, 256), RefuseCode.IllegalValue],
    ['an answerer that would have us wait for ever', rates(0, 0xffffff, 255), RefuseCode.DetectionTooLong],
    ['detection one ms too long', rates(MAX_DETECTION_MS + 1, 100, 1), RefuseCode.DetectionTooLong],
  ])('refuses %s and keeps what was agreed on both sides', (_name, asked, code) => {
    const a = new Negotiation(rates(1000, 100), 0);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(asked, 0);
    const answer = exchange(a, b, 0) as { kind: string; word: number; code: number };
    expect([answer.kind, answer.code, b.peer]).toEqual(['refused', code, undefined]);
    expect(a.refuse(answer.word, 1)).toBe(code);
    expect([a.mine, a.isOutstanding]).toEqual([rates(1000, 100), false]);
  });

  it('takes a detection of exactly the limit', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(rates(MAX_DETECTION_MS, 100, 1), 0);
    expect(exchange(a, b, 0).kind).toBe('agreed');
  });

  it('refuses POLLs that come too often', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    a.final((exchange(a, b, 0) as { word: number }).word, -1000);
    a.want(rates(3000, 100), 0);
    expect(exchange(a, b, 499)).toMatchObject({ kind: 'refused', code: RefuseCode.TooOften });
  });

  it('without an answer the peer counts as mute, and a late FINAL still counts', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    const b = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    const answer = exchange(a, b, 0) as { word: number };
    expect(a.giveUpMs).toBe(5000);
    a.giveUp();
    expect([a.isMute, a.txIntervalMs]).toEqual([true, 1000]);
    expect(a.final(answer.word, 9000)).toBe(true);
    expect([a.isMute, a.txIntervalMs]).toEqual([false, 2000]);
  });

  it('while the answer is out we stay as fast and as patient as either set of values asks, however long', () => {
    const a = new Negotiation(rates(5000, 100), 0);
    a.peer = rates(1000, 100);
    a.want(rates(1000, 4000), 0);
    a.poll(0);
    a.giveUp();
    expect([a.txIntervalMs, a.rxIntervalMs, a.giveUpMs]).toEqual([1000, 4000, Infinity]);
    a.want(rates(9000, 100), 6000);
    expect([a.dueMs, a.poll(6000)]).toEqual([Infinity, undefined]); // no second POLL on top of an open one
  });

  it('a FINAL or REFUSE of another token changes nothing', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    const word = a.poll(0)![3];
    const other = makeParam(Param.Final, paramValue(word) ^ 0x010000);
    expect([a.final(other, 1), a.refuse(makeParam(Param.Refuse, 0x020100), 1)]).toEqual([false, 0]);
    expect([a.isOutstanding, paramToken(word)]).toEqual([true, 1]);
  });

  it('our own POLL coming back is a reflection', () => {
    const a = new Negotiation(rates(1000, 100), 0);
    a.want(rates(2000, 100), 0);
    const group = a.poll(0)!;
    for (const word of group.slice(0, 3)) a.stage(word);
    expect(a.polled(group[3], true, 0).kind).toBe('reflected');
  });

  it('the same word under another number is a peer with the same wishes, whose POLL crosses ours', () => {
    const [a, b] = [new Negotiation(rates(1000, 100), 0), new Negotiation(rates(1000, 100), 0)];
    for (const one of [a, b]) one.want(rates(2000, 100), 0);
    const [ofA, ofB] = [a.poll(0)!, b.poll(0)!];
    expect(ofB).toEqual(ofA);
    for (const word of ofB.slice(0, 3)) a.stage(word);
    expect(a.polled(ofB[3], false, 0)).toMatchObject({ kind: 'agreed' });
    expect(a.final(ofA[3] + 0x01000000, 0)).toBe(true);
  });
});

// ---- two peers that change their minds at random -----------------------------

class SenderSlowsAtPoll extends Negotiation {
  override get txIntervalMs(): number {
    const wish = this.outstandingRates?.desiredMinTxMs ?? this.mine.desiredMinTxMs;
    return Math.max(wish, this.peer?.requiredMinRxMs ?? 0);
  }
}

class ReceiverShortensAtPoll extends Negotiation {
  override get rxIntervalMs(): number {
    const wish = this.outstandingRates?.requiredMinRxMs ?? this.mine.requiredMinRxMs;
    return Math.max(this.peer?.desiredMinTxMs ?? 0, wish);
  }
}

const VALUES = [1000, 2000, 5000, 10_000, 30_000];

/** Worst-case senders (each exactly at its interval) over two constant delays. Null, or how somebody was killed. */
function falseKill(Kind: typeof Negotiation, seed: number, events: number): string | null {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[random.u32() % from.length] as T;
  // The slowest wish is refused unless one miss may mean death: a refused sender must not have slowed already.
  const someRates = (): Rates => rates(pick([...VALUES, 200_000]), pick(VALUES), pick([1, 2, 3]));
  const sides = [new Kind(someRates(), random.u32()), new Kind(someRates(), random.u32())] as const;
  sides[0].peer = sides[1].mine;
  sides[1].peer = sides[0].mine;
  const delayMs = [10 + (random.u32() % 3000), 10 + (random.u32() % 3000)];
  const lastTxMs = [0, 0];
  const lastRxMs: (number | undefined)[] = [undefined, undefined];
  let plan: { atMs: number; order: number; run: (nowMs: number) => string | null }[] = [];
  let order = 0;
  const at = (atMs: number, run: (nowMs: number) => string | null): void => {
    plan.push({ atMs, order: order++, run });
  };
  const generation: [number, number] = [0, 0];
  const arm = (me: 0 | 1, nowMs: number): void => {
    const mine = ++generation[me];
    const spread = sides[me].jitterMultiplier === 1 ? 0.9 : 1;
    at(Math.max(nowMs, lastTxMs[me]! + sides[me].txIntervalMs * spread), (now) => {
      if (generation[me] === mine) send(me, now, []);
      return null;
    });
  };
  const send = (me: 0 | 1, nowMs: number, words: readonly number[]): void => {
    lastTxMs[me] = nowMs;
    const peer = (1 - me) as 0 | 1;
    at(nowMs + delayMs[me]!, (now) => hear(peer, now, words));
    arm(me, nowMs);
  };
  const hear = (me: 0 | 1, nowMs: number, words: readonly number[]): string | null => {
    const side = sides[me];
    const silentMs = nowMs - (lastRxMs[me] ?? nowMs);
    const limitMs = side.multiplier * side.rxIntervalMs;
    if (silentMs > limitMs + 1e-6)
      return `t=${nowMs} side ${me} silent ${silentMs} > ${limitMs} (seed ${seed})`;
    lastRxMs[me] = nowMs;
    for (const word of words) {
      const id = paramId(word);
      if (id <= Param.DetectMult) side.stage(word);
      else if (id === Param.Final) side.final(word, nowMs);
      else if (id === Param.Refuse) side.refuse(word, nowMs);
      else {
        const answer = side.polled(word, false, nowMs);
        if ('word' in answer) send(me, nowMs, [answer.word]);
      }
    }
    arm(me, nowMs);
    return null;
  };
  const change = (me: 0 | 1, nowMs: number): null => {
    const side = sides[me];
    if (!side.isOutstanding) side.want(someRates(), nowMs);
    at(Math.max(nowMs, side.dueMs === Infinity ? nowMs : side.dueMs), (now) => {
      const group = side.poll(now);
      if (group !== undefined) send(me, now, group);
      return null;
    });
    at(nowMs + 500 + (random.u32() % 60_000), (now) => change(me, now));
    return null;
  };
  for (const me of [0, 1] as const) {
    send(me, 0, []);
    at(1000 + (random.u32() % 20_000), (now) => change(me, now));
  }
  for (let done = 0; done < events; done++) {
    let first = 0;
    for (let index = 1; index < plan.length; index++) {
      const a = plan[index]!;
      const b = plan[first]!;
      if (a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)) first = index;
    }
    const [next] = plan.splice(first, 1);
    const kill = next!.run(next!.atMs);
    if (kill !== null) return kill;
    if (plan.length > 200) plan = plan.filter(({ atMs }) => atMs >= next!.atMs);
  }
  return null;
}

describe('two peers that change their minds at random', () => {
  it('never kill each other', () => {
    for (let seed = 1; seed <= 150; seed++) expect(falseKill(Negotiation, seed, 1500)).toBeNull();
  });

  it.each([
    ['the sender slows at POLL', SenderSlowsAtPoll],
    ['the receiver shortens at POLL', ReceiverShortensAtPoll],
  ])('would, if %s', (_name, Mutant) => {
    const kills = Array.from({ length: 60 }, (_, seed) => falseKill(Mutant, seed + 1, 1500)).filter(Boolean);
    expect(kills.length).toBeGreaterThan(5);
  });
});
