/** What a socket's error says about the peer. */
import type { Cause } from '../session/causes.ts';

/** A reset or an ICMP message: somebody answered, but not our peer. */
const UNREACHABLE = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
]);

/** The cause behind a socket error. ETIMEDOUT is the kernel's own verdict (keepalive or user time-out). */
export function causeOfSocketError(error: NodeJS.ErrnoException): Cause {
  const { code } = error;
  if (code === undefined) return 'unknown';
  if (code === 'ETIMEDOUT') return 'link-dead';
  if (UNREACHABLE.has(code)) return 'peer-unreachable';
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO') return 'protocol-error';
  return 'unknown';
}
