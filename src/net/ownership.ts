/**
 * Takes a socket over for a link, and gives it back. While owned, its events go to the link, and a host that still
 * calls `socket.write` itself is followed (when it gave an outbound framing function) or refused loudly, because a
 * heartbeat could land inside its frame.
 *
 * Shared functions that find the owner on the socket object: no closure and no listener object per connection.
 * `socket.end(data)` is let through: nothing can follow it, so no heartbeat can land inside; what waits goes first.
 */
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { typeError, WirebeatError } from '../base/errors.ts';

const OWNER = Symbol('wirebeat.owner');
/** The socket's own `end`, when it had one that is not its class's. */
const OWN_END = Symbol('wirebeat.end');

export type WriteCallback = (error?: Error | null) => void;

/** The link, as its socket sees it. */
export interface SocketOwner {
  receive(chunk: Uint8Array): void;
  peerEnded(): void;
  socketFailed(error: NodeJS.ErrnoException): void;
  socketClosed(): void;
  /** The host wrote to the socket directly. Throws HB_ERR_HOST_WRITE when that is not allowed. */
  hostWroteDirectly(bytes: Uint8Array, callback: WriteCallback | undefined): boolean;
  /** `socket.end` was called, and nothing can be written after it. */
  willEnd(): void;
}

type OwnedSocket = Socket & { [OWNER]?: SocketOwner; [OWN_END]?: Socket['end'] };

/** The link that owns this socket now, if any. */
export function ownerOf(socket: Socket): SocketOwner | undefined {
  return (socket as OwnedSocket)[OWNER];
}

export function ownSocket(socket: Socket, owner: SocketOwner): void {
  (socket as OwnedSocket)[OWNER] = owner;
  socket.write = guardedWrite as Socket['write'];
  if (Object.hasOwn(socket, 'end')) (socket as OwnedSocket)[OWN_END] = socket.end;
  socket.end = guardedEnd as Socket['end'];
  if (!Object.hasOwn(socket, 'setEncoding')) socket.setEncoding = refuseEncoding;
  if (socket instanceof Socket && !Object.hasOwn(socket, 'push')) socket.push = directPush as Socket['push'];
  socket.on('data', onData);
  socket.on('end', onEnd);
  socket.on('error', onError);
  socket.on('close', onClose);
  socket.on('newListener', onNewListener);
}

/** The socket is as it was before, with its own `write`. */
export function disownSocket(socket: Socket, originalWrite: Socket['write']): void {
  socket.off('data', onData);
  socket.off('end', onEnd);
  socket.off('error', onError);
  socket.off('close', onClose);
  socket.off('newListener', onNewListener);
  stopDirectPush(socket);
  if (socket.setEncoding === refuseEncoding) delete (socket as Partial<Socket>).setEncoding;
  delete (socket as OwnedSocket)[OWNER];
  if (originalWrite === Object.getPrototypeOf(socket).write) delete (socket as Partial<Socket>).write;
  else socket.write = originalWrite;
  const ownEnd = (socket as OwnedSocket)[OWN_END];
  delete (socket as Partial<Socket>).end;
  if (ownEnd !== undefined) socket.end = ownEnd;
}

/** Destroy a socket nobody owns any more; a late error of it must not end the process. */
export function discardSocket(socket: Socket): void {
  if (socket.destroyed) return;
  socket.on('error', ignore);
  socket.destroy();
}

function isTls(socket: Socket): boolean {
  return (socket as TLSSocket).encrypted === true;
}

/** Does this stream keep what it is given to write? Plain sockets are done with it once the kernel has it. */
export function keepsBytes(socket: Socket): boolean {
  return isTls(socket) || !(socket instanceof Socket);
}

/** Which event tells that the connection stands; undefined when it does already. */
export function openEvent(socket: Socket): string | undefined {
  // `secure` is told on both ends of TLS; on a client after the certificate was checked, or the socket destroyed.
  if (isTls(socket) && (socket as TLSSocket & { secureConnecting?: boolean }).secureConnecting === true) {
    return 'secure';
  }
  return socket.connecting ? 'connect' : undefined;
}

function guardedWrite(this: OwnedSocket, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  const done = typeof encoding === 'function' ? encoding : callback;
  const charset = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, charset) : chunk;
  if (!(bytes instanceof Uint8Array)) throw typeError('chunk', 'a string or a Uint8Array', chunk);
  return (this[OWNER] as SocketOwner).hostWroteDirectly(bytes, done as WriteCallback | undefined);
}

function guardedEnd(this: OwnedSocket, ...args: Parameters<Socket['end']>): Socket {
  this[OWNER]?.willEnd();
  const end = this[OWN_END] ?? (Object.getPrototypeOf(this) as Socket).end;
  return end.apply(this, args);
}

/** Text instead of bytes would be found out by the first chunk only, in the middle of somebody's read. */
function refuseEncoding(): never {
  throw new WirebeatError(
    'HB_ERR_SOCKET_STATE',
    'setEncoding was called while a link owns the socket; heartbeats need bytes',
  );
}

/**
 * What Node calls with each chunk it has read. A stream that flows would hand it to `onData` and then look for more on
 * the next tick, each time: a tenth of the processor time of a server with ten thousand quiet links.
 * Whatever is not plain (the end, a paused stream, something that waits) goes the usual way.
 */
function directPush(this: OwnedSocket, chunk: unknown, encoding?: BufferEncoding): boolean {
  const owner = this[OWNER];
  if (
    owner === undefined ||
    this.readableFlowing !== true ||
    this.readableLength > 0 ||
    !(chunk instanceof Uint8Array)
  ) {
    return (Object.getPrototypeOf(this) as Socket).push.call(this, chunk, encoding);
  }
  owner.receive(chunk);
  return true;
}

/** Somebody else wants to see the data too: all of it goes the usual way. (For `readable` the stream stops flowing.) */
function onNewListener(this: OwnedSocket, event: string | symbol): void {
  if (event === 'data') stopDirectPush(this);
}

function stopDirectPush(socket: Socket): void {
  if (socket.push === directPush) delete (socket as Partial<Socket>).push;
}

function onData(this: OwnedSocket, chunk: Buffer): void {
  this[OWNER]?.receive(chunk);
}

function onEnd(this: OwnedSocket): void {
  this[OWNER]?.peerEnded();
}

function onError(this: OwnedSocket, error: Error): void {
  this[OWNER]?.socketFailed(error);
}

function onClose(this: OwnedSocket): void {
  this[OWNER]?.socketClosed();
}

function ignore(): void {}
