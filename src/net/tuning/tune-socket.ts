/**
 * One socket tuned: by Node where it has a call, in the kernel for the rest, in this process where the kernel is out
 * of reach; then read back. Keepalive is the safety net under the heartbeats: it finds a dead path when this process
 * is too busy to beat, but a hung process still has a kernel that answers for it, and it is silent while data is in
 * flight; the user time-out is for that.
 */
import type { Socket } from 'node:net';
import { typeError } from '../../base/errors.ts';
import { isTcp, socketFd } from '../handle.ts';
import { emulation } from './emulation.ts';
import { currentKernel, type Kernel, readFromKernel, setInKernel } from './kernel.ts';
import { byNodesWord, setByNode, takesIntervalAndCount } from './node-offers.ts';
import { type TuneOptions, type TunePlan, tunePlan } from './options.ts';
import {
  summarise,
  type TunedName,
  type TunedSetting,
  type TunedSettings,
  type TuneReport,
} from './report.ts';

type Settings = Partial<Record<TunedName, TunedSetting>>;
type Refused = ReadonlyMap<TunedName, number>;

const NOTHING_REFUSED: Refused = new Map();

/** What was last asked of a socket: an older call's report would go by a word that no longer holds. */
const newest = new WeakMap<Socket, TunePlan>();

/** What sockets that are not connected yet are still to get, in the order it was asked: the newest holds. */
const waiting = new WeakMap<Socket, (() => void)[]>();

/**
 * Tune one socket: now, or when it is connected. Costs a few microseconds per setting. RangeError or TypeError names
 * the option; nothing is changed then. Not to be mixed with calls of `setKeepAlive` and `setNoDelay`, of which Node
 * leaves out those that it believes to be in force.
 */
export function tuneSocket(socket: Socket, options: TuneOptions = {}): TuneReport {
  return tuneSocketWith(currentKernel(), socket, options);
}

/** The same with a given access to the kernel, or none. */
export function tuneSocketWith(
  kernel: Kernel | undefined,
  socket: Socket,
  options: TuneOptions = {},
): TuneReport {
  if (typeof socket?.setKeepAlive !== 'function') throw typeError('socket', 'a net.Socket', socket);
  const plan = tunePlan(options);
  let refused = NOTHING_REFUSED;
  const apply = (): void => {
    newest.set(socket, plan);
    refused = applyTo(kernel, socket, plan);
  };
  const isPending = (): boolean => socket.connecting || socket.pending;
  if (isPending() && !socket.destroyed) whenConnected(socket, apply);
  else {
    applyWaiting(socket); // we may be called by a listener that comes before ours
    apply();
  }
  const read = (): TuneReport => {
    const settings = socket.destroyed
      ? each(plan, 'unsupported', 'the socket is closed')
      : isPending()
        ? each(plan, 'pending')
        : settingsOf(kernel, socket, plan, refused);
    return { appliedTo: 'socket', settings, ...summarise(settings), read };
  };
  return read();
}

function whenConnected(socket: Socket, apply: () => void): void {
  const before = waiting.get(socket);
  if (before !== undefined) {
    before.push(apply);
    return;
  }
  waiting.set(socket, [apply]);
  socket.prependOnceListener('connect', () => applyWaiting(socket));
}

function applyWaiting(socket: Socket): void {
  const all = waiting.get(socket) ?? [];
  waiting.delete(socket);
  for (const apply of all) apply();
}

/** Apply the plan to a socket that stands. Returns what the kernel refused. */
export function applyTo(kernel: Kernel | undefined, socket: Socket, plan: TunePlan): Refused {
  setByNode(socket, plan);
  const fd = socketFd(socket);
  const refused = kernel === undefined || fd === undefined ? NOTHING_REFUSED : setInKernel(kernel, fd, plan);
  const { userTimeoutMs } = plan;
  if (userTimeoutMs !== undefined) {
    const isOutOfReach = kernel === undefined || fd === undefined || refused.has('userTimeoutMs');
    emulation.set(socket, isOutOfReach ? userTimeoutMs : false);
  }
  return refused;
}

function settingsOf(kernel: Kernel | undefined, socket: Socket, plan: TunePlan, refused: Refused): Settings {
  const fd = socketFd(socket);
  const settings =
    kernel !== undefined && fd !== undefined
      ? readFromKernel(kernel, fd, plan, refused)
      : !isTcp(socket)
        ? each(plan, 'unsupported', 'not a TCP socket')
        : newest.get(socket) === plan
          ? byNodesWord(plan, takesIntervalAndCount)
          : each(plan, 'unknown', 'a later call took its place');
  const { userTimeoutMs } = plan;
  const limitMs = emulation.limitMs(socket);
  const isKernels = limitMs === false && settings.userTimeoutMs?.knownFrom === 'kernel';
  if (userTimeoutMs === undefined || isKernels) return settings;
  return { ...settings, userTimeoutMs: emulated(userTimeoutMs, limitMs) };
}

/** What this process does in the kernel's place. */
export function emulated(asked: number | false, limitMs: number | false): TunedSetting {
  if (asked === false) return { asked, inForce: undefined, status: 'unknown' };
  const note = 'watched from this process: data that the kernel has taken is not seen';
  return { asked, inForce: limitMs, status: 'emulated', note };
}

/** The same for every setting. */
export function each(plan: TunePlan, status: TunedSetting['status'], note?: string): TunedSettings {
  const asked = byNodesWord(plan, true);
  if (plan.userTimeoutMs !== undefined) asked.userTimeoutMs = emulated(plan.userTimeoutMs, false);
  const all = Object.entries(asked).map(([name, setting]) => [
    name,
    { asked: setting.asked, inForce: undefined, status, ...(note !== undefined && { note }) },
  ]);
  return Object.fromEntries(all) as Settings;
}
