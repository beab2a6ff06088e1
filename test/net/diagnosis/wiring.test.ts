/**
 * Where a diagnosis comes in: with suspect, dead, closed and a failed business probe; never with a link that is well
 * or leaves; and no kernel for a hub on a clock of its own.
 */
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Diagnosis } from '../../../src/net/diagnosis/evidence.ts';
import type { AttachOptions, Link } from '../../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../../src/server/length-prefix.ts';
import { recordingHost } from '../../support/hosts.ts';
import { HubLog } from '../../support/hub-log.ts';
import { ManualTime } from '../../support/manual-time.ts';
import { RawPeer } from '../../support/raw-peer.ts';
import { closeAll, socketPair, tame } from '../../support/sockets.ts';

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
    for (let passedMs = 0; passedMs < 2_500; passedMs += 100) {
      peer.send(0);
      await world.time.pass(100);
    }
    expect(told[1]).toMatchObject({
      cause: 'business-hung',
      sentence: expect.stringContaining('application'),
    });
    expect(link.state).toBe('up');
  });

  test('a peer that was never heard is not well, and one that is not yet connected is not dead', async () => {
    const world = new World();
    const { link, peer } = await world.link({ ...OPTIONS, negotiate: false });
    peer.answers = false;
    await world.time.pass(500);
    expect(link.state).toBe('opening');
    expect(link.diagnose()).toMatchObject({ cause: 'never-answered', confidence: 'guess' });
    const { port } = peer.socket.address() as { port: number };
    const connecting = world.log.hub.attach(tame(connect(port, '127.0.0.1')), OPTIONS);
    const { cause, confidence, sentence } = connecting.diagnose();
    expect([cause, confidence]).toEqual(['unknown', 'guess']);
    expect(sentence).toMatch(/still being established/);
    connecting.destroy();
  });

  test('a link that is over is told by the record of its end, whatever becomes of its socket', async () => {
    const world = new World();
    const { host } = recordingHost();
    const ends: [Link, string, string, RegExp][] = [];
    const up = async (options?: AttachOptions): Promise<{ link: Link; peer: RawPeer }> => {
      const made = await world.link(options);
      await world.time.pass(1_000);
      expect(made.link.diagnose().sentence).toMatch(/Nothing is wrong/);
      return made;
    };
    const destroyed = (await up()).link;
    destroyed.destroy();
    ends.push([destroyed, 'local', 'certain', /link is closed \(local\); /]);
    const worded = (await up()).link;
    worded.destroy({ cause: 'policy', code: 'E_MINE', reason: 'not wanted' });
    ends.push([worded, 'policy', 'certain', /closed \(policy: not wanted, E_MINE\)/]);
    const unknown = (await up()).link;
    unknown.destroy({ cause: 'unknown' });
    ends.push([unknown, 'unknown', 'guess', /closed \(unknown\)/]);
    const { link: detached, peer } = await up({ ...OPTIONS, host });
    peer.socket.pause();
    const { socket } = detached.detach();
    tame(socket).write(Buffer.alloc(20_000_000)); // its new owner's bytes are not ours
    ends.push([detached, 'local', 'certain', /closed \(local: detached\)/]);
    const left = await up({ ...OPTIONS, host });
    left.peer.send(0x20);
    await world.log.next('leaving', left.link);
    left.peer.socket.end();
    await world.log.next('closed', left.link);
    ends.push([left.link, 'left', 'certain', /GOAWAY/]);
    for (const [link, cause, confidence, sentence] of ends) {
      const diagnosis = link.diagnose();
      expect(diagnosis).toMatchObject({ cause, confidence, sentence: expect.stringMatching(sentence) });
      expect(diagnosis.evidence).toMatchObject({ source: 'clocks', queuedBytes: 0, kernelAgeMs: undefined });
      expect(link.kernel()).toBeUndefined();
    }
  });

  test('given up by ETIMEDOUT while the peer is heard and our bytes wait: it does not read', async () => {
    const world = new World();
    const { host } = recordingHost();
    const { link, peer } = await world.link({ ...OPTIONS, host });
    await world.time.pass(1_000);
    peer.socket.pause();
    link.write(lengthPrefixedFrame(Buffer.alloc(16_000_000)));
    await world.time.pass(500);
    peer.send(0);
    await world.time.pass(200);
    link.socket.destroy(Object.assign(new Error('write ETIMEDOUT'), { code: 'ETIMEDOUT' }));
    await world.log.next('closed', link);
    expect(world.log.of('closed', link)[0]!.detail).toMatchObject({
      cause: 'peer-not-reading',
      code: 'ETIMEDOUT',
    });
    expect(world.diagnosis('closed', link)).toMatchObject({ confidence: 'likely' });
    expect(link.diagnose()).toBe(world.diagnosis('closed', link));
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

  test('nor does it tell anything of a socket that was given back', async () => {
    const log = new HubLog();
    const { accepted, connected } = await socketPair();
    new RawPeer(connected);
    const link = log.hub.attach(accepted, { intervalMs: 200, firstPhase: 0 });
    await log.next('up', link);
    tame(link.detach().socket);
    expect(link.kernel()).toBeUndefined();
    expect(link.diagnose()).toMatchObject({ cause: 'local', evidence: { source: 'clocks' } });
  });
});
