/**
 * Where a diagnosis comes in: with suspect, dead, closed and a failed business probe; never with a link that is well
 * or leaves; and no kernel for a hub on a clock of its own.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { Diagnosis } from '../../../src/net/diagnosis/evidence.ts';
import type { AttachOptions, Link } from '../../../src/net/types.ts';
import { recordingHost } from '../../support/hosts.ts';
import { HubLog } from '../../support/hub-log.ts';
import { ManualTime } from '../../support/manual-time.ts';
import { RawPeer } from '../../support/raw-peer.ts';
import { closeAll, socketPair } from '../../support/sockets.ts';

afterEach(closeAll);

const OPTIONS: AttachOptions = { intervalMs: 1_000, firstPhase: 0 };

class World {
  readonly time = new ManualTime();
  readonly log = new HubLog({ clock: this.time, timers: this.time });

  async link(options: AttachOptions = OPTIONS): Promise<{ link: Link; peer: RawPeer }> {
    const { accepted, connected } = await socketPair();
    return { link: this.log.hub.attach(accepted, options), peer: new RawPeer(connected) };
  }

  diagnosis(event: 'suspect' | 'dead' | 'closed', link: Link): Diagnosis | undefined {
    return this.log.of(event, link)[0]?.detail.diagnosis as Diagnosis | undefined;
  }
}

describe('with a clock of its own', () => {
  test('the clocks decide, and the ages are those of the four clocks at that moment', async () => {
    const world = new World();
    const { link, peer } = await world.link();
    await world.time.pass(2_000);
    expect(link.diagnose()).toMatchObject({
      cause: 'unknown',
      sentence: expect.stringContaining('Nothing is wrong'),
    });
    peer.answers = false;
    await world.time.pass(5_000);
    const dead = world.diagnosis('dead', link)!;
    const [told] = world.log.of('dead', link);
    expect(dead).toMatchObject({ cause: 'link-dead', confidence: 'guess' });
    expect(dead.evidence).toMatchObject({
      source: 'clocks',
      kernelAgeMs: undefined,
      silentMs: told!.detail.silentMs,
      queuedBytes: 0,
      writeProgressAgeMs: undefined,
      ownLagMs: 0,
    });
    expect(dead.evidence.askedAgeMs).toBeGreaterThanOrEqual(1_000);
    expect(dead.evidence.unansweredMs).toBeGreaterThanOrEqual(dead.evidence.askedAgeMs!);
    expect(world.diagnosis('suspect', link)!.evidence.silentMs).toBeLessThan(dead.evidence.silentMs);
    expect(world.diagnosis('closed', link)).toBe(dead);
    expect(link.diagnose()).toBe(dead);
    expect(link.kernel()).toBeUndefined();
  });

  test('own lateness: the suspicion says that it was us, and nobody dies of it', async () => {
    const world = new World();
    const { link, peer } = await world.link({ ...OPTIONS, deadAfter: 5 });
    await world.time.pass(2_000);
    peer.answers = false;
    await world.time.pass(500);
    world.time.block(1_600); // some timer of an interval of 1 s is late by more than half of it
    await world.time.pass(4_000);
    expect(world.diagnosis('suspect', link)).toMatchObject({ cause: 'we-were-late', confidence: 'likely' });
    await world.time.pass(6_000);
    expect(world.diagnosis('dead', link)).toMatchObject({ cause: 'link-dead' });
  });

  test('F19: a business probe without an answer is business-hung; an answered one brings no diagnosis', async () => {
    const world = new World();
    const told: (Diagnosis | undefined)[] = [];
    world.log.hub.on('business', (_link, { diagnosis }) => told.push(diagnosis));
    const { link, peer } = await world.link({ ...OPTIONS, probeEveryMs: 2_000, probeLimitMs: 1_000 });
    await world.time.pass(1_000);
    expect(told).toEqual([undefined]); // a plain answer: no check installed
    peer.answers = false;
    const beat = setInterval(() => peer.send(0), 1);
    await world.time.pass(2_500);
    clearInterval(beat);
    expect(told[1]).toMatchObject({
      cause: 'business-hung',
      sentence: expect.stringContaining('application'),
    });
    expect(link.state).toBe('up');
  });

  test('leaving and our own end bring none, FIN and a failure do', async () => {
    const world = new World();
    const { host } = recordingHost(); // a link in use is not ended by GOAWAY alone
    const [left, ours, fin] = [
      await world.link({ ...OPTIONS, host }),
      await world.link(),
      await world.link(),
    ];
    await world.time.pass(1_000);
    left.peer.send(0x20);
    await world.log.next('leaving', left.link);
    left.peer.socket.end();
    ours.link.destroy();
    fin.peer.socket.end();
    for (const { link } of [left, ours, fin]) await world.log.next('closed', link);
    const ends = [left, ours, fin].map(({ link }) => [
      world.log.of('closed', link)[0]!.detail.cause,
      world.diagnosis('closed', link)?.cause,
    ]);
    expect(ends).toEqual([
      ['left', undefined],
      ['local', undefined],
      ['peer-closed', 'peer-closed'],
    ]);
  });
});

describe.skipIf(process.platform !== 'linux')('with the real clock', () => {
  test('link.kernel tells the round trip of the kernel, on request, and nothing after the end', async () => {
    const log = new HubLog();
    const { accepted, connected } = await socketPair();
    new RawPeer(connected);
    const link = log.hub.attach(accepted, { intervalMs: 200, firstPhase: 0 });
    await log.next('up', link);
    const figures = link.kernel();
    if (figures !== undefined) {
      expect(figures).toMatchObject({
        source: 'tcp-info',
        state: 'established',
        retransmits: 0,
        windowClosed: false,
      });
      expect(figures.rttMs).toBeGreaterThan(0);
    }
    link.destroy();
    expect(link.kernel()).toBeUndefined();
  });
});
