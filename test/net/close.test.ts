/** How links end, and with which cause: by the peer, by us, politely and not. */
import { afterEach, describe, expect, test } from 'vitest';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { goAwayWord } from '../../src/session/goaway.ts';
import { Flag, GoAwayReason } from '../../src/wire/constants.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime, settle } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

const mixed = (): AttachOptions => ({ host: recordingHost().host });
const MODES: [name: string, options: () => AttachOptions][] = [
  ['heartbeat-only', () => ({})],
  ['shared', mixed],
];
const GOAWAY = Flag.GoAway | Flag.Param;

async function linked(
  options: AttachOptions = {},
  log = new HubLog(),
): Promise<{ log: HubLog; link: Link; peer: RawPeer }> {
  const { accepted, connected } = await socketPair();
  const peer = new RawPeer(connected);
  const link = log.hub.attach(accepted, { firstPhase: 0, ...options });
  await log.next('up', link);
  return { log, link, peer };
}

describe.each(MODES)('the peer ends, %s', (name, options) => {
  test('FIN without a word is peer-closed, and our side is ended too', async () => {
    const { log, link, peer } = await linked(options());
    peer.socket.end();
    expect(await log.closed(link)).toMatchObject({ cause: 'peer-closed' });
    await peer.ended();
    expect(log.names(link)).toEqual(['up', 'closed']);
  });

  test('RST is peer-unreachable, with the system code', async () => {
    const { log, link, peer } = await linked(options());
    peer.socket.resetAndDestroy();
    expect(await log.closed(link)).toMatchObject({ cause: 'peer-unreachable', code: 'ECONNRESET' });
    expect(log.names(link)).toEqual(['up', 'closed']);
  });

  test('GOAWAY, then FIN: left; reason and wait are told', async () => {
    const { log, link, peer } = await linked(options());
    peer.send(GOAWAY, goAwayWord(GoAwayReason.Rotate, 30_000));
    await log.next('leaving', link);
    expect(log.of('leaving', link)[0]?.detail).toEqual({
      by: 'peer',
      reason: GoAwayReason.Rotate,
      retryAfterMs: 30_000,
    });
    if (name === 'shared') {
      expect(link.state).toBe('leaving');
      peer.send(Flag.AckRequest, 3, 3); // still answered
      await peer.seen(1, Flag.Ack);
    } else await peer.ended(); // with no host there is nothing to wait for
    peer.socket.end();
    expect(await log.closed(link)).toEqual({ cause: 'left' });
  });

  test('GOAWAY, then RST: left as well', async () => {
    const { log, link, peer } = await linked(options());
    peer.socket.write(peer.frame(GOAWAY, goAwayWord(GoAwayReason.Leaving, 0)));
    await log.next('leaving', link);
    peer.socket.resetAndDestroy();
    expect((await log.closed(link)).cause).toBe('left');
  });

  test('FIN in the middle of a heartbeat is peer-closed, not damage', async () => {
    const { log, link, peer } = await linked(options());
    peer.socket.end(peer.frame(0).subarray(0, 9));
    expect(await log.closed(link)).toMatchObject({ cause: 'peer-closed' });
  });
});

describe('we end', () => {
  test('destroy: local, at once, without a word', async () => {
    const { log, link, peer } = await linked();
    const frames = peer.frames.length;
    link.destroy();
    expect(log.of('closed', link)[0]?.detail).toEqual({ cause: 'local' });
    link.destroy();
    await eventually(() => peer.socket.destroyed || peer.hasEnded, 'the end');
    expect(peer.frames).toHaveLength(frames);
    expect(log.of('closed', link)).toHaveLength(1);
    expect(await link.whenClosed()).toEqual({ cause: 'local' });
  });

  test('destroy while connecting, and with a cause of one’s own', async () => {
    const { log, link } = await linked();
    link.destroy({ cause: 'policy', code: 'HB_ERR_MINE', reason: 'because' });
    expect(await log.closed(link)).toEqual({ cause: 'policy', code: 'HB_ERR_MINE', reason: 'because' });
  });

  test('the host calls socket.end(): local, and no verdict', async () => {
    const { log, link, peer } = await linked(mixed());
    link.socket.end(lengthPrefixedFrame(Buffer.from('bye')));
    await peer.ended();
    expect(peer.host.subarray(4).toString()).toBe('bye');
    peer.socket.end();
    expect(await log.closed(link)).toEqual({ cause: 'local' });
    expect(log.of('dead', link)).toEqual([]);
  });

  test('what was written before the peer ended is still delivered', async () => {
    const { log, link, peer } = await linked(mixed());
    peer.socket.pause();
    const frame = lengthPrefixedFrame(Buffer.alloc(250_000));
    for (let sent = 0; sent < 60; sent++) link.write(frame);
    await settle(100);
    expect(link.socket.writableLength).toBeGreaterThan(0);
    peer.socket.end(); // half-open: it goes on reading
    await settle(100);
    peer.socket.resume();
    await eventually(() => peer.hostBytes === 60 * frame.length, 'all bytes');
    expect(await log.closed(link)).toMatchObject({ cause: 'peer-closed' });
  });
});

