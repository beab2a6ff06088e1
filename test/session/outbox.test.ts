/** What is kept while nothing can go out: one of each kind. */
import { expect, it } from 'vitest';
import { Outbox } from '../../src/session/outbox.ts';

it('starts empty and keeps the newest answer only', () => {
  const outbox = new Outbox();
  expect([outbox.hasPong, outbox.goAwayWord]).toEqual([false, 0]);
  outbox.holdPong(0, 0);
  expect([outbox.hasPong, outbox.pongSeq, outbox.pongTimestamp]).toEqual([true, 0, 0]);
  outbox.holdPong(7, 70);
  expect([outbox.hasPong, outbox.pongSeq, outbox.pongTimestamp]).toEqual([true, 7, 70]);
});
