/**
 * How long a failure can go unnoticed, by detector: our verdict, the kernel's keepalive, the kernel's patience with
 * data in flight. Linux figures from `net/ipv4/tcp_timer.c` and `kernel/time/timer.c`, and checked on a real one.
 */
import { type KeepAliveTimes, keepAliveGivesUpMs, keepAliveProblem } from '../../session/kernel-patience.ts';
import { INITIAL_RTO_MS } from '../../session/rtt.ts';
import type { RetransmissionRules } from './environment.ts';

/** When a detector speaks, after the last sign of life. Infinity: never. NaN: not known on this system. */
export interface DetectorTime {
  /** By its rule, at the latest. */
  readonly ms: number;
  /** By its rule, at the soonest; less than `ms` where it depends on when our next beat leaves. */
  readonly soonestMs: number;
  /** At most this much later than `ms`: ticks, timers and back-off of who looks. */
  readonly lateMs: number;
  /** The rule, in one clause. */
  readonly rule: string;
}

/** What the kernel goes by. */
export interface KernelRules {
  /** false: off. */
  readonly keepAlive: false | KeepAliveTimes;
  readonly userTimeoutMs: number | false;
  /** The user time-out is kept by the kernel, not by this process in its place. */
  readonly byKernel: boolean;
  /** Undefined: not known here. */
  readonly retransmission: RetransmissionRules | undefined;
}

/** Linux runs a timer up to an eighth of its length late, so that many can be run at once. */
const TIMER_SLACK = 1 / 8;

const slackMs = (ms: number): number => Math.ceil(ms * TIMER_SLACK);

const at = (ms: number, lateMs: number, rule: string): DetectorTime => ({ ms, soonestMs: ms, lateMs, rule });

const never = (rule: string): DetectorTime => at(Infinity, 0, rule);

/** A connection without heartbeats, nothing in flight: only keepalive asks. */
export function kernelWithoutBeats({ keepAlive, userTimeoutMs, byKernel }: KernelRules): DetectorTime {
  if (keepAlive === false) return never('keepalive is off');
  if (keepAliveProblem(keepAlive) !== undefined) return never('this keepalive would be refused');
  const judgeMs = byKernel ? userTimeoutMs : false; // ours in its place takes no part in the kernel's rules
  const ms = keepAliveGivesUpMs(keepAlive, judgeMs);
  const probes = (ms - keepAlive.idleMs) / keepAlive.intervalMs;
  const sum = `keepalive ${keepAlive.idleMs} + ${probes} x ${keepAlive.intervalMs} ms`;
  const why = judgeMs === false ? '' : `, the count replaced by the user time-out of ${judgeMs} ms`;
  return at(ms, slackMs(ms), `${sum}${why}; only while we send nothing`);
}

/**
 * A link, nothing in flight: that lasts until our next beat, an interval at most. With it keepalive is silent, and the
 * kernel's patience with data in flight begins. Keepalive is in time only when all its questions fit in before.
 */
export function kernelWithBeats(rules: KernelRules, intervalMs: number, tickMs: number): DetectorTime {
  const inFlight = kernelWithDataInFlight(rules);
  const beat = `${inFlight.rule}, from our next beat on (within ${intervalMs} ms)`;
  const late = { ms: intervalMs + inFlight.ms, lateMs: tickMs + inFlight.lateMs };
  const asking = kernelWithoutBeats(rules);
  if (asking.ms < intervalMs) {
    // Unless the peer's last word came so late that our beat is first.
    const soonestMs = Number.isNaN(inFlight.ms) ? asking.ms : Math.min(asking.ms, inFlight.soonestMs);
    return {
      ...late,
      soonestMs,
      rule: `keepalive after ${asking.ms} ms when that is before our beat; ${beat}`,
    };
  }
  const mute = asking.ms === Infinity ? '' : `; keepalive (${asking.ms} ms) asks nothing then`;
  return { ...late, soonestMs: inFlight.soonestMs, rule: `${beat}${mute}` };
}

/** Data of ours is not acknowledged. Keepalive is silent then. */
export function kernelWithDataInFlight({
  userTimeoutMs,
  byKernel,
  retransmission,
}: Omit<KernelRules, 'keepAlive'>): DetectorTime {
  const own = kernelsOwnPatience(retransmission);
  if (userTimeoutMs === false) return own;
  if (!byKernel) {
    const blind = `an emulated user time-out (${userTimeoutMs} ms) sees only what this process still holds`;
    return { ...own, rule: `${own.rule}; ${blind}` };
  }
  // It counts from the first retransmission, before which the end of the data may have been sent once more.
  const firstTriesMs = 2 * (retransmission?.rtoMinMs ?? INITIAL_RTO_MS);
  return at(userTimeoutMs, slackMs(userTimeoutMs) + firstTriesMs, `user time-out of ${userTimeoutMs} ms`);
}

/** Back-off doubles from the least RTO to the greatest, `retries` times (Linux, `tcp_model_timeout`). */
function kernelsOwnPatience(rules: RetransmissionRules | undefined): DetectorTime {
  if (rules === undefined) return at(Number.NaN, 0, "this system's own rule, not known here");
  const { retries, rtoMinMs, rtoMaxMs, isRead } = rules;
  const doublings = Math.min(retries, Math.floor(Math.log2(rtoMaxMs / rtoMinMs)));
  const ms = (2 ** (doublings + 1) - 1) * rtoMinMs + (retries - doublings) * rtoMaxMs;
  const backOffMs = Math.min(rtoMaxMs, ms + rtoMinMs); // looked at with each retransmission
  return at(ms, backOffMs + slackMs(backOffMs), `tcp_retries2 = ${retries}${isRead ? '' : ' (assumed)'}`);
}

/** A peer whose process hangs, or is stopped: its kernel goes on acknowledging. */
export const KERNEL_WHEN_HUNG: DetectorTime = never("the peer's kernel answers for its process");
