/**
 * Arithmetic of the kernel's own detectors, as far as settings must be judged against each other: when keepalive gives
 * up, and which values it takes. Source: Linux `tcp_keepalive_timer`; RFC 1122 4.2.3.6; RFC 5482.
 */

export interface KeepAliveTimes {
  readonly idleMs: number;
  readonly intervalMs: number;
  readonly count: number;
}

/** The same with the count left open. */
export type KeepAliveAsked = Omit<KeepAliveTimes, 'count'> & Partial<KeepAliveTimes>;

/** The kernel's word for a number of seconds ends at 32 767. */
export const MAX_KEEPALIVE_MS = 32_767_000;

/** Silence after which the kernel gives up an idle connection, ms. A user time-out takes the place of the count. */
export function keepAliveGivesUpMs(keepAlive: KeepAliveTimes, userTimeoutMs: number | false = false): number {
  const { idleMs, intervalMs, count } = keepAlive;
  if (userTimeoutMs === false) return idleMs + intervalMs * count;
  // Looked at with each probe, but not before one has gone unanswered.
  return idleMs + intervalMs * Math.max(1, Math.ceil((userTimeoutMs - idleMs) / intervalMs));
}

/** Why the kernel would not do what these values say; undefined: it does. */
export function keepAliveProblem({ idleMs, intervalMs }: KeepAliveAsked): string | undefined {
  for (const [name, ms] of [
    ['keepAlive.idleMs', idleMs],
    ['keepAlive.intervalMs', intervalMs],
  ] as const) {
    if (ms >= 1_000 && ms <= MAX_KEEPALIVE_MS && ms % 1_000 === 0) continue;
    const why =
      ms === 0
        ? '0 does not switch it off, keepAlive false does'
        : ms < 1_000
          ? "below a second the system's 7200 s would silently stay"
          : 'the kernel counts seconds';
    return `${name} must be whole seconds in ms, 1000..${MAX_KEEPALIVE_MS} (${why}), got ${ms}`;
  }
  return undefined;
}
