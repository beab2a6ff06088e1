/** A blocked queue: what counts as progress, and since when it stands still. */
import { expect, it } from 'vitest';
import { WriteWatch } from '../../src/session/write-watch.ts';

it('progress is a growing count of taken bytes, seen at a look', () => {
  const watch = new WriteWatch(1000, 500);
  expect([watch.progressMs, watch.lookedMs, watch.isConfirmed]).toEqual([1000, 1000, false]);
  expect(watch.look(1100, 500)).toBe(false);
  expect([watch.progressMs, watch.lookedMs, watch.isConfirmed]).toEqual([1000, 1100, true]);
  expect(watch.look(1200, 501)).toBe(true);
  expect(watch.progressMs).toBe(1200);
  expect(watch.look(1300, 501)).toBe(false);
  expect(watch.progressMs).toBe(1200);
});

it('a count that goes back is no progress, and progress allows a new report', () => {
  const watch = new WriteWatch(0, 500);
  watch.stallReported = true;
  expect(watch.look(10, 400)).toBe(false);
  expect(watch.stallReported).toBe(true);
  expect(watch.look(20, 501)).toBe(true);
  expect(watch.stallReported).toBe(false);
});
