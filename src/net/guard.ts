/**
 * Stands between a host and its socket while a link owns it: a host that still calls `socket.write` itself could
 * have a heartbeat land inside its frame, so the call is either followed (when the host gave an outbound framing
 * function) or refused loudly. One shared function on the socket object: no closure per connection.
 *
 * `socket.end(data)` is let through: nothing can follow it, so no heartbeat can land inside.
 */
import type { Socket } from 'node:net';

/** Where a socket keeps its link. */
const LINK = Symbol('wirebeat.link');

export type WriteCallback = (error?: Error | null) => void;

/** The link, as its socket sees it. */
export interface GuardingLink {
  /** The host wrote to the socket directly. Throws HB_ERR_HOST_WRITE when that is not allowed. */
  hostWroteDirectly(bytes: Uint8Array, callback: WriteCallback | undefined): boolean;
}

type GuardedSocket = Socket & { [LINK]?: GuardingLink };

function guardedWrite(this: GuardedSocket, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  const link = this[LINK] as GuardingLink;
  const done = typeof encoding === 'function' ? encoding : callback;
  const charset = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, charset) : (chunk as Uint8Array);
  return link.hostWroteDirectly(bytes, done as WriteCallback | undefined);
}

/** The link that owns this socket now, if any. */
export function linkOf(socket: Socket): GuardingLink | undefined {
  return (socket as GuardedSocket)[LINK];
}

export function guardSocket(socket: Socket, link: GuardingLink): void {
  (socket as GuardedSocket)[LINK] = link;
  socket.write = guardedWrite as Socket['write'];
}

/** Give the socket its own `write` back. */
export function unguardSocket(socket: Socket, originalWrite: Socket['write']): void {
  delete (socket as GuardedSocket)[LINK];
  if (originalWrite === Object.getPrototypeOf(socket).write) delete (socket as Partial<Socket>).write;
  else socket.write = originalWrite;
}
