/** Where to listen: checked, loopback unless told otherwise, and errors that name the address. */
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Server } from 'node:net';
import { dirname } from 'node:path';
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

/** A server that listens once, and never again after it was told to stop. */
export class Listener {
  readonly #server: Server;
  #opening: Promise<AddressInfo | string> | undefined;
  #isClosed = false;

  constructor(server: Server) {
    this.#server = server;
  }

  /** Resolves with the address in use. Rejects with HB_ERR_CLOSED when stopped before or meanwhile. */
  async listen(options: ListenOptions): Promise<AddressInfo | string> {
    const asked = checkListenOptions(options);
    this.#refuseIfClosed();
    if (this.#opening !== undefined || this.#server.listening) {
      throw new WirebeatError('HB_ERR_LISTEN', 'the server listens already; one server has one address');
    }
    this.#opening = listenOn(this.#server, asked);
    try {
      const address = await this.#opening;
      this.#refuseIfClosed();
      return address;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Accept nobody from now on; resolves when all that were accepted are gone. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    // A name may still be looked up, and Node would begin to listen after it was told to close.
    if (this.#opening !== undefined) await this.#opening.catch(() => {});
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new WirebeatError('HB_ERR_CLOSED', 'the server is closed; make a new one');
  }
}

async function listenOn(
  server: Server,
  { port, host, path, backlog }: ReturnType<typeof checkListenOptions>,
): Promise<AddressInfo | string> {
  const where = path ?? (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
  if (path !== undefined) await removeStaleSocket(path);
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      reject(
        new WirebeatError(
          error.code ?? 'HB_ERR_LISTEN',
          `cannot listen on ${where}: ${explain(error, path)}`,
          {
            cause: error,
          },
        ),
      );
    };
    server.once('error', fail);
    server.listen(path === undefined ? { port, host, backlog } : { path, backlog }, () => {
      server.off('error', fail);
      resolve(server.address() as AddressInfo | string);
    });
  });
}

function explain(error: NodeJS.ErrnoException, path: string | undefined): string {
  // Node says EACCES for a missing folder, too.
  if (path !== undefined && !existsSync(dirname(path))) return `there is no folder ${dirname(path)}`;
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
