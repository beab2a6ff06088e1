/**
 * The one place that looks behind `net.Socket`: how many bytes the kernel really took. `writableLength` and
 * `bytesWritten` stand still during one large write; the stream handle's `writeQueueSize` moves. On TLS the visible
 * handle's count stands still and its parent, the TCP handle, has the true one. Undocumented, so each field is
 * checked, and without it the documented (coarser) counters serve.
 */
import type { Socket } from 'node:net';

interface StreamHandle {
  readonly bytesWritten?: unknown;
  readonly writeQueueSize?: unknown;
  readonly _parent?: StreamHandle | null;
}

/** Bytes of this socket that the kernel has taken so far. On TLS: of the encrypted stream. */
export function kernelTakenBytes(socket: Socket): number {
  const visible = (socket as unknown as { _handle?: StreamHandle | null })._handle;
  const handle = visible?._parent ?? visible;
  if (typeof handle?.bytesWritten === 'number' && typeof handle.writeQueueSize === 'number') {
    return handle.bytesWritten - handle.writeQueueSize;
  }
  return socket.bytesWritten - socket.writableLength;
}
