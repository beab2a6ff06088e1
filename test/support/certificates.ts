/**
 * Certificates for the TLS tests, made anew in each run by `node:crypto` alone: an authority, and leaves it signs.
 * P-256 keys, ECDSA with SHA-256. The X.509 structure (RFC 5280 section 4.1) is put together by hand from the few
 * DER forms it needs (X.690); far from general, and good for nothing but tests.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Identity {
  /** PEM, as `node:tls` wants them. */
  readonly cert: string;
  readonly key: string;
}

/** A value with its tag and length in front. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]): Buffer => der(0x31, ...parts);
const octets = (...parts: readonly Uint8Array[]): Buffer => der(0x04, ...parts);
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.of(0), bytes);
const explicit = (number: number, ...parts: readonly Uint8Array[]): Buffer => der(0xa0 + number, ...parts);
/** The one in front keeps it positive and in shortest form, whatever the bytes. */
const positive = (bytes: Uint8Array): Buffer => der(0x02, Buffer.of(1), bytes);
const TRUE = der(0x01, Buffer.of(0xff));

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [40 * first + second];
  for (const arc of rest) {
    const base128 = [arc & 0x7f];
    for (let high = arc >>> 7; high > 0; high >>>= 7) base128.unshift((high & 0x7f) | 0x80);
    bytes.push(...base128);
  }
  return der(0x06, Buffer.from(bytes));
}

const COMMON_NAME = objectId('2.5.4.3');
const ECDSA_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'));
const DAY_MS = 86_400_000;

const nameOf = (common: string): Buffer =>
  sequence(set(sequence(COMMON_NAME, der(0x0c, Buffer.from(common)))));

/** YYMMDDHHMMSSZ, good until 2049. */
const utcTime = (date: Date): Buffer =>
  der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`));

const extension = (id: string, value: Buffer): Buffer => sequence(objectId(id), TRUE, octets(value));
const basicConstraints = (isAuthority: boolean): Buffer =>
  extension('2.5.29.19', isAuthority ? sequence(TRUE) : sequence());

function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host)
      ? der(0x87, Buffer.from(host.split('.').map(Number)))
      : host === '::1'
        ? der(0x87, Buffer.alloc(15), Buffer.of(1))
        : der(0x82, Buffer.from(host)),
  );
  return extension('2.5.29.17', sequence(...names));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/(.{64})(?=.)/g, '$1\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

function certificate(
  subject: string,
  publicKey: KeyObject,
  issuer: string,
  issuerKey: KeyObject,
  extensions: readonly Buffer[],
): string {
  const now = Date.now();
  const toBeSigned = sequence(
    explicit(0, der(0x02, Buffer.of(2))), // version 3
    positive(randomBytes(8)),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(utcTime(new Date(now - DAY_MS)), utcTime(new Date(now + DAY_MS))),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions)),
  );
  const signature = sign('sha256', toBeSigned, issuerKey);
  return pem('CERTIFICATE', sequence(toBeSigned, ECDSA_SHA256, bits(signature)));
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string;

/** A certificate authority of one test run. */
export class Authority {
  /** Its own certificate, PEM: what the other side must trust. */
  readonly cert: string;
  readonly #name: string;
  readonly #key: KeyObject;

  constructor(name: string) {
    const { publicKey, privateKey } = newKey();
    this.#name = name;
    this.#key = privateKey;
    this.cert = certificate(name, publicKey, name, privateKey, [basicConstraints(true)]);
  }

  /** A certificate for these host names and addresses, with its key. */
  issue(name: string, hosts: readonly string[]): Identity {
    const { publicKey, privateKey } = newKey();
    const extensions = [basicConstraints(false), alternativeNames(hosts)];
    return {
      cert: certificate(name, publicKey, this.#name, this.#key, extensions),
      key: keyPem(privateKey),
    };
  }
}

const authority = new Authority('wirebeat test authority');
const server = authority.issue('wirebeat test server', ['localhost', '127.0.0.1', '::1']);

/** Server options, and what a client needs to trust that server. */
export const TEST_TLS = {
  ca: authority.cert,
  server,
  client: authority.issue('wirebeat test client', ['client']),
};
