/**
 * Ctrl-C and its kin. The first SIGINT, SIGTERM or SIGHUP asks the command to come to an orderly end; a later one
 * takes its default effect: the process dies of it at once, and its parent can see that.
 *
 * Caveat: `npm run` and `npx` pass a Ctrl-C on that the terminal has delivered already, so a second signal within
 * half a second is taken for the echo of the first.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const ECHO_MS = 500;

/** Watch for the first signal; `dispose` restores the defaults. */
export function watchSignals(onFirst: (signal: NodeJS.Signals) => void): { dispose(): void } {
  let firstAtMs = Infinity;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    if (firstAtMs === Infinity) {
      firstAtMs = nowMs;
      onFirst(signal);
    } else if (nowMs - firstAtMs > ECHO_MS) {
      dispose();
      process.kill(process.pid, signal);
    }
  };
  const dispose = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return { dispose };
}
