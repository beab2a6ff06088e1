/**
 * The frame around every command: its output, its end by signal or by a reader that went away, its exit code.
 */
import { type ExitCode, messageOf } from './errors.ts';
import { Output, type OutputOptions } from './output.ts';
import { watchSignals } from './signals.ts';

export interface Shell {
  readonly output: Output;
  /** Aborted when the command should come to its end; the reason names the signal, or `stdout closed`. */
  readonly interrupted: AbortSignal;
}

/** Run to the end and set the exit code. A command that only computes leaves signals their default effect. */
export async function runCommand(
  options: OutputOptions,
  action: (shell: Shell) => Promise<ExitCode>,
  { handlesSignals = true } = {},
): Promise<void> {
  const controller = new AbortController();
  const output = new Output(options, () => controller.abort('stdout closed'));
  const signals = handlesSignals ? watchSignals((signal) => controller.abort(signal)) : undefined;
  try {
    process.exitCode = await action({ output, interrupted: controller.signal });
    await output.flushed();
  } catch (error) {
    output.failure(messageOf(error), (error as { code?: string } | null)?.code);
    throw error; // people read it on stderr
  } finally {
    signals?.dispose();
  }
}

/** Resolves when the command should come to its end. */
export function interruption(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
