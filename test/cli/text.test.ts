/** What is typed and what is shown: durations, numbers, addresses, hexadecimal text, parameters, round trips. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatAddress, parseAddress, parseHost, parsePath } from '../../src/cli/address.ts';
import { durationIn, formatDuration, parseDurationMs, typedDuration } from '../../src/cli/durations.ts';
import { describeFrame } from '../../src/cli/frame-text.ts';
import { parseHex } from '../../src/cli/hex.ts';
import { counted, integerBetween, integerOf } from '../../src/cli/numbers.ts';
import { describeParameter, parseParameter } from '../../src/cli/parameters.ts';
import { RoundTrips } from '../../src/cli/round-trips.ts';
import {
  flagNames,
  parameterName,
  reasonName,
  refusalName,
  typedWords,
  valueOfWord,
} from '../../src/cli/words.ts';
import { Flag, GoAwayReason, Param, RefuseCode } from '../../src/wire/constants.ts';

describe('durations', () => {
  test.each([
    ['0', 0],
    ['1ms', 1],
    ['500ms', 500],
    ['2s', 2_000],
    ['1.5s', 1_500],
    ['0.001s', 1],
    ['1m', 60_000],
    ['2h', 7_200_000],
  ])('%s is %i ms', (text, ms) => expect(parseDurationMs(text)).toBe(ms));

  test.each([
    '',
    '-1s',
    '+1s',
    '1',
    '1.5',
    's',
    '1 s',
    '1d',
    '1e3ms',
    '0x10ms',
    'Infinity',
    'NaN',
    '1.s',
    `${'9'.repeat(13)}s`,
  ])('refuses "%s"', (text) => expect(() => parseDurationMs(text)).toThrow(/^Expected a duration/));

  test('refuses fractions of a millisecond, and says that a bare number lacks a unit', () => {
    expect(() => parseDurationMs('0.5ms')).toThrow('whole milliseconds');
    expect(() => parseDurationMs('5')).toThrow('needs a unit');
  });

  test('limits hold at both ends, and one past each is refused with the range', () => {
    const parse = durationIn(100, 1_000);
    expect([parse('100ms'), parse('1s')]).toEqual([100, 1_000]);
    for (const text of ['99ms', '1001ms']) expect(() => parse(text)).toThrow('Expected 100 ms to 1 s.');
  });

  test.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [1_254, '1.25 s'],
    [60_000, '1 min'],
    [3_600_000, '1 h'],
    [16_777_215, '4.66 h'],
  ])('%i ms reads %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
});

test('a duration is typed in the largest unit that leaves a whole number, and reads back', () => {
  const typed = [0, 1, 999, 1_500, 1_000, 45_000, 90_000, 60_000, 3_600_000].map(typedDuration);
  expect(typed.join(' ')).toBe('0ms 1ms 999ms 1500ms 1s 45s 90s 1m 1h');
  fc.assert(
    fc.property(fc.nat(), (ms) => {
      expect(parseDurationMs(typedDuration(ms))).toBe(ms);
    }),
  );
});

describe('numbers', () => {
  test('nouns follow their number', () => {
    expect([0, 1, 2].map((count) => counted(count, 'link'))).toEqual(['0 links', '1 link', '2 links']);
  });

  test.each([
    ['0', 0],
    ['42', 42],
    ['0xff', 255],
    ['0XfF', 255],
  ])('%s is %i', (text, value) => expect(integerOf(text)).toBe(value));

  test.each(['', '-1', '+1', '1.0', '1e3', '0x', 'x', ' 1', '1 ', '9'.repeat(16)])('"%s" is none', (text) =>
    expect(integerOf(text)).toBeUndefined(),
  );

  test('limits hold at both ends, and one past each is refused', () => {
    const parse = integerBetween(1, 255);
    expect([parse('1'), parse('0xff')]).toEqual([1, 255]);
    for (const text of ['0', '256', 'x'])
      expect(() => parse(text)).toThrow('Expected a whole number, 1 to 255.');
  });
});

describe('addresses', () => {
  test.each([
    ['7400', { host: '127.0.0.1', port: 7400 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
    ['10.0.0.1:65535', { host: '10.0.0.1', port: 65535 }],
    ['a-b.example.org:80', { host: 'a-b.example.org', port: 80 }],
    ['[::1]:7400', { host: '::1', port: 7400 }],
    ['[fe80::1%eth0]:7', { host: 'fe80::1%eth0', port: 7 }],
    ['unix:/run/a.sock', { path: '/run/a.sock' }],
    ['unix:a:1', { path: 'a:1' }],
  ])('%s', (text, address) => {
    expect(parseAddress(text)).toEqual(address);
    if (text.includes(':')) expect(formatAddress(parseAddress(text))).toBe(text);
  });

  test.each([
    ['', /HOST:PORT/],
    ['localhost', /HOST:PORT/],
    [':7400', /HOST:PORT/],
    ['host:', /port from 1 to 65535/],
    ['host:0', /port from 1/],
    ['host:65536', /port from 1/],
    ['0', /port from 1/],
    ['host:http', /port from 1/],
    ['::1:7400', /in brackets/],
    ['[host]:7400', /"host" is not an IPv6 address/],
    ['[::1]', /HOST:PORT/],
    ['http://host:80', /not a URL/],
    ['user@host:80', /HOST:PORT/],
    ['a b:80', /HOST:PORT/],
    ['unix:', /a path/],
    [`unix:/${'x'.repeat(107)}`, /at most 107 bytes/],
  ])('refuses "%s"', (text, message) => expect(() => parseAddress(text)).toThrow(message));

  test('a socket path of 107 bytes is the longest', () => {
    expect(parsePath('x'.repeat(107))).toHaveLength(107);
    expect(() => parsePath('x'.repeat(108))).toThrow();
  });

  test('hosts to listen on carry no port', () => {
    expect([parseHost('::1'), parseHost('0.0.0.0'), parseHost('localhost')]).toHaveLength(3);
    for (const host of ['', 'a:1', '[::1]', 'a/b']) expect(() => parseHost(host)).toThrow('host name');
  });
});

describe('hexadecimal text', () => {
  test.each(['48420101', '48 42 01 01', '48:42:01:01\n', '0x48, 0x42, 0x01, 0x01', '0x48420101'])(
    '%s',
    (text) => expect(parseHex(text).toString('hex')).toBe('48420101'),
  );

  test('points at the first character that is none, and at half a byte', () => {
    expect(() => parseHex('48 zz')).toThrow('not hexadecimal: "z" at character 4');
    expect(() => parseHex('0x48 é')).toThrow('"é" at character 6');
    expect(() => parseHex('48 4')).toThrow('half a byte: 3 hexadecimal digits');
  });

  test('any bytes come back, however they are spaced', () => {
    const separators = fc.constantFrom('', ' ', ':', ', ', '\n', ' 0x');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(255), separators)), (parts) => {
        const text = parts.map(([byte, before]) => before + byte.toString(16).padStart(2, '0')).join('');
        expect([...parseHex(text)]).toEqual(parts.map(([byte]) => byte));
      }),
    );
  });
});

describe('words', () => {
  test('are those of the specification', () => {
    expect(flagNames(0x7f).join(' ')).toBe('ACK_REQUEST RETRANSMIT ACK PROBE DEGRADED GOAWAY PARAM');
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map(parameterName).join(' ')).toBe(
      'DESIRED_MIN_TX REQUIRED_MIN_RX DETECT_MULT POLL FINAL LOOP_LAG GOAWAY_INFO REFUSE ',
    );
    expect([reasonName(2), reasonName(7), reasonName(99)]).toEqual(['too fast', 'business hung', undefined]);
    expect([refusalName(3), refusalName(0)]).toEqual(['too often', undefined]);
  });

  test('each word typed is found again, in either case, with - or _', () => {
    for (const table of [Flag, Param, GoAwayReason, RefuseCode]) {
      for (const [index, word] of typedWords(table).entries()) {
        const value = Object.values(table)[index];
        expect(valueOfWord(table, word)).toBe(value);
        expect(valueOfWord(table, word.toUpperCase().replaceAll('-', '_'))).toBe(value);
      }
      expect(valueOfWord(table, 'nothing')).toBeUndefined();
    }
  });
});

describe('parameters', () => {
  test.each([
    ['desired-min-tx=15s', 0x01003a98, 'DESIRED_MIN_TX 15000 ms'],
    ['desired-min-tx=0', 0x01000000, 'DESIRED_MIN_TX 0 ms'],
    ['required_min_rx=10s', 0x02002710, 'REQUIRED_MIN_RX 10000 ms'],
    ['DETECT-MULT=3', 0x03000003, 'DETECT_MULT 3'],
    ['poll=0x5a:0xb1c3', 0x045ab1c3, 'POLL token 90 digest 0xb1c3'],
    ['final=0x5a:0xb1c3', 0x055ab1c3, 'FINAL token 90 digest 0xb1c3'],
    ['loop-lag=120ms', 0x06000078, 'LOOP_LAG 120 ms'],
    ['goaway-info=too-fast:30s', 0x0702012c, 'GOAWAY_INFO reason 2 (too fast), retry after: 30.0 s'],
    ['goaway-info=1', 0x07010000, 'GOAWAY_INFO reason 1 (leaving), retry after: own backoff'],
    ['goaway-info=99:never', 0x0763ffff, 'GOAWAY_INFO reason 99, retry after: never'],
    ['refuse=7:detection-too-long', 0x08070200, 'REFUSE token 7 code 2 (detection too long)'],
    ['9=1', 0x09000001, 'parameter 9 value 1 (unassigned)'],
    ['200=0xffffff', 0xc8ffffff, 'parameter 200 value 16777215 (private)'],
  ])('%s', (text, word, shown) => {
    expect(parseParameter(text).toString(16)).toBe(word.toString(16));
    expect(describeParameter(word).text).toBe(shown);
  });

  test.each([
    ['', /NAME=VALUE/],
    ['=1', /NAME=VALUE/],
    ['detect-mult', /NAME=VALUE/],
    ['nothing=1', /NAME=VALUE/],
    ['256=1', /NAME=VALUE/],
    ['detect-mult=', /the value as a number/],
    ['detect-mult=1:2', /one value/],
    ['200=16777216', /at most 16777215/],
    ['desired-min-tx=15', /needs a unit/],
    ['desired-min-tx=5h', /at most 16777215/],
    ['poll=1', /two values/],
    ['poll=256:1', /token of at most 255/],
    ['poll=1:65536', /digest of at most 65535/],
    ['poll=1:2:3', /at most two/],
    ['refuse=1:nonsense', /or one of illegal-value, detection-too-long, too-often/],
    ['goaway-info=nonsense', /or one of unspecified, leaving/],
    ['goaway-info=1:30', /needs a unit/],
  ])('refuses "%s"', (text, message) => expect(() => parseParameter(text)).toThrow(message));

  test('a frame shows its flags, and a parameter in place of the timestamp', () => {
    expect(describeFrame({ flags: 0, seq: 1, timestamp: 2 }).text).toBe('BEAT seq=1 timestamp=2 no flags');
    const { text, fields } = describeFrame({ flags: 0x60, seq: 78, timestamp: 0x0702012c });
    expect(text).toMatch(/^PARAM seq=78 GOAWAY_INFO .*; flags=GOAWAY,PARAM$/);
    expect(fields).toEqual({
      name: 'PARAM',
      flags: 0x60,
      flagNames: ['GOAWAY', 'PARAM'],
      seq: 78,
      parameter: { id: 7, name: 'GOAWAY_INFO', value: 0x2012c, reason: 2, retryAfterMs: 30_000 },
    });
  });
});

describe('round trips', () => {
  test('least, mean, greatest and deviation equal those computed from the whole list', () => {
    const rtt = fc.double({ min: 0, max: 1e5, noNaN: true });
    fc.assert(
      fc.property(fc.array(rtt, { minLength: 1 }), (list) => {
        const trips = new RoundTrips();
        for (const value of [Number.NaN, ...list]) trips.add(value);
        const mean = list.reduce((a, b) => a + b, 0) / list.length;
        const variance = list.reduce((sum, value) => sum + (value - mean) ** 2, 0) / list.length;
        expect([trips.count, trips.minMs, trips.maxMs]).toEqual([
          list.length,
          Math.min(...list),
          Math.max(...list),
        ]);
        expect(trips.meanMs).toBeCloseTo(mean, 4);
        expect(trips.mdevMs).toBeCloseTo(Math.sqrt(variance), 4);
      }),
    );
  });

  test('are unknown before the first', () => {
    const { minMs, meanMs, maxMs, mdevMs } = new RoundTrips();
    expect([minMs, meanMs, maxMs, mdevMs].every(Number.isNaN)).toBe(true);
  });
});
