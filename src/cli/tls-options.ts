/** The TLS flags, the same on every command that opens or accepts connections, and the files behind them. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Command } from 'commander';
import { messageOf, UsageError } from './errors.ts';

export interface TlsFlags {
  tls?: boolean;
  ca?: string;
  cert?: string;
  key?: string;
  servername?: string;
}

interface Credentials {
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
}

export function addClientTlsFlags(command: Command): Command {
  return command
    .option('--tls', 'speak TLS')
    .option('--ca <file>', 'trust the authorities in this PEM file instead of the well-known ones')
    .option('--cert <file>', 'our own certificate, PEM (mutual TLS)')
    .option('--key <file>', 'the key of our certificate, PEM')
    .option('--servername <name>', 'the name the certificate must carry, if it is not the host');
}

export function addServerTlsFlags(command: Command): Command {
  return command
    .option('--tls', 'speak TLS; needs --cert and --key')
    .option('--cert <file>', 'our certificate, PEM')
    .option('--key <file>', 'the key of our certificate, PEM')
    .option('--ca <file>', 'admit only clients with a certificate of these authorities, PEM (mutual TLS)');
}

/** Options for connecting; undefined without --tls. UsageError for flags or files that cannot be used. */
export function clientTls(flags: TlsFlags): (Credentials & { servername?: string }) | undefined {
  const credentials = readCredentials(flags);
  if (credentials === undefined) return undefined;
  return flags.servername === undefined ? credentials : { ...credentials, servername: flags.servername };
}

/** Options for accepting; undefined without --tls. UsageError for flags or files that cannot be used. */
export function serverTls(
  flags: TlsFlags,
): (Credentials & { requestCert: boolean; rejectUnauthorized: boolean }) | undefined {
  const credentials = readCredentials(flags);
  if (credentials === undefined) return undefined;
  if (credentials.cert === undefined) throw new UsageError('--tls needs --cert and --key');
  const isMutual = credentials.ca !== undefined;
  return { ...credentials, requestCert: isMutual, rejectUnauthorized: isMutual };
}

function readCredentials(flags: TlsFlags): Credentials | undefined {
  if (flags.tls !== true) {
    const stray = (['ca', 'cert', 'key', 'servername'] as const).find((name) => flags[name] !== undefined);
    if (stray !== undefined) throw new UsageError(`--${stray} needs --tls`);
    return undefined;
  }
  if ((flags.cert === undefined) !== (flags.key === undefined)) {
    throw new UsageError('--cert and --key belong together');
  }
  const credentials: Credentials = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const file = flags[name];
    if (file !== undefined) credentials[name] = readPem(name, file);
  }
  try {
    createSecureContext(credentials);
  } catch (error) {
    throw new UsageError(`the TLS files do not fit: ${messageOf(error)}`);
  }
  return credentials;
}

function readPem(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`--${name} cannot be read: ${messageOf(error)}`);
  }
}
