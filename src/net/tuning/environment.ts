/** What this process can do to a socket's kernel options, and the kernel's own rules as far as it tells them. */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { nativeAccess } from '../native/native.ts';
import { currentKernel } from './kernel.ts';
import { takesIntervalAndCount } from './node-offers.ts';

/** Linux: how data in flight is given up. Times in ms. */
export interface RetransmissionRules {
  /** tcp_retries2. */
  readonly retries: number;
  readonly rtoMinMs: number;
  readonly rtoMaxMs: number;
  /** False: this kernel does not tell; the values are Linux's defaults. */
  readonly isRead: boolean;
}

export interface TuningEnvironment {
  /** `v20.19.0`. */
  readonly node: string;
  /** `linux 6.8.0`. */
  readonly system: string;
  /** Node itself passes the probe interval and the count of keepalive on. */
  readonly takesIntervalAndCount: boolean;
  /** Options of the kernel are in reach (koffi). */
  readonly native: boolean;
  /** Why they are not. */
  readonly absence?: string;
  /** Undefined: not Linux. */
  readonly retransmission?: RetransmissionRules;
}

const FOLDER = '/proc/sys/net/ipv4/';
const LINUX_DEFAULTS = { retries: 15, rtoMinMs: 200, rtoMaxMs: 120_000 };

function sysctl(name: string): number | undefined {
  try {
    const value = Number(readFileSync(`${FOLDER}${name}`, 'latin1'));
    return Number.isFinite(value) ? value : undefined;
  } catch {
    return undefined; // not mounted, not readable, or an older kernel
  }
}

/** This kernel's rules, or Linux's defaults for what it does not tell. */
export function retransmissionRules(
  read: (name: string) => number | undefined = sysctl,
): RetransmissionRules {
  const retries = read('tcp_retries2');
  const rtoMinUs = read('tcp_rto_min_us'); // kernels from 6.11 on
  return {
    retries: retries ?? LINUX_DEFAULTS.retries,
    rtoMinMs: rtoMinUs === undefined ? LINUX_DEFAULTS.rtoMinMs : rtoMinUs / 1_000,
    rtoMaxMs: read('tcp_rto_max_ms') ?? LINUX_DEFAULTS.rtoMaxMs, // from 6.15 on
    isRead: retries !== undefined,
  };
}

export function tuningEnvironment(): TuningEnvironment {
  const { absence } = nativeAccess();
  return {
    node: process.version,
    system: `${process.platform} ${release()}`,
    takesIntervalAndCount,
    native: currentKernel() !== undefined,
    ...(absence !== undefined && { absence }),
    ...(process.platform === 'linux' && { retransmission: retransmissionRules() }),
  };
}
