/**
 * Options set in the kernel and read back, by their numbers. A fake of `NativeSockets` shows tests every call.
 */
import { type NativeSockets, nativeSockets } from '../native/native.ts';
import { type NativePlatform, nativePlatform, type SocketNumbers } from '../native/platform.ts';
import type { TunePlan } from './options.ts';
import type { TunedName, TunedSetting } from './report.ts';

/** The kernel, where it can be reached. */
export interface Kernel {
  readonly sockets: NativeSockets;
  readonly platform: NativePlatform;
}

export function currentKernel(): Kernel | undefined {
  const sockets = nativeSockets();
  const platform = nativePlatform();
  return sockets === undefined || platform === undefined ? undefined : { sockets, platform };
}

interface Wish {
  readonly key: TunedName;
  readonly asked: number | boolean;
  readonly level: number;
  readonly name: number;
  /** Kernel units in one of ours. */
  readonly unit: number;
}

/** Everything the plan asks for, in the kernel's numbers. */
function wishes({ keepAlive, noDelay, userTimeoutMs }: TunePlan, numbers: SocketNumbers): Wish[] {
  const { socketLevel, tcpLevel } = numbers;
  const ofTcp = (key: TunedName, asked: number | boolean, name: number, unit = 1): Wish => ({
    key,
    asked,
    level: tcpLevel,
    name,
    unit,
  });
  const all = [
    ofTcp('noDelay', noDelay, numbers.noDelay),
    { ...ofTcp('keepAlive', keepAlive !== false, numbers.keepAlive), level: socketLevel },
  ];
  if (keepAlive !== false) {
    all.push(
      ofTcp('keepAliveIdleMs', keepAlive.idleMs, numbers.keepAliveIdle, 1_000),
      ofTcp('keepAliveIntervalMs', keepAlive.intervalMs, numbers.keepAliveInterval, 1_000),
      ofTcp('keepAliveCount', keepAlive.count, numbers.keepAliveCount),
    );
  }
  if (userTimeoutMs !== undefined) {
    all.push(ofTcp('userTimeoutMs', userTimeoutMs, numbers.userTimeout, numbers.userTimeoutUnitMs));
  }
  return all;
}

/** As the kernel counts; never less than asked. */
const toKernel = ({ asked, unit }: Wish): number => Math.ceil(Number(asked) / unit);

function fromKernel({ key, unit }: Wish, value: number): number | boolean {
  if (key === 'noDelay' || key === 'keepAlive') return value !== 0;
  return key === 'userTimeoutMs' && value === 0 ? false : value * unit;
}

/** Ask the kernel for all of it. Returns the errno of each setting it refused. */
export function setInKernel(kernel: Kernel, fd: number, plan: TunePlan): Map<TunedName, number> {
  const refused = new Map<TunedName, number>();
  for (const wish of wishes(plan, kernel.platform.numbers)) {
    const errno = kernel.sockets.setInt(fd, wish.level, wish.name, toKernel(wish));
    if (errno !== 0) refused.set(wish.key, errno);
  }
  return refused;
}

/** What the kernel holds of what was asked for. */
export function readFromKernel(
  kernel: Kernel,
  fd: number,
  plan: TunePlan,
  refused: ReadonlyMap<TunedName, number> = new Map(),
): Partial<Record<TunedName, TunedSetting>> {
  const settings: Partial<Record<TunedName, TunedSetting>> = {};
  for (const wish of wishes(plan, kernel.platform.numbers)) {
    const { key, asked, level, name } = wish;
    const held = kernel.sockets.getInt(fd, level, name);
    const errno = refused.get(key);
    const note = errno === undefined ? {} : { note: `the kernel refused it (errno ${errno})` };
    if (held === undefined) {
      settings[key] = { asked, inForce: undefined, status: 'unsupported', ...note };
      continue;
    }
    const inForce = fromKernel(wish, held);
    settings[key] =
      inForce === asked // Node may have set what we could not
        ? { asked, inForce, status: 'set', knownFrom: 'kernel' }
        : { asked, inForce, status: 'different', knownFrom: 'kernel', ...note };
  }
  return settings;
}