describe('leave', () => {
  test('heartbeat-only peers end at once: left there, local here', async () => {
    const { accepted, connected } = await socketPair();
    const [ours, theirs] = [new HubLog(), new HubLog()];
    const [link, other] = [ours.hub.attach(accepted, { firstPhase: 0 }), theirs.hub.attach(connected)];
    await ours.next('up', link);
    const started = performance.now();
    await link.leave({ reason: GoAwayReason.BusinessHung, retryAfterMs: Infinity });
    expect(performance.now() - started).toBeLessThan(link.detectionTimeMs / 3);
    expect(ours.of('closed', link)[0]?.detail).toEqual({ cause: 'local' });
    expect(await theirs.closed(other)).toEqual({ cause: 'left' });
    const told = { reason: GoAwayReason.BusinessHung, retryAfterMs: Infinity };
    expect(ours.of('leaving', link)[0]?.detail).toEqual({ by: 'us', ...told });
    expect(theirs.of('leaving', other)[0]?.detail).toEqual({ by: 'peer', ...told });
  });

  test('shared links drain: beating, answering and carrying host frames until the time is up', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { host, got } = recordingHost();
    const { accepted, connected } = await socketPair();
    const peer = new RawPeer(connected);
    const link = log.hub.attach(accepted, { intervalMs: 1_000, firstPhase: 0, host });
    await time.pass(100);
    const left = link.leave({ drainMs: 5_000 });
    await time.pass(10);
    expect(peer.framesWith(Flag.GoAway)).toHaveLength(1);
    const frames = peer.frames.length;
    await time.pass(3_000);
    expect(peer.frames.length).toBeGreaterThanOrEqual(frames + 3);
    peer.send(Flag.AckRequest, 1, 1);
    peer.socket.write(lengthPrefixedFrame(Buffer.from('late')));
    await time.pass(10);
    expect(peer.pongs).toHaveLength(1);
    expect(got).toHaveLength(1);
    expect(link.write(lengthPrefixedFrame(Buffer.from('answer')))).toBe(true);
    await time.pass(1_900);
    expect([link.state, peer.hasEnded]).toEqual(['leaving', false]);
    await time.pass(100);
    await peer.ended();
    peer.socket.end();
    await left;
    expect(log.of('closed', link)[0]?.detail).toEqual({ cause: 'local' });
    expect(peer.hostBytes).toBe(10);
  });

  test('a peer that never ends its side is cut a while after ours', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { accepted, connected } = await socketPair('tcp', { allowHalfOpen: true });
    new RawPeer(connected);
    const link = log.hub.attach(accepted, { intervalMs: 1_000, firstPhase: 0 });
    await time.pass(100);
    const left = link.leave({ drainMs: 0 });
    await time.pass(900);
    expect(link.socket.destroyed).toBe(false);
    await time.pass(200);
    await left;
    expect(link.socket.destroyed).toBe(true);
  });

  test('what a peer floods after the end is cut at a mebibyte', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { accepted, connected } = await socketPair('tcp', { allowHalfOpen: true });
    const peer = new RawPeer(connected);
    const link = log.hub.attach(accepted, { firstPhase: 0 });
    await time.pass(10);
    void link.leave({ drainMs: 0 });
    await time.pass(20);
    for (let chunk = 0; chunk < 16; chunk++) link.socket.emit('data', Buffer.alloc(65_536));
    expect(link.socket.destroyed).toBe(false);
    link.socket.emit('data', Buffer.alloc(1));
    expect(link.socket.destroyed).toBe(true);
    expect(await log.closed(link)).toEqual({ cause: 'local' });
    peer.socket.destroy();
  });

  test('leaving a closed link, or one that is not connected yet, resolves at once', async () => {
    const { link } = await linked();
    link.destroy();
    await link.leave();
    const { accepted } = await socketPair();
    const fresh = new HubLog().hub.attach(accepted);
    await Promise.all([fresh.leave({ drainMs: 0 }), fresh.leave({ drainMs: 0 })]);
    expect(fresh.state).toBe('closed');
  });

  test('options are refused by name and value', async () => {
    const { link } = await linked();
    expect(() => link.leave({ reason: 256 })).toThrow(/^reason .*256/);
    expect(() => link.leave({ retryAfterMs: -1 })).toThrow(/^retryAfterMs .*-1/);
    expect(() => link.leave({ drainMs: 300_001 })).toThrow(/^drainMs .*300001/);
    expect(() => link.leave({ drain: 1 } as never)).toThrow(/^options\.drain /);
    expect(link.state).toBe('up');
  });
});

