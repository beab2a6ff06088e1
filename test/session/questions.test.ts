/** Questions and answers: what a round trip may be concluded from, since when the peer is asked, when to ask again. */
import { describe, expect, it } from 'vitest';
import { sessionPolicy } from '../../src/session/index.ts';
import { Limits } from '../../src/session/limits.ts';
import { Questions, UNMATCHED } from '../../src/session/questions.ts';

/** T 1000, M 3. Wire time here is the clock itself. */
const make = (preciseRtt = false): Questions => {
  const questions = new Questions(new Limits(sessionPolicy({ intervalMs: 1000 })), preciseRtt);
  questions.restart(10_000);
  return questions;
};
const answer = (questions: Questions, seq: number, echoed: number, nowMs: number): number =>
  questions.answered(seq, echoed, Math.floor(nowMs), false, nowMs);

describe('Questions: the round trip', () => {
  it('is our wire clock minus the echo', () => {
    const questions = make();
    questions.sent(5, true, true, 10_000.7);
    expect(answer(questions, 5, 10_000, 10_250.2)).toBe(250);
    expect([questions.rtt.samples, questions.rtt.latestMs, questions.outstanding]).toEqual([1, 250, 0]);
  });

  it('F31: crosses the wrap of the wire clock', () => {
    const questions = make();
    questions.sent(5, true, true, 10_000);
    expect(questions.answered(5, 0xfffffff0, 0x10, false, 10_032)).toBe(0x20);
  });

  it('is exact when send times are kept', () => {
    const questions = make(true);
    questions.sent(4_294_967_295, true, true, 10_000.25);
    questions.sent(0, true, true, 10_001.5);
    expect(answer(questions, 4_294_967_295, 10_000, 10_003)).toBe(2.75);
    expect(answer(questions, 0, 10_001, 10_003)).toBe(1.5);
  });

  it('is not taken from a forged echo: older than the first waiting question', () => {
    const questions = make();
    questions.sent(1, true, true, 10_000);
    questions.sent(2, true, true, 10_400);
    expect(answer(questions, 2, 9_999, 10_500)).toBeNaN();
    expect(answer(questions, 1, 10_000, 10_500)).toBe(500);
    questions.sent(3, true, true, 11_000);
    expect(answer(questions, 3, 10_999, 11_100)).toBeNaN();
    questions.sent(4, true, true, 11_200);
    expect(answer(questions, 4, 12_000, 11_300)).toBeNaN(); // from the future
    expect(questions.rtt.samples).toBe(1);
  });

  it('is not taken from an answer that a check of the application delayed', () => {
    const questions = make();
    questions.sent(1, true, true, 10_000);
    expect(questions.answered(1, 10_000, 10_100, true, 10_100)).toBeNaN();
    expect([questions.rtt.samples, questions.outstanding]).toEqual([0, 0]);
  });

  it('is not taken from answers to questions of before a restart', () => {
    const questions = make();
    questions.sent(1, true, true, 10_000);
    questions.restart(20_000);
    questions.sent(2, true, true, 20_010);
    expect(answer(questions, 1, 10_000, 20_020)).toBeNaN();
    expect(answer(questions, 2, 20_010, 20_030)).toBe(20);
  });

  it('repeated, late and foreign answers match nothing', () => {
    const questions = make();
    questions.sent(1, true, true, 10_000);
    questions.sent(2, false, true, 10_000);
    expect(answer(questions, 1, 10_000, 10_001)).toBe(1);
    for (const seq of [1, 2, 3, 0]) expect(answer(questions, seq, 10_000, 10_002)).toBe(UNMATCHED);
  });
});

describe('Questions: asked', () => {
  it('since the first ping in the kernel after the last life, plus one time-out', () => {
    const questions = make();
    expect([questions.isAsked, questions.isAsking]).toEqual([false, false]);
    questions.sent(1, false, true, 10_000);
    expect(questions.isAsked).toBe(false);
    questions.sent(2, true, true, 10_100.9);
    questions.sent(3, true, true, 10_500);
    expect([questions.isAsked, questions.isAsking, questions.answerDueMs]).toEqual([true, true, 11_100]);
    questions.refuted();
    expect([questions.isAsked, questions.isAsking]).toEqual([false, false]);
  });

  it('a ping in our own queue counts only when the kernel has it', () => {
    const questions = make();
    questions.sent(1, true, false, 10_000);
    expect([questions.isAsked, questions.isAsking]).toEqual([false, true]);
    questions.flushed(12_000.5);
    expect([questions.isAsked, questions.answerDueMs]).toEqual([true, 13_000]);
    questions.refuted();
    questions.flushed(13_000);
    expect(questions.isAsked).toBe(false);
  });

  it('a flush does not make an older question younger', () => {
    const questions = make();
    questions.sent(1, true, true, 10_000);
    questions.sent(2, true, false, 10_100);
    questions.flushed(15_000);
    expect(questions.answerDueMs).toBe(11_000);
  });
});

describe('Questions: asking again', () => {
  it('is due at once while the round trip is unknown, else D after the last question or answer', () => {
    const questions = make();
    expect(questions.askAtMs).toBe(10_000);
    questions.sent(1, true, true, 11_000);
    expect(questions.askAtMs).toBe(14_000);
    answer(questions, 1, 11_000, 12_000);
    expect(questions.askAtMs).toBe(15_000);
    questions.restart(20_000); // our own pause: the round trip is known
    expect(questions.askAtMs).toBe(23_000);
  });

  it('is due soon after a pause in which nothing could be measured, an interval after the last question', () => {
    const questions = make();
    questions.sent(1, true, true, 19_500);
    questions.restart(20_000);
    expect([questions.askAtMs, questions.unansweredMs(20_000)]).toEqual([20_500, -1]);
    questions.restart(30_000);
    expect(questions.askAtMs).toBe(30_000);
  });

  it('tells how long the newest question has waited, until one is answered', () => {
    const questions = make();
    expect(questions.unansweredMs(10_500)).toBe(-1);
    questions.sent(1, true, true, 11_000);
    expect(questions.unansweredMs(11_800)).toBe(800);
    answer(questions, 1, 11_000, 12_000);
    expect(questions.unansweredMs(12_500)).toBe(-1);
  });
});
