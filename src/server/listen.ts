/** Where to listen: checked, loopback unless told otherwise, and errors that name the address. */
import { lstatSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Server } from 'node:net';
import { integerIn, knownKeys } from '../base/assert.ts';
import { typeError, WirebeatError } from '../base/errors.ts';

export interface ListenOptions {
  /** 0 (default) lets the system choose; `address()` tells which. */
  port?: number;
  /** Default 127.0.0.1: nothing is reachable from outside unless asked for. */
  host?: string;
  /** A unix socket instead of host and port. */
  path?: string;
  /** Connections the kernel holds for us until they are accepted. Default 4 096: a mass reconnect fits. */
  backlog?: number;
}

const LISTEN_DEFAULTS = Object.freeze({ port: 0, host: '127.0.0.1', backlog: 4_096 });

function checkListenOptions(
  options: ListenOptions,
): Required<Omit<ListenOptions, 'path'>> & { path?: string } {
  knownKeys('options', options, ['port', 'host', 'path', 'backlog']);
  const { port, host, backlog } = { ...LISTEN_DEFAULTS, ...options };
  integerIn('port', port, 0, 65_535);
  integerIn('backlog', backlog, 1, 65_535);
  if (typeof host !== 'string' || host === '') throw typeError('host', 'a host name or address', host);
  if (options.path === undefined) return { port, host, backlog };
  if (typeof options.path !== 'string' || options.path === '')
    throw typeError('path', 'a socket path', options.path);
  return { port, host, backlog, path: options.path };
}

/** Start listening; resolves with the address in use. */
export async function listenOn(server: Server, options: ListenOptions): Promise<AddressInfo | string> {
  const { port, host, path, backlog } = checkListenOptions(options);
  const where = path ?? (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
  if (path !== undefined) await removeStaleSocket(path);
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      reject(
        new WirebeatError(error.code ?? 'HB_ERR_LISTEN', `cannot listen on ${where}: ${explain(error)}`, {
          cause: error,
        }),
      );
    };
    server.once('error', fail);
    server.listen(path === undefined ? { port, host, backlog } : { path, backlog }, () => {
      server.off('error', fail);
      resolve(server.address() as AddressInfo | string);
    });
  });
}

function explain(error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE') return 'the address is in use';
  if (error.code === 'EACCES') return 'no permission';
  if (error.code === 'EADDRNOTAVAIL') return 'this machine does not have that address';
  if (error.code === 'ENOTFOUND') return 'the host name does not resolve';
  return error.message;
}

/** A socket file nobody answers on was left by a process that died: it would block us for nothing. */
async function removeStaleSocket(path: string): Promise<void> {
  // Connecting to an ordinary file is refused as well, and that one is not ours to remove.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const code = await new Promise<string | undefined>((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(undefined);
    });
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  if (code === 'ECONNREFUSED') rmSync(path, { force: true });
}
