/** How a target says that its invariant is broken: an exception that shows what was found and what was due. */

/** Throw unless `condition` holds; `what` is the sentence that turned out to be untrue. */
export function holds(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

/** Throw unless both are the same plain data, in the same order. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const found = JSON.stringify(actual);
  const due = JSON.stringify(expected);
  if (found !== due) throw new Error(`${what}\n  found ${found}\n  due   ${due}`);
}