describe('hub.close', () => {
  test('says GOAWAY on every link, drains as long as asked, and leaves nothing', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { accepted, connected } = await socketPair();
    const peer = new RawPeer(connected);
    const link = log.hub.attach(accepted, { ...mixed(), intervalMs: 1_000, firstPhase: 0 });
    await time.pass(100);
    let isDone = false;
    const closing = log.hub.close({ drainMs: 3_000 }).then(() => {
      isDone = true;
    });
    await time.pass(2_900);
    expect([isDone, link.state]).toEqual([false, 'leaving']);
    await time.pass(200);
    await peer.ended();
    await closing;
    expect(peer.framesWith(Flag.GoAway)).toHaveLength(1);
    expect(log.hub.stats().links).toBe(0);
    expect(log.hub.scheduler.size).toBe(0);
    await log.hub.close();
  });

  test('does not wait for a link that was given more time before', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { accepted, connected } = await socketPair();
    new RawPeer(connected);
    const link = log.hub.attach(accepted, { ...mixed(), intervalMs: 1_000, firstPhase: 0 });
    await time.pass(100);
    const left = link.leave({ drainMs: 200_000 });
    await time.pass(100);
    const closing = log.hub.close({ drainMs: 1_000 });
    await time.pass(1_000 + 1_000 + 10);
    await Promise.all([closing, left]);
    expect(link.state).toBe('closed');
  });

  test('await using closes at once', async () => {
    const { log, link, peer } = await linked();
    await log.hub[Symbol.asyncDispose]();
    expect(link.state).toBe('closed');
    await peer.ended();
    await expect(log.hub.close({ drainMs: -1 })).rejects.toThrow(/^drainMs .*-1/);
  });
});

describe('a leaving listener that throws', () => {
  test('leave rejects with what it threw, when the link is closed; it was told all the same', async () => {
    const { log, link, peer } = await linked();
    log.hub.on('leaving', () => {
      throw new Error('a listener');
    });
    let isSettled = false;
    const leaving = link.leave({ drainMs: 50 }); // does not throw
    void leaving
      .catch(() => {})
      .then(() => {
        isSettled = true;
      });
    await peer.seen(1, GOAWAY);
    expect([isSettled, link.state]).toEqual([false, 'leaving']);
    await peer.ended(); // the time to drain was counted
    peer.socket.end();
    await expect(leaving).rejects.toThrow('a listener');
    expect(link.state).toBe('closed');
  });

  test('closing the hub closes all links, and rejects with it', async () => {
    const log = new HubLog();
    const { link } = await linked({}, log);
    const other = await linked({}, log);
    log.hub.once('leaving', () => {
      throw new Error('a listener');
    });
    await expect(log.hub.close()).rejects.toThrow('a listener');
    expect([link.state, other.link.state]).toEqual(['closed', 'closed']);
  });
});
