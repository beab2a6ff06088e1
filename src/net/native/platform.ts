/**
 * The numbers of socket options, which each kernel chose for itself. Sources: Linux `asm-generic/socket.h` and
 * `linux/tcp.h`; macOS `sys/socket.h` and `netinet/tcp.h`; Windows `winsock2.h` and `ws2ipdef.h`. Only the Linux row
 * is tested. Node does not show the descriptors of Windows sockets, so that row serves only who has one.
 */

/** How one kernel names what it can be told about a TCP socket. */
export interface SocketNumbers {
  readonly socketLevel: number;
  readonly keepAlive: number;
  readonly tcpLevel: number;
  readonly noDelay: number;
  /** Idle time before the first probe, and time between probes: told in seconds. */
  readonly keepAliveIdle: number;
  readonly keepAliveInterval: number;
  readonly keepAliveCount: number;
  /** How long sent data may stay unacknowledged, and the unit in which it is told, ms. */
  readonly userTimeout: number;
  readonly userTimeoutUnitMs: number;
}

export interface NativePlatform {
  /** The library that has `setsockopt`; null: it is in the process already. */
  readonly library: string | null;
  /** The C type of a socket. */
  readonly socketType: 'int' | 'uintptr_t';
  /** The function that tells the last error, where errno does not. */
  readonly lastError?: string;
  /** Sockets are accepted with the options of their listener; false also where nobody has looked. */
  readonly listenerHandsOn: boolean;
  readonly numbers: SocketNumbers;
}

const LINUX: NativePlatform = {
  library: null,
  socketType: 'int',
  listenerHandsOn: true,
  numbers: {
    socketLevel: 1,
    keepAlive: 9,
    tcpLevel: 6,
    noDelay: 1,
    keepAliveIdle: 4,
    keepAliveInterval: 5,
    keepAliveCount: 6,
    userTimeout: 18, // TCP_USER_TIMEOUT
    userTimeoutUnitMs: 1,
  },
};

/** Untested. */
const MACOS: NativePlatform = {
  library: null,
  socketType: 'int',
  listenerHandsOn: false,
  numbers: {
    socketLevel: 0xffff,
    keepAlive: 8,
    tcpLevel: 6,
    noDelay: 1,
    keepAliveIdle: 0x10,
    keepAliveInterval: 0x101,
    keepAliveCount: 0x102,
    userTimeout: 0x80, // TCP_RXT_CONNDROPTIME
    userTimeoutUnitMs: 1_000,
  },
};

/** Untested. */
const WINDOWS: NativePlatform = {
  library: 'ws2_32.dll',
  socketType: 'uintptr_t',
  lastError: 'WSAGetLastError',
  listenerHandsOn: false,
  numbers: {
    socketLevel: 0xffff,
    keepAlive: 8,
    tcpLevel: 6,
    noDelay: 1,
    keepAliveIdle: 3,
    keepAliveInterval: 17,
    keepAliveCount: 16,
    userTimeout: 14, // TCP_MAXRTMS
    userTimeoutUnitMs: 1,
  },
};

/** Undefined: a platform whose numbers are not known here. Linux on MIPS has numbers of its own. */
export function nativePlatform(
  platform: string = process.platform,
  arch: string = process.arch,
): NativePlatform | undefined {
  if (platform === 'linux') return arch.startsWith('mips') ? undefined : LINUX;
  if (platform === 'darwin') return MACOS;
  return platform === 'win32' ? WINDOWS : undefined;
}
