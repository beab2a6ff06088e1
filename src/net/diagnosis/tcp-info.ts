/**
 * TCP_INFO on Linux: what the kernel knows of one connection, read at once (about 10 us). Only fields that have kept
 * their places since Linux 4.6; the peer's window came with 6.2 and is used where it is told.
 *
 * Source: struct tcp_info in linux/tcp.h. Byte order is the machine's own; times in microseconds, ages in ms.
 */
import { endianness } from 'node:os';
import type { NativeSockets } from '../native/native.ts';
import { type KernelFigures, stateName } from './evidence.ts';

const LEVEL_TCP = 6;
const TCP_INFO = 11;
const LEVEL_SOCKET = 1;
const SO_ERROR = 4;

/** All that Linux tells today. */
const INFO_BYTES = 256;
/** Up to tcpi_min_rtt: less is a kernel too old to tell. */
const LEAST_BYTES = 152;
const LITTLE = endianness() === 'LE';

const At = {
  state: 0,
  retransmits: 2,
  probes: 3,
  backoff: 4,
  rto: 8,
  sendMss: 16,
  unackedSegments: 24,
  lastDataReceived: 52,
  lastAckReceived: 56,
  rtt: 68,
  rttvar: 72,
  totalRetransmits: 100,
  ackedBytes: 120,
  unsentBytes: 144,
  minRtt: 148,
  sentBytes: 200,
  retransmittedBytes: 208,
  sendWindow: 228,
} as const;

const US_PER_MS = 1_000;
/** "No minimum known": all bits set. */
const NO_MIN_RTT = 0xffff_ffff;

/** `bytes` as getsockopt filled them, `length` of them; undefined when that is too little. Never throws. */
export function parseTcpInfo(bytes: Uint8Array, length: number, little = LITTLE): KernelFigures | undefined {
  if (length < LEAST_BYTES || bytes.length < length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  const u32 = (at: number): number => view.getUint32(at, little);
  const u64 = (at: number): number => Number(view.getBigUint64(at, little));
  const unsentBytes = u32(At.unsentBytes);
  const unackedSegments = u32(At.unackedSegments);
  // Bytes unsent with nothing under way: only the peer's window can hold them back. Less than a segment is as good
  // as closed, because the kernel waits for more.
  const hasRoom = length >= At.sendWindow + 4 && u32(At.sendWindow) >= u32(At.sendMss);
  const windowClosed = unackedSegments === 0 && unsentBytes > 0 && !hasRoom;
  const probes = view.getUint8(At.probes);
  const minRtt = u32(At.minRtt);
  return {
    source: 'tcp-info',
    state: stateName(view.getUint8(At.state)),
    unackedBytes: unsentBytes + (unackedSegments === 0 ? 0 : bytesInFlight(u64, length, unackedSegments)),
    retransmits: view.getUint8(At.retransmits),
    windowClosed,
    // The counter of probes starts again with each answer, the back-off between them does not.
    zeroWindowProbes: windowClosed ? Math.max(probes, view.getUint8(At.backoff)) : 0,
    unansweredProbes: probes,
    ackAgeMs: u32(At.lastAckReceived),
    dataAgeMs: u32(At.lastDataReceived),
    rttMs: u32(At.rtt) / US_PER_MS,
    rttvarMs: u32(At.rttvar) / US_PER_MS,
    rttMinMs: minRtt === NO_MIN_RTT ? undefined : minRtt / US_PER_MS,
    rtoMs: u32(At.rto) / US_PER_MS,
    totalRetransmits: u32(At.totalRetransmits),
    ackedBytes: u64(At.ackedBytes),
    unsentBytes,
  };
}

/** The connecting side's SYN counts as an acknowledged byte, so this is one short there. Older kernels: segments. */
function bytesInFlight(u64: (at: number) => number, length: number, segments: number): number {
  if (length < At.retransmittedBytes + 8) return segments;
  return Math.max(1, u64(At.sentBytes) - u64(At.retransmittedBytes) - u64(At.ackedBytes));
}

const target = new Uint8Array(INFO_BYTES); // calls are synchronous and do not nest

/** Of an open TCP socket; undefined for anything else. */
export function readTcpInfo(native: NativeSockets, fd: number): KernelFigures | undefined {
  return parseTcpInfo(target, native.getBytes(fd, LEVEL_TCP, TCP_INFO, target));
}

/**
 * The error a router told by ICMP, a positive errno; 0: none. The kernel only notes it while it goes on trying. Reading
 * takes the note (or a real error) away: for sockets about to be destroyed.
 */
export function takeSocketError(native: NativeSockets, fd: number): number {
  return native.getInt(fd, LEVEL_SOCKET, SO_ERROR) ?? 0;
}
