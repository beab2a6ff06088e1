/** The flags of the commands for an authority of this run and for a certificate it made. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority } from '../support/certificates.ts';

/** `ca`: speak TLS and trust that authority; `own`: present the certificate. Files go to `folder`. */
export function tlsFiles(folder: string, name: string): { ca: string[]; own: string[] } {
  const authority = new Authority('authority');
  const identity = authority.issue('peer', ['localhost', '127.0.0.1']);
  const file = (part: string, text: string): string => {
    const path = join(folder, `${name.replace(/\W/g, '_')}-${part}.pem`);
    writeFileSync(path, text);
    return path;
  };
  return {
    ca: ['--tls', '--ca', file('ca', authority.cert)],
    own: ['--cert', file('cert', identity.cert), '--key', file('key', identity.key)],
  };
}
