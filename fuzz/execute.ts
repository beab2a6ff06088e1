/**
 * Runs inputs through a target under a watchdog, so that an input on which it never returns is a finding like any
 * other. JavaScript cannot be interrupted from its own thread; `vm` can, from a thread of its own, whatever the code
 * called from its script. Starting that thread costs as much as some inputs do, hence a batch of them at a time.
 */
import { createContext, Script } from 'node:vm';

/** The invariant is broken by the input at `index` of the batch. */
export interface Finding {
  readonly index: number;
  readonly error: Error;
  readonly isHang: boolean;
}

const script = new Script('run()');
const shared: { run: () => void } = { run: () => {} };
const context = createContext(shared);

/** The first finding of the batch, or undefined. `hangMs` bounds the whole batch. */
export function execute(
  fuzz: (data: Buffer) => void,
  batch: readonly Buffer[],
  hangMs: number,
): Finding | undefined {
  let index = 0;
  shared.run = () => {
    for (; index < batch.length; index++) fuzz(batch[index]!);
  };
  try {
    script.runInContext(context, { timeout: hangMs, displayErrors: false });
    return undefined;
  } catch (thrown) {
    const isHang = (thrown as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    if (isHang) return { index, error: new Error(`no end within ${hangMs} ms`), isHang };
    return { index, error: thrown instanceof Error ? thrown : new Error(String(thrown)), isHang };
  }
}
