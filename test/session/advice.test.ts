/** Opinions on a link: how surprising a silence is, and a round trip that creeps up. Never a verdict. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RttTrend } from '../../src/session/rtt-trend.ts';
import { Suspicion } from '../../src/session/suspicion.ts';
import { watch } from '../support/session-world.ts';

/** A peer heard every `gapMs`, `count` times, beginning at 0. */
function regular(gapMs: number, count: number, outageMs = 3000): Suspicion {
  const suspicion = new Suspicion(outageMs);
  for (let index = 0; index <= count; index++) suspicion.heard(index * gapMs);
  return suspicion;
}

/** Tail of the normal distribution by plain numerical integration: an independent way to phi. */
function exactPhi(y: number): number {
  let tail = 0;
  const step = 0.0005;
  for (let x = y + step / 2; x < y + 12; x += step) tail += Math.exp((-x * x) / 2) * step;
  return -Math.log10(tail / Math.sqrt(2 * Math.PI));
}

const anyTime = fc.oneof(
  fc.double(),
  fc.integer({ min: -1000, max: 100_000 }),
  fc.constantFrom(0, Infinity, -Infinity, Number.NaN, 2 ** 53, Number.MAX_VALUE),
);

describe('how surprising a silence is', () => {
  it('is never NaN, never negative, never above 40, whatever is heard and asked', () => {
    fc.assert(
      fc.property(
        fc.array(anyTime, { maxLength: 40, size: 'max' }),
        anyTime,
        fc.constantFrom(1, 3000, 2 ** 32),
        (times, at, outageMs) => {
          const suspicion = new Suspicion(outageMs);
          for (const time of times) suspicion.heard(time);
          const phi = suspicion.phi(at);
          expect(phi).toBeGreaterThanOrEqual(0);
          expect(phi).toBeLessThanOrEqual(40);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('grows with the silence, and never falls while it lasts', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2900), { minLength: 3, maxLength: 60, size: 'max' }), (gaps) => {
        const suspicion = new Suspicion(3000);
        let nowMs = 0;
        suspicion.heard(0);
        for (const gap of gaps) suspicion.heard((nowMs += gap));
        let last = 0;
        for (let silentMs = 0; silentMs < 20_000; silentMs += 250) {
          const phi = suspicion.phi(nowMs + silentMs);
          expect(phi).toBeGreaterThanOrEqual(last - 1e-12);
          last = phi;
        }
      }),
      { numRuns: 100 },
    );
  });

  it('agrees with the tail of the normal distribution within the 6 % of its approximation', () => {
    const suspicion = regular(1000, 50); // mean 1000, deviation at its floor of 100
    for (const deviations of [-1, 0, 1, 2, 3, 4]) {
      const phi = suspicion.phi(50_000 + 1000 + 100 * deviations);
      expect(phi).toBeGreaterThan(exactPhi(deviations) * 0.94 - 0.01);
      expect(phi).toBeLessThan(exactPhi(deviations) * 1.06 + 0.01);
    }
  });

  it('is 0 until two gaps are known', () => {
    const suspicion = new Suspicion(3000);
    expect(suspicion.phi(1e9)).toBe(0);
    suspicion.heard(0);
    suspicion.heard(1000);
    expect([suspicion.samples, suspicion.phi(1e9)]).toEqual([1, 0]);
    suspicion.heard(2000);
    expect(suspicion.phi(1e9)).toBe(40);
  });

  it('an outage is left out: the next one is as surprising as the first', () => {
    const suspicion = regular(1000, 50);
    const before = suspicion.phi(50_000 + 1400);
    suspicion.heard(50_000 + 3001);
    expect(suspicion.samples).toBe(50);
    expect(suspicion.phi(53_001 + 1400)).toBe(before);
    suspicion.heard(53_001 + 3000);
    expect(suspicion.samples).toBe(51); // the limit itself is no outage
    expect(suspicion.phi(56_001 + 1400)).toBeLessThan(before);
  });

  it('a clock that goes back, or says nothing, is not taken in', () => {
    const suspicion = regular(1000, 50);
    suspicion.heard(49_000);
    suspicion.heard(Number.NaN);
    expect(suspicion.samples).toBe(50);
    expect(suspicion.phi(51_500)).toBe(regular(1000, 50).phi(51_500));
  });

  it('is shown, and judges nobody', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, advice: true, deadAfter: 20 });
    world.run(30_000);
    peer.answers = false;
    world.run(18_000);
    expect(end.session.advice!.suspicion.phi(world.nowMs)).toBe(40);
    expect(end.eventsOf('suspect')).toEqual([]);
    expect(watch({ intervalMs: 1000 }).end.session.advice).toBeUndefined();
  });
});

describe('a round trip that creeps up', () => {
  /** The numbers of the samples at which the alarm changed. */
  function changes(rtts: readonly number[]): number[] {
    const trend = new RttTrend();
    return rtts.flatMap((rttMs, index) => (trend.sample(rttMs) ? [index] : []));
  }

  it.each([
    ['three in a row raise it, one low one clears it', [10, 30, 30, 30, 30, 19], [3, 5]],
    ['two and a low one do not', [10, 30, 30, 29, 30, 30], []],
    ['three times as long, but not 20 ms more', [5, 24, 24, 24, 24], []],
    ['20 ms more, but not three times as long', [100, 299, 299, 299], []],
    ['exactly three times, and 20 more', [10, 30, 30, 30], [3]],
    ['between twice and three times it stays as it is', [10, 30, 30, 30, 20, 29, 20], [3]],
    ['on loopback 0 ms is usual, and under 10 ms is over', [0, 20, 20, 20, 10, 9], [3, 5]],
  ])('%s', (_title, rtts, want) => {
    expect(changes(rtts)).toEqual(want);
  });

  it('a new usual after 128 answers clears it', () => {
    const found = changes([...Array(64).fill(10), ...Array(200).fill(100)]);
    expect(found).toHaveLength(2);
    expect(found[0]).toBe(66);
    expect(found[1]).toBeLessThanOrEqual(64 + 128);
  });

  it('from 10 to 300 ms: raised long before the link dies, and withdrawn when it is over', () => {
    const { world, end, peer } = watch({ intervalMs: 1000, advice: true }, { rttMs: 10 });
    world.run(60_000);
    let rttMs = 10;
    end.out.delayMs = peer.out.delayMs = () => rttMs / 2;
    for (; rttMs < 300; rttMs += 10) world.run(1000);
    const [raised] = end.eventsOf('rtt-trend');
    expect(raised).toMatchObject({ isRaised: true, baselineMs: 10 });
    expect(raised!.rttMs).toBeGreaterThanOrEqual(30);
    expect(raised!.rttMs).toBeLessThan(100);
    expect(end.eventTypes).toEqual(['up', 'rtt-trend']);
    rttMs = 12;
    world.run(5000);
    expect(end.eventsOf('rtt-trend').map(({ isRaised }) => isRaised)).toEqual([true, false]);
    peer.answers = false;
    world.run(10_000);
    expect(end.eventTypes.at(-1)).toBe('dead');
  });
});
