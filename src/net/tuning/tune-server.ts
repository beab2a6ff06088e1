/**
 * All sockets of a server tuned at once: on Linux with native access the options are set on the listening socket, and
 * the kernel hands them to every socket it accepts, at no cost per connection. Elsewhere each socket is tuned as it is
 * accepted, before anybody else sees it.
 */
import type { Server, Socket } from 'node:net';
import { typeError } from '../../base/errors.ts';
import { socketFd } from '../handle.ts';
import { currentKernel, type Kernel, readFromKernel, setInKernel } from './kernel.ts';
import { byNodesWord, takesIntervalAndCount } from './node-offers.ts';
import { type TuneOptions, type TunePlan, tunePlan } from './options.ts';
import { summarise, type TunedSettings, type TuneReport } from './report.ts';
import { applyTo, each, emulated } from './tune-socket.ts';

/** What holds for a server's sockets, and how to take it back. */
interface Tuning {
  readonly plan: TunePlan;
  readonly end: () => void;
}

const tunings = new WeakMap<Server, Tuning>();

/**
 * Tune every socket this server accepts from now on; a server that does not listen yet gets its options when it does.
 * Unix sockets, and listeners held by a cluster's primary, have their sockets tuned one by one. A later call takes the
 * place of an earlier one. RangeError or TypeError names the option; nothing is changed then.
 */
export function tuneServer(server: Server, options: TuneOptions = {}): TuneReport {
  return tuneServerWith(currentKernel(), server, options);
}

/** The same with a given access to the kernel, or none. */
export function tuneServerWith(
  kernel: Kernel | undefined,
  server: Server,
  options: TuneOptions = {},
): TuneReport {
  if (typeof server?.listen !== 'function') throw typeError('server', 'a net.Server', server);
  const plan = tunePlan(options);
  const before = tunings.get(server);
  before?.end();
  // A user time-out that is not asked for is left as it is, which is as an earlier call asked.
  const inForce = { ...plan, userTimeoutMs: plan.userTimeoutMs ?? before?.plan.userTimeoutMs };
  let isEach = false;
  const onConnection = (socket: Socket): void => {
    applyTo(kernel, socket, inForce);
  };
  const tuneEach = (): void => {
    if (isEach) return;
    isEach = true;
    server.prependListener('connection', onConnection);
  };
  const tuneListener = (): void => {
    const fd = socketFd(server);
    if (kernel === undefined || fd === undefined || setInKernel(kernel, fd, inForce).size > 0) tuneEach();
  };
  const tuning: Tuning = {
    plan: inForce,
    end: () => {
      server.removeListener('connection', onConnection);
      server.removeListener('listening', tuneListener);
    },
  };
  tunings.set(server, tuning);
  if (kernel?.platform.listenerHandsOn !== true) tuneEach();
  else {
    if (server.listening) tuneListener();
    server.prependListener('listening', tuneListener); // it may close, and listen again on a new socket
  }
  const read = (): TuneReport => {
    const fd = socketFd(server);
    const settings = isEach
      ? tunings.get(server) === tuning
        ? ofEach(kernel, server, plan)
        : each(plan, 'unknown', 'a later call took its place')
      : kernel === undefined || fd === undefined
        ? each(plan, 'pending')
        : readFromKernel(kernel, fd, plan);
    return {
      appliedTo: isEach ? 'each accepted socket' : 'listener',
      settings,
      ...summarise(settings),
      read,
    };
  };
  return read();
}

/** What can be said of sockets that are still to come. */
function ofEach(kernel: Kernel | undefined, server: Server, plan: TunePlan): TunedSettings {
  const isUnix = typeof server.address() === 'string';
  if (kernel !== undefined && !isUnix) return each(plan, 'pending');
  const settings = isUnix
    ? each(plan, 'unsupported', 'not a TCP socket')
    : byNodesWord(plan, takesIntervalAndCount);
  const { userTimeoutMs } = plan;
  if (userTimeoutMs === undefined) return settings;
  return { ...settings, userTimeoutMs: emulated(userTimeoutMs, userTimeoutMs) };
}
