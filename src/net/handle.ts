/**
 * The one place that looks behind `net.Socket`: its descriptor, and how many bytes the kernel really took.
 * `writableLength` and `bytesWritten` stand still during one large write; the stream handle's `writeQueueSize` moves.
 * On TLS the visible handle's count stands still and its parent, the TCP handle, has the true one. Undocumented, so
 * each field is checked, and without it the documented (coarser) counters serve.
 */
import type { Server, Socket } from 'node:net';

interface StreamHandle {
  readonly bytesWritten?: unknown;
  readonly writeQueueSize?: unknown;
  /** -1: closed, or hidden (Windows). */
  readonly fd?: unknown;
  /** On TCP handles only. */
  readonly setKeepAlive?: unknown;
  readonly _parent?: StreamHandle | null;
}

function handleOf(socket: Socket | Server): StreamHandle | null | undefined {
  const visible = (socket as unknown as { _handle?: StreamHandle | null })._handle;
  return visible?._parent ?? visible;
}

/**
 * The descriptor of a socket or listener, good until control returns to the event loop; of TLS, the one below.
 * Undefined: not open (yet), on Windows, or in a cluster's worker whose primary holds the listener.
 */
export function socketFd(socket: Socket | Server): number | undefined {
  const fd = handleOf(socket)?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

/** An open socket on TCP, also below TLS. */
export function isTcp(socket: Socket): boolean {
  return typeof handleOf(socket)?.setKeepAlive === 'function';
}

/** Bytes given to the system that the kernel has not taken yet. Seen also on a socket that TLS took over. */
export function untakenBytes(socket: Socket): number {
  const queuedBytes = handleOf(socket)?.writeQueueSize;
  return typeof queuedBytes === 'number' ? queuedBytes : socket.writableLength;
}

/** Bytes of this socket that the kernel has taken so far. On TLS: of the encrypted stream. */
export function kernelTakenBytes(socket: Socket): number {
  const handle = handleOf(socket);
  if (typeof handle?.bytesWritten === 'number' && typeof handle.writeQueueSize === 'number') {
    return handle.bytesWritten - handle.writeQueueSize;
  }
  return socket.bytesWritten - socket.writableLength;
}
