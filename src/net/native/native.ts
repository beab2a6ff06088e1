/**
 * The kernel's own socket options, for what Node has no call for: through the optional package `koffi`, which calls C
 * functions. Loaded at first use (about 10 ms), once; without it, on an unknown platform, or with WIREBEAT_NATIVE=0
 * in the environment there is no native access, which is never an error: callers do without and say so.
 *
 * A call costs about a microsecond. Descriptors are numbers that the system uses again: a caller passes one it has
 * just got from a live socket (`socketFd`), and keeps none.
 */
import { createRequire } from 'node:module';
import { type NativePlatform, nativePlatform } from './platform.ts';

export { socketFd } from '../handle.ts';

export interface NativeSockets {
  /** setsockopt of an int; 0, or the positive errno. */
  setInt(fd: number, level: number, name: number, value: number): number;
  /** getsockopt of an int; undefined when the kernel refuses. */
  getInt(fd: number, level: number, name: number): number | undefined;
  /** getsockopt into `target`; bytes filled, or minus the errno. */
  getBytes(fd: number, level: number, name: number, target: Uint8Array): number;
}

/** What came of trying: the access, or one clause that says why there is none. */
export type NativeAccess =
  | { readonly sockets: NativeSockets; readonly absence?: never }
  | { readonly sockets?: never; readonly absence: string };

type Foreign = (...values: readonly (number | NodeJS.ArrayBufferView)[]) => number;

/** As much of koffi as is used here. */
interface Koffi {
  load(library: string | null): {
    func(name: string, result: string, values: readonly string[]): Foreign;
  };
  errno(): number;
}

const INT_BYTES = 4;

/** The access through a loaded koffi. */
function bind(koffi: Koffi, { library, socketType, lastError }: NativePlatform): NativeSockets {
  const functions = koffi.load(library);
  const set = functions.func('setsockopt', 'int', [socketType, 'int', 'int', 'void *', 'int']);
  const get = functions.func('getsockopt', 'int', [socketType, 'int', 'int', 'void *', 'void *']);
  const errno = lastError === undefined ? () => koffi.errno() : functions.func(lastError, 'int', []);
  const int = new Int32Array(1); // calls are synchronous and do not nest, so that one of each serves
  const length = new Uint32Array(1);

  return {
    setInt(fd, level, name, value) {
      int[0] = value;
      return set(fd, level, name, int, INT_BYTES) === 0 ? 0 : errno();
    },
    getInt(fd, level, name) {
      int[0] = 0;
      length[0] = INT_BYTES;
      return get(fd, level, name, int, length) === 0 ? int[0] : undefined;
    },
    getBytes(fd, level, name, target) {
      length[0] = target.length;
      return get(fd, level, name, target, length) === 0 ? (length[0] as number) : -errno();
    },
  };
}

/** Try, with everything it depends on as an argument. `load` is given the package's name and throws if it fails. */
export function openNative(
  switchedOff: boolean,
  platform: NativePlatform | undefined,
  load: (name: string) => unknown,
): NativeAccess {
  if (switchedOff) return { absence: 'switched off by WIREBEAT_NATIVE=0' };
  if (platform === undefined) return { absence: 'the option numbers of this platform are not known' };
  try {
    return { sockets: bind(load('koffi') as Koffi, platform) };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
    return {
      absence: isMissing
        ? 'the package koffi is not installed (npm install koffi)'
        : `koffi failed: ${String(error)}`,
    };
  }
}

let opened: NativeAccess | undefined;

/** What this process has, found out at the first call. */
export function nativeAccess(): NativeAccess {
  opened ??= openNative(
    process.env.WIREBEAT_NATIVE === '0',
    nativePlatform(),
    createRequire(import.meta.url),
  );
  return opened;
}

/** The kernel's own options; undefined where they are out of reach. */
export function nativeSockets(): NativeSockets | undefined {
  return nativeAccess().sockets;
}
