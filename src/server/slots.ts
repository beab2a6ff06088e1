/** Do something to each of many, not all at once: a few every 10 ms, so that those concerned do not act as one. */
import { setTimeout as delay } from 'node:timers/promises';

const SLOT_MS = 10;

/** Resolves when the last had its turn, after about `spreadMs` at the latest; few items take one slot each. */
export async function inSlots<T>(
  items: readonly T[],
  spreadMs: number,
  act: (item: T) => void,
): Promise<void> {
  const startMs = performance.now();
  for (let done = 0; done < items.length; ) {
    if (done > 0) await delay(SLOT_MS);
    const share = spreadMs === 0 ? 1 : Math.min(1, (performance.now() - startMs) / spreadMs);
    const due = Math.max(done + 1, Math.ceil(share * items.length));
    for (; done < due; done++) act(items[done] as T);
  }
}
