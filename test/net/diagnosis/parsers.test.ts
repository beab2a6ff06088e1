/** What the kernel writes, read from literal bytes and lines as real machines gave them; never an exception. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KernelFigures } from '../../../src/net/diagnosis/evidence.ts';
import { keyOfLine, parseProcLine, procPlace } from '../../../src/net/diagnosis/proc-net.ts';
import { LineSearch } from '../../../src/net/diagnosis/proc-reader.ts';
import { parseTcpInfo } from '../../../src/net/diagnosis/tcp-info.ts';

/** struct tcp_info of Linux 6.18, 248 bytes: [offset, bytes, value]. */
function info(...fields: readonly (readonly [number, 1 | 4 | 8, number])[]): Uint8Array {
  const bytes = new Uint8Array(248);
  const view = new DataView(bytes.buffer);
  bytes[0] = 1;
  view.setUint32(16, 1_448, true);
  for (const [at, size, value] of fields) {
    if (size === 1) bytes[at] = value;
    else if (size === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
  }
  return bytes;
}

const parse = (bytes: Uint8Array, length = bytes.length): KernelFigures | undefined =>
  parseTcpInfo(bytes, length, true);

describe('TCP_INFO', () => {
  test('each field is read from its place, in its unit', () => {
    const bytes = info(
      ...([
        [2, 1, 3],
        [3, 1, 2],
        [8, 4, 204_000],
        [24, 4, 2],
        [52, 4, 1_500],
        [56, 4, 1_400],
        [68, 4, 5_286],
        [72, 4, 10_000],
        [100, 4, 7],
        [120, 8, 2 ** 33],
        [144, 4, 100],
        [148, 4, 42],
        [200, 8, 2 ** 33 + 80],
        [208, 8, 48],
        [228, 4, 65_536],
      ] as const),
    );
    expect(parse(bytes)).toEqual({
      source: 'tcp-info',
      state: 'established',
      unackedBytes: 132,
      retransmits: 3,
      windowClosed: false,
      zeroWindowProbes: 0,
      unansweredProbes: 2,
      ackAgeMs: 1_400,
      dataAgeMs: 1_500,
      rttMs: 5.286,
      rttvarMs: 10,
      rttMinMs: 0.042,
      rtoMs: 204,
      totalRetransmits: 7,
      ackedBytes: 2 ** 33,
      unsentBytes: 100,
    });
  });

  test('a closed window: bytes unsent, none under way, less than a segment of room; back-off counts the probes', () => {
    const stuck = [
      [144, 4, 3_839_488],
      [4, 1, 4],
    ] as const;
    expect(parse(info(...stuck))).toMatchObject({
      windowClosed: true,
      unackedBytes: 3_839_488,
      zeroWindowProbes: 4,
    });
    expect(parse(info(...stuck, [228, 4, 1_447]))).toMatchObject({ windowClosed: true });
    expect(parse(info(...stuck, [228, 4, 1_448]))).toMatchObject({
      windowClosed: false,
      zeroWindowProbes: 0,
    });
    expect(parse(info(...stuck, [24, 4, 1]))).toMatchObject({ windowClosed: false });
    expect(parse(info([24, 4, 0]))).toMatchObject({ windowClosed: false });
  });

  test('older kernels tell less: no window before 6.2, no bytes sent before 4.19; too old is nothing', () => {
    const stuck = info([144, 4, 9], [228, 4, 65_536]);
    expect(parse(stuck, 228)).toMatchObject({ windowClosed: true });
    expect(parse(stuck, 232)).toMatchObject({ windowClosed: false });
    const flying = info([24, 4, 2], [200, 8, 500]);
    expect([parse(flying, 216)?.unackedBytes, parse(flying, 215)?.unackedBytes]).toEqual([500, 2]);
    expect([parse(stuck, 152)?.state, parse(stuck, 151), parse(stuck, -92)]).toEqual([
      'established',
      undefined,
      undefined,
    ]);
  });

  test('something under way is at least one byte, whatever the SYN adds; no minimum is no figure', () => {
    expect(parse(info([24, 4, 1], [120, 8, 17], [200, 8, 17]))?.unackedBytes).toBe(1);
    expect(parse(info([148, 4, 0xffff_ffff]))?.rttMinMs).toBeUndefined();
  });

  test('whatever the bytes, it never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: -200, max: 400 }), (bytes, length) => {
        const figures = parseTcpInfo(bytes, length);
        expect(figures === undefined || figures.unackedBytes >= 0).toBe(true);
      }),
    );
  });
});

const IPV4 =
  '7853: 0100007F:8D8C 0100007F:A9BB 01 003A9600:00000000 04:00000023 00000000     0        2 1173753 2 ' +
  '000000006847548f 21 4 30 17 -1                  ';
const IPV6 =
  '   0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C2D4 01 00000010:00000000 ' +
  '01:00000017 00000003     0        0 1217 1 0000000041a4bc61 100 0 0 10 0';
const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode           ';

