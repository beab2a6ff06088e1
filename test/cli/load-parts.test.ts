/** The parts of `load` that can be tested without a service: what it checks beforehand, its pace, and its tally. */
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/cli/errors.ts';
import { Dialer } from '../../src/cli/load/dialer.ts';
import {
  checkCapacity,
  descriptorLimit,
  destinationsOf,
  grouped,
  portsPerDestination,
} from '../../src/cli/load/preparation.ts';
import { Tally } from '../../src/cli/load/tally.ts';

const HERE = { host: '127.0.0.1', port: 7400 };

describe('capacity', () => {
  const limits = (soft: string) => [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    `Max open files            ${soft.padEnd(20)} 20000                files     `,
  ];

  test('descriptors: the soft limit, none when unlimited or when there is no /proc', () => {
    expect(descriptorLimit(limits('1024'))).toBe(1_024);
    expect(descriptorLimit(limits('unlimited'))).toBe(Infinity);
    expect(descriptorLimit([])).toBe(Infinity);
    expect(descriptorLimit()).toBeGreaterThan(0);
  });

  test('ports: both ends of the range count', () => {
    expect(portsPerDestination(['32768\t60999'])).toBe(28_232);
    expect(portsPerDestination([''])).toBe(Infinity);
    expect(portsPerDestination([])).toBe(Infinity);
  });

  test('descriptors at the limit do, one link more does not', () => {
    checkCapacity(19_900, [HERE], 20_000, 28_232);
    expect(() => checkCapacity(19_901, [HERE], 20_000, 28_232)).toThrow(
      new UsageError('19 901 links need 20 001 descriptors, limit 20 000 (ulimit -n)'),
    );
  });

  test('local ports likewise, per address; a socket path has none', () => {
    checkCapacity(28_232, [HERE], 10 ** 6, 28_232);
    expect(() => checkCapacity(28_233, [HERE], 10 ** 6, 28_232)).toThrow(
      /28 233 links to one address .* 28 232: use --spread/,
    );
    checkCapacity(28_233, [HERE, HERE], 10 ** 6, 28_232);
    checkCapacity(28_233, [{ path: '/run/s' }], 10 ** 6, 28_232);
  });

  test('--spread counts on from a loopback address, over the byte too', () => {
    expect(destinationsOf(HERE, 1)).toEqual([HERE]);
    const many = destinationsOf({ host: '127.0.0.254', port: 1 }, 3);
    expect(many).toEqual(['127.0.0.254', '127.0.0.255', '127.0.1.0'].map((host) => ({ host, port: 1 })));
  });

  test.each([
    [{ host: 'localhost', port: 1 }, 2, /--spread needs a loopback address, not localhost:1/],
    [{ host: '192.0.2.1', port: 1 }, 2, /not 192\.0\.2\.1:1/],
    [{ path: '/run/s' }, 2, /not unix:\/run\/s/],
    [{ host: '127.0.255.250', port: 1 }, 10, /leaves 127\.0\.0\.0\/16/],
  ])('--spread from %j is refused', (address, count, message) => {
    expect(() => destinationsOf(address, count)).toThrow(message);
  });

  test('thousands are grouped', () => {
    expect([0, 999, 1_000, 1_234_567].map(grouped)).toEqual(['0', '999', '1 000', '1 234 567']);
  });
});

describe('Dialer', () => {
  test('never more under way than told; all are dialled, each once', async () => {
    const seen: number[] = [];
    let most = 0;
    const dialer = new Dialer({
      count: 200,
      perSecond: 1_000_000,
      inFlight: 7,
      dial: async (index) => {
        seen.push(index);
        await new Promise((resolve) => setImmediate(resolve));
        most = Math.max(most, dialer.underWay);
      },
    });
    await dialer.done;
    expect(seen).toEqual(Array.from({ length: 200 }, (_, index) => index));
    expect(most).toBe(7);
    expect(dialer.underWay).toBe(0);
  });

  test('the rate bounds them, a late timer included', async () => {
    const startMs = performance.now();
    const dialer = new Dialer({ count: 60, perSecond: 200, inFlight: 256, dial: async () => {} });
    await dialer.done;
    expect(performance.now() - startMs).toBeGreaterThanOrEqual((59 / 200) * 1_000 - 51);
  });

  test('stopped, it waits for those under way and opens no more', async () => {
    const settle: (() => void)[] = [];
    const dialer = new Dialer({
      count: 100,
      perSecond: 1_000_000,
      inFlight: 3,
      dial: () => new Promise((resolve) => settle.push(resolve)),
    });
    expect(dialer.underWay).toBe(3);
    dialer.stop();
    for (const done of settle) done();
    await dialer.done;
    expect(settle).toHaveLength(3);
  });
});

describe('Tally', () => {
  test('a verdict is false while the service answered anybody within the last interval, true after', () => {
    const tally = new Tally(1_000);
    tally.judgedDead(0); // nobody ever answered
    tally.answered(1, 5_000);
    tally.judgedDead(6_000);
    tally.judgedDead(6_001);
    expect([tally.falseVerdicts, tally.trueVerdicts]).toEqual([1, 2]);
  });

  test('percentiles in ms with microseconds, NaN before the first; an unusable trip is an answer all the same', () => {
    const tally = new Tally(1_000);
    expect(tally.rtt).toEqual({ p50Ms: NaN, p90Ms: NaN, p99Ms: NaN, p999Ms: NaN, maxMs: NaN });
    tally.answered(Number.NaN, 0);
    for (let ms = 1; ms <= 100; ms++) tally.answered(ms + 0.25, 0);
    expect(tally.answers).toBe(101);
    expect(tally.rtt.p50Ms).toBeCloseTo(50.25, 1);
    expect(tally.rtt.maxMs).toBeCloseTo(100.25, 1);
    tally.warmedUp();
    expect(tally.rtt.maxMs).toBeNaN();
    tally.answered(0, 0);
    expect(tally.rtt.p50Ms).toBe(0.001);
  });

  test('answers while links are counted and ended are no round trips of the measurement', () => {
    const tally = new Tally(1_000);
    tally.answered(2, 0);
    tally.measured();
    tally.answered(400, 1);
    expect(tally.answers).toBe(2);
    expect(tally.rtt.maxMs).toBeCloseTo(2, 1);
  });

  test('failures and losses by code, else by cause', () => {
    const tally = new Tally(1_000);
    for (const code of ['ECONNREFUSED', 'ECONNREFUSED', 'HB_ERR_TIMEOUT']) tally.notLinked(code);
    tally.ended({ cause: 'peer-unreachable', code: 'ECONNRESET' });
    tally.ended({ cause: 'link-dead' });
    expect([tally.failures, tally.losses]).toEqual([3, 2]);
    expect(tally.failed).toEqual({ ECONNREFUSED: 2, HB_ERR_TIMEOUT: 1 });
    expect(tally.lost).toEqual({ ECONNRESET: 1, 'link-dead': 1 });
  });
});
