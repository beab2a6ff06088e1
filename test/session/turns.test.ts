/** Two ends that could both speak: who is asked in every interval only answers, and asks when its own turn comes. */
import { describe, expect, test } from 'vitest';
import { connectLab } from '../../src/testing/lab-network.ts';
import { LabProcess } from '../../src/testing/lab-process.ts';
import { LabWorld } from '../../src/testing/lab-world.ts';

const INTERVAL_MS = 1_000;
const INTERVALS = 400;

/** What both ends sent per interval on a quiet link, over several phases; `asker` asks with each of its beats. */
function perInterval(asker: 'always' | 'when-silent', deadAfter: number) {
  const sum = { frames: 0, beats: 0, pings: [0, 0] };
  const seeds = 4;
  for (let seed = 1; seed <= seeds; seed++) {
    const world = new LabWorld(seed);
    const ends = [new LabProcess(world, 'near'), new LabProcess(world, 'far')] as const;
    const connection = connectLab(ends[0], ends[1], {});
    ends[0].attach(connection.near, { intervalMs: INTERVAL_MS, deadAfter, ask: asker });
    ends[1].attach(connection.far, { intervalMs: INTERVAL_MS, deadAfter });
    const counters = () => ends.map((end) => end.hub.stats());
    world.run(20 * INTERVAL_MS);
    const before = counters();
    world.run(INTERVALS * INTERVAL_MS);
    for (const [index, now] of counters().entries()) {
      const then = before[index]!;
      const frames = now.framesSent - then.framesSent;
      const pings = now.pingsSent - then.pingsSent;
      sum.frames += frames / INTERVALS / seeds;
      sum.pings[index]! += pings / INTERVALS / seeds;
      sum.beats += (frames - pings - (now.pongsSent - then.pongsSent)) / INTERVALS / seeds;
    }
    expect(counters().every(({ suspicions }) => suspicions === 0)).toBe(true);
  }
  return sum;
}

describe('turns', () => {
  test.each([
    // Two ends that both beat on their own need 2 / 0.875 = 2.29 frames, and questions with their answers besides.
    { asker: 'always', deadAfter: 3, most: 2.65, beats: 0.05 },
    { asker: 'always', deadAfter: 8, most: 2.45, beats: 0.05 },
    { asker: 'when-silent', deadAfter: 3, most: 2.56, beats: 0.15 },
    { asker: 'when-silent', deadAfter: 8, most: 2.4, beats: 0.35 },
  ] as const)('asker $asker, M $deadAfter: at most $most frames per interval', (row) => {
    const { frames, beats, pings } = perInterval(row.asker, row.deadAfter);
    expect(frames).toBeLessThan(row.most);
    expect(frames).toBeGreaterThan(2.2);
    expect(beats).toBeLessThan(row.beats);
    for (const own of pings) expect(own).toBeGreaterThanOrEqual(0.9 / row.deadAfter); // each knows its round trip
    if (row.asker === 'always') expect(pings[0]).toBeGreaterThan(0.8);
  });
});

test.each([1, 50, 200])('two that ask at the same moment do not go on crossing, %i ms apart', (delayMs) => {
  const world = new LabWorld(1);
  const ends = [new LabProcess(world, 'near'), new LabProcess(world, 'far')] as const;
  const connection = connectLab(ends[0], ends[1], { there: { delayMs }, back: { delayMs } });
  const options = { intervalMs: INTERVAL_MS, ask: 'always', firstPhase: 0.5 } as const;
  ends[0].attach(connection.near, options);
  ends[1].attach(connection.far, options);
  world.run(INTERVALS * INTERVAL_MS);
  for (const end of ends) {
    const perInterval = end.hub.stats().framesSent / INTERVALS;
    expect(perInterval).toBeGreaterThan(1.1);
    expect(perInterval).toBeLessThan(1.9); // crossing for ever: 2.1 to 2.6
  }
});

test('answers that take longer than D are not missing: no one-way', () => {
  const world = new LabWorld(1);
  const [near, far] = [new LabProcess(world, 'near'), new LabProcess(world, 'far')];
  const connection = connectLab(near, far, { there: { delayMs: 200 } });
  const told: string[] = [];
  for (const end of [near, far]) end.hub.on('one-way', () => told.push(`one-way at ${world.nowMs}`));
  near.attach(connection.near, { intervalMs: 100, deadAfter: 2, ask: 'always', negotiate: true });
  const link = far.attach(connection.far, { intervalMs: 1_000, deadAfter: 3, negotiate: true });
  world.run(20_000);
  expect(link.detectionTimeMs).toBeLessThan(1_000); // agreed: the far end judges by 100 ms x 2
  expect(told).toEqual([]);
});