describe('/proc/net/tcp', () => {
  test('a line: bytes unacknowledged, the timer of a closed window and its probes', () => {
    expect(keyOfLine(IPV4, 'tcp')).toBe('0100007F:8D8C 0100007F:A9BB');
    expect(parseProcLine(IPV4, 'tcp')).toMatchObject({
      source: 'proc',
      state: 'established',
      unackedBytes: 0x3a9600,
      retransmits: 0,
      windowClosed: true,
      zeroWindowProbes: 2,
      unansweredProbes: 2,
      rttMs: undefined,
    });
  });

  test('a line of tcp6: a retransmission under way is no closed window', () => {
    expect(parseProcLine(IPV6, 'tcp6')).toMatchObject({
      unackedBytes: 16,
      retransmits: 3,
      windowClosed: false,
    });
    expect(parseProcLine(IPV4.replace('04:0', '02:0'), 'tcp')).toMatchObject({
      windowClosed: false,
      zeroWindowProbes: 0,
    });
    expect(parseProcLine(IPV4.replace('003A9600', '00000000'), 'tcp')).toMatchObject({ windowClosed: false });
    // What our own machine cannot send waits under the same timer: four beats fill nobody's window.
    expect(parseProcLine(IPV4.replace('003A9600', '00000040'), 'tcp')).toMatchObject({
      unackedBytes: 64,
      windowClosed: false,
      zeroWindowProbes: 0,
    });
    expect(parseProcLine(IPV4.replace('003A9600', '00000400'), 'tcp')).toMatchObject({ windowClosed: true });
  });

  test.each([
    ['127.0.0.1', 0x8d8c, '127.0.0.1', 0xa9bb, 'tcp', '0100007F:8D8C 0100007F:A9BB'],
    ['10.1.2.3', 1, '192.168.0.255', 65_535, 'tcp', '0302010A:0001 FF00A8C0:FFFF'],
    [
      '::ffff:127.0.0.1',
      0x1f90,
      '::ffff:127.0.0.1',
      0xc2d4,
      'tcp6',
      '0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C2D4',
    ],
    [
      '::1',
      1,
      'fe80::a:b%eth0',
      2,
      'tcp6',
      '00000000000000000000000001000000:0001 000080FE00000000000000000B000A00:0002',
    ],
    [
      '2001:db8:1:2:3:4:5:6',
      1,
      '::',
      2,
      'tcp6',
      'B80D0120020001000400030006000500:0001 00000000000000000000000000000000:0002',
    ],
  ])(
    '%s %i to %s %i stands in %s as %s',
    (localAddress, localPort, remoteAddress, remotePort, table, key) => {
      const ends = { localAddress, localPort, remoteAddress, remotePort };
      expect(procPlace(ends, true)).toEqual({ table, key });
    },
  );

  test('on a big-endian machine the words stand as they are', () => {
    const ends = { localAddress: '10.1.2.3', localPort: 1, remoteAddress: '::1', remotePort: 2 };
    expect(procPlace(ends, false)).toBeUndefined(); // two families
    expect(procPlace({ ...ends, remoteAddress: '1.2.3.4' }, false)?.key).toBe('0A010203:0001 01020304:0002');
  });

  test('unix sockets and sockets that are not connected have no place', () => {
    expect(procPlace({})).toBeUndefined();
    expect(procPlace({ localAddress: '::1', remoteAddress: '::1', localPort: 1 })).toBeUndefined();
    expect(
      procPlace({ localAddress: 'x', remoteAddress: '::1', localPort: 1, remotePort: 1 }),
    ).toBeUndefined();
  });

  test('lines are found however the text is cut, each once, and no more is read when all are there', () => {
    const text = `${HEAD}\n${IPV4.replace('8D8C', '0001')}\n${IPV4}\n${IPV4.replace('8D8C', '0002')}\n`;
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const found: [string, number][] = [];
        const keys = new Set([keyOfLine(IPV4, 'tcp')]);
        const search = new LineSearch('tcp', keys, (key, { unackedBytes }) =>
          found.push([key, unackedBytes]),
        );
        const ends = [0, ...cuts.sort((a, b) => a - b), text.length];
        for (let at = 1; at < ends.length; at++) search.push(text.slice(ends[at - 1], ends[at]));
        expect(found).toEqual([[keyOfLine(IPV4, 'tcp'), 0x3a9600]]);
        expect(search.isComplete).toBe(true);
      }),
    );
  });

  test('whatever the text, it never throws', () => {
    const pieces = fc.oneof(fc.string(), fc.constant(IPV4), fc.constant(': '), fc.constant('0100007F:8D8C '));
    fc.assert(
      fc.property(fc.array(pieces), fc.constantFrom('tcp' as const, 'tcp6' as const), (parts, table) => {
        const line = parts.join('');
        expect(typeof keyOfLine(line, table)).toBe('string');
        expect(parseProcLine(line, table)?.unackedBytes ?? 0).toBeGreaterThanOrEqual(0);
        procPlace({ localAddress: line, localPort: 1, remoteAddress: parts[0], remotePort: 2 });
      }),
    );
  });
});
