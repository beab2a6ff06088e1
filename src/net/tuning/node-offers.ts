/**
 * What Node itself can set on a socket. `setKeepAlive(true, ms)` floors to whole seconds, and below one second keeps
 * the system's 7 200 s; Node up to 22 fixes the probe interval at 1 s and the count at 10. Later ones say by the
 * length of their function that they take both. Node swallows a refusal of the kernel, so what is known by its word
 * is known only for TCP sockets that stand.
 */
import { Socket } from 'node:net';
import type { TunePlan } from './options.ts';
import type { TunedName, TunedSetting } from './report.ts';

/** What libuv sets where Node has no arguments for it. */
export const FIXED_INTERVAL_MS = 1_000;
export const FIXED_COUNT = 10;

type SetKeepAlive = (enable: boolean, idleMs: number, intervalMs?: number, count?: number) => unknown;

/** This Node passes the probe interval and the count on. */
export const takesIntervalAndCount = Socket.prototype.setKeepAlive.length >= 4;

/** Ask Node for all it has a call for. */
export function setByNode(socket: Socket, { keepAlive, noDelay }: TunePlan): void {
  socket.setNoDelay(noDelay);
  if (keepAlive === false) socket.setKeepAlive(false);
  else {
    const set = socket.setKeepAlive as SetKeepAlive;
    set.call(socket, true, keepAlive.idleMs, keepAlive.intervalMs, keepAlive.count);
  }
}

/** What must hold after `setByNode`, as far as Node's word goes. */
export function byNodesWord(
  { keepAlive, noDelay }: TunePlan,
  takesAll: boolean,
): Partial<Record<TunedName, TunedSetting>> {
  const set = <V extends number | boolean>(asked: V): TunedSetting => ({
    asked,
    inForce: asked,
    status: 'set',
    knownFrom: 'node',
  });
  const fixed = (asked: number, inForce: number): TunedSetting =>
    takesAll
      ? set(asked)
      : { asked, inForce, status: 'unsupported', knownFrom: 'node', note: 'fixed by this Node' };
  return {
    noDelay: set(noDelay),
    keepAlive: set(keepAlive !== false),
    ...(keepAlive !== false && {
      keepAliveIdleMs: set(keepAlive.idleMs),
      keepAliveIntervalMs: fixed(keepAlive.intervalMs, FIXED_INTERVAL_MS),
      keepAliveCount: fixed(keepAlive.count, FIXED_COUNT),
    }),
  };
}
