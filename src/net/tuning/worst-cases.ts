/**
 * How long a failure can go unnoticed, by detector: our verdict, the kernel's keepalive, the kernel's patience with
 * data in flight. Linux figures from `net/ipv4/tcp_timer.c` and `kernel/time/timer.c`, and checked on a real one.
 */
import { type KeepAliveTimes, keepAliveGivesUpMs, keepAliveProblem } from '../../session/kernel-patience.ts';
import { INITIAL_RTO_MS } from '../../session/rtt.ts';
import type { RetransmissionRules } from './environment.ts';

/** When a detector speaks. */
export interface DetectorTime {
  /** By its rule, after the last sign of life; Infinity: never. NaN: not known on this system. */
  readonly ms: number;
  /** At most this much later: ticks, timers and back-off of who looks. */
  readonly lateMs: number;
  /** The rule, in one clause. */
  readonly rule: string;
}

/** Linux runs a timer up to an eighth of its length late, so that many can be run at once. */
const TIMER_SLACK = 1 / 8;

const slackMs = (ms: number): number => Math.ceil(ms * TIMER_SLACK);

const never = (rule: string): DetectorTime => ({ ms: Infinity, lateMs: 0, rule });

/** Nothing is in flight and nothing is sent: only keepalive asks. */
export function kernelWhenIdle(
  keepAlive: false | KeepAliveTimes,
  userTimeoutMs: number | false,
): DetectorTime {
  if (keepAlive === false) return never('keepalive is off');
  if (keepAliveProblem(keepAlive) !== undefined) return never('this keepalive would be refused');
  const ms = keepAliveGivesUpMs(keepAlive, userTimeoutMs);
  const probes = (ms - keepAlive.idleMs) / keepAlive.intervalMs;
  const sum = `keepalive ${keepAlive.idleMs} + ${probes} x ${keepAlive.intervalMs} ms`;
  const why =
    userTimeoutMs === false ? '' : `, the count replaced by the user time-out of ${userTimeoutMs} ms`;
  return { ms, lateMs: slackMs(ms), rule: `${sum}${why}; only while we send nothing` };
}

/** Data of ours is not acknowledged. Keepalive is silent then. `byKernel`: the time-out is the kernel's, not ours. */
export function kernelWithDataInFlight(
  userTimeoutMs: number | false,
  byKernel: boolean,
  rules: RetransmissionRules | undefined,
): DetectorTime {
  const own = kernelsOwnPatience(rules);
  if (userTimeoutMs === false) return own;
  if (!byKernel) {
    const blind = `an emulated user time-out (${userTimeoutMs} ms) sees only what this process still holds`;
    return { ...own, rule: `${own.rule}; ${blind}` };
  }
  // It counts from the first retransmission, before which the end of the data may have been sent once more.
  const firstTriesMs = 2 * (rules?.rtoMinMs ?? INITIAL_RTO_MS);
  const lateMs = slackMs(userTimeoutMs) + firstTriesMs;
  return { ms: userTimeoutMs, lateMs, rule: `user time-out of ${userTimeoutMs} ms` };
}

/** Back-off doubles from the least RTO to the greatest, `retries` times (Linux, `tcp_model_timeout`). */
function kernelsOwnPatience(rules: RetransmissionRules | undefined): DetectorTime {
  if (rules === undefined)
    return { ms: Number.NaN, lateMs: 0, rule: "this system's own rule, not known here" };
  const { retries, rtoMinMs, rtoMaxMs, isRead } = rules;
  const doublings = Math.min(retries, Math.floor(Math.log2(rtoMaxMs / rtoMinMs)));
  const ms = (2 ** (doublings + 1) - 1) * rtoMinMs + (retries - doublings) * rtoMaxMs;
  const backOffMs = Math.min(rtoMaxMs, ms + rtoMinMs); // looked at with each retransmission
  const lateMs = backOffMs + slackMs(backOffMs);
  return { ms, lateMs, rule: `tcp_retries2 = ${retries}${isRead ? '' : ' (assumed)'}` };
}

/** A peer whose process hangs, or is stopped: its kernel goes on acknowledging. */
export const KERNEL_WHEN_HUNG: DetectorTime = never("the peer's kernel answers for its process");
