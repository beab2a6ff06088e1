/** The PROXY header, versions 1 and 2, byte by byte; and whom we believe it from. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseProxyHeader } from '../../src/server/proxy-header.ts';
import { TrustedProxies } from '../../src/server/trusted-proxies.ts';
import { proxyV2 } from '../support/proxy-headers.ts';

const line = (text: string): Buffer => Buffer.from(`${text}\r\n`, 'latin1');
const ipv4 = proxyV2(0x21, 0x11, 'c0000207 0a000001 8000 01bb');
const ipv6 = proxyV2(
  0x21,
  0x21,
  '20010db8000000000000000000000001 20010db8000000000000000000000002 8000 01bb',
);

const GOOD: [name: string, bytes: Buffer, address: string | undefined][] = [
  ['version 1, IPv4', line('PROXY TCP4 192.0.2.7 10.0.0.1 32768 443'), '192.0.2.7'],
  ['version 1, IPv6 in full', line('PROXY TCP6 2001:db8:0:0:0:0:0:1 ::1 1 65535'), '2001:db8::1'],
  ['version 1, the longest line', line(`PROXY UNKNOWN ${'f'.repeat(91)}`), undefined],
  ['version 1, the proxy speaks for itself', line('PROXY UNKNOWN'), undefined],
  ['version 2, IPv4', ipv4, '192.0.2.7'],
  ['version 2, IPv6', ipv6, '2001:db8::1'],
  [
    'version 2, IPv4 with an extension',
    proxyV2(0x21, 0x11, 'c0000207 0a000001 8000 01bb 04 0001 00'),
    '192.0.2.7',
  ],
  ['version 2, LOCAL, whatever its addresses', proxyV2(0x20, 0x11, 'c0000207 0a000001 8000 01bb'), undefined],
  ['version 2, LOCAL without any', proxyV2(0x20, 0, ''), undefined],
  ['version 2, a unix socket', proxyV2(0x21, 0x31, '00'.repeat(216)), undefined],
  ['version 2, the longest we take', proxyV2(0x21, 0x11, `c0000207${'00'.repeat(508)}`), '192.0.2.7'],
];

describe('a good header', () => {
  test.each(GOOD)(
    '%s: known at its last byte, not before, and what follows is left',
    (_name, bytes, address) => {
      for (let length = 0; length < bytes.length; length++) {
        expect(parseProxyHeader(bytes.subarray(0, length)), `${length} bytes`).toEqual({ kind: 'more' });
      }
      const expected = { kind: 'header', bytes: bytes.length, address };
      expect(parseProxyHeader(bytes)).toEqual(expected);
      expect(parseProxyHeader(Buffer.concat([bytes, Buffer.from('HB\r\n')]))).toEqual(expected);
    },
  );
});

describe('a bad header', () => {
  test.each<[string, Buffer]>([
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\n')],
    ['a heartbeat', Buffer.from('4842010100000000', 'hex')],
    ['TLS', Buffer.from('160301', 'hex')],
    ['lower case', Buffer.from('proxy ')],
    ['a family that is none', line('PROXY UDP4 192.0.2.7 10.0.0.1 1 2')],
    ['an address of the other family', line('PROXY TCP4 2001:db8::1 ::1 1 2')],
    ['an address that is none', line('PROXY TCP4 192.0.2.777 10.0.0.1 1 2')],
    ['a port too high', line('PROXY TCP4 192.0.2.7 10.0.0.1 1 65536')],
    ['a port missing', line('PROXY TCP4 192.0.2.7 10.0.0.1 1')],
    ['a word too many', line('PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3')],
    ['a line without end', Buffer.from(`PROXY UNKNOWN ${'f'.repeat(93)}`)],
    ['version 3', proxyV2(0x31, 0x11, 'c0000207 0a000001 8000 01bb')],
    ['a command that is none', proxyV2(0x22, 0x11, 'c0000207 0a000001 8000 01bb')],
    ['IPv4 addresses cut short', proxyV2(0x21, 0x11, 'c0000207 0a000001 8000 01')],
    ['IPv6 addresses cut short', proxyV2(0x21, 0x21, '00'.repeat(35))],
    ['a family that is none, version 2', proxyV2(0x21, 0x41, '00'.repeat(40))],
    ['longer than we take', proxyV2(0x21, 0x11, '00'.repeat(513)).subarray(0, 16)],
  ])('%s', (_name, bytes) => {
    expect(parseProxyHeader(bytes).kind).toBe('bad');
  });

  test('no bytes whatever make it throw, or wait beyond 528 of them', () => {
    const start = fc.constantFrom(Buffer.alloc(0), Buffer.from('PROXY TCP4 '), ipv4.subarray(0, 12));
    const rest = fc.uint8Array({ maxLength: 700 });
    fc.assert(
      fc.property(start, rest, (first, then) => {
        const parsed = parseProxyHeader(Buffer.concat([first, then]));
        if (first.length + then.length >= 528) expect(parsed.kind).not.toBe('more');
        if (parsed.kind === 'header') expect(parsed.bytes).toBeLessThanOrEqual(first.length + then.length);
      }),
    );
  });
});

describe('TrustedProxies', () => {
  const trusted = new TrustedProxies(['192.0.2.7', '10.0.0.0/8', '2001:db8::/32', '::1']);

  test.each(['192.0.2.7', '::ffff:192.0.2.7', '10.0.0.0', '10.255.255.255', '2001:db8:ffff::1', '::1'])(
    '%s is one',
    (address) => {
      expect(trusted.includes(address)).toBe(true);
    },
  );

  test.each(['192.0.2.8', '192.0.2.6', '9.255.255.255', '11.0.0.0', '2001:db9::', '::2', '', 'localhost'])(
    '%o is none',
    (address) => {
      expect(trusted.includes(address)).toBe(false);
    },
  );

  test('none at all', () => expect(new TrustedProxies([]).includes('192.0.2.7')).toBe(false));

  test.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.0/8/8',
    'proxy.example',
    '',
    '10.0.0.0/-1',
  ])('%o is refused', (entry) => {
    expect(() => new TrustedProxies([entry])).toThrow(/^trustedProxies must be addresses or blocks/);
  });

  test.each([['10.0.0.1'], [[7]]])('%j is no list of addresses', (list) => {
    expect(() => new TrustedProxies((Array.isArray(list) ? list : list) as never)).toThrow(
      /^trustedProxies must be a list/,
    );
  });
});
