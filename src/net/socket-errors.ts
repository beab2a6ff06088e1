/** What a socket's error says about the peer, as a cause and in words. */
import type { Cause } from '../session/causes.ts';

/** A reset, an ICMP message, a socket file that is not there: our peer was not reached. */
const UNREACHABLE = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'ENOENT',
]);
const UNRESOLVED = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NONAME', 'EAI_NODATA']);
/** OpenSSL's and Node's codes for a certificate that is not accepted. */
const UNTRUSTED =
  /^(CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|ERR_TLS_CERT_)/;

/** The cause behind the code of a socket error. ETIMEDOUT is the kernel's own verdict (keepalive or user time-out). */
export function causeOfSocketError(code: string | undefined): Cause {
  if (code === undefined) return 'unknown';
  if (code === 'ETIMEDOUT') return 'link-dead';
  if (UNREACHABLE.has(code)) return 'peer-unreachable';
  if (UNRESOLVED.has(code)) return 'name-unresolved';
  if (UNTRUSTED.test(code)) return 'untrusted';
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO') return 'protocol-error';
  return 'unknown';
}

/** One clause for people. OpenSSL's own message begins with a thread's number and ends with a path of its build. */
export function textOfSocketError(
  error: NodeJS.ErrnoException & { hostname?: string; address?: string },
): string {
  const { code, message, hostname, address } = error;
  const tls = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1];
  if (tls === 'wrong version number') return 'the other side does not speak TLS';
  if (tls !== undefined) return `TLS: ${tls.replace(/^\w+ alert/, 'alert')}`;
  if (code === 'EAI_AGAIN') return `no name server answers about ${hostname}`;
  if (code !== undefined && UNRESOLVED.has(code)) return `no host is named ${hostname}`;
  if (code === 'ENOENT' && address !== undefined) return `there is no socket ${address}`;
  return message;
}
