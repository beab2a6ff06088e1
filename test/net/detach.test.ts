/** F27: a socket given back is the host's alone, nothing read is lost, and an old link cannot touch its successor. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Flag } from '../../src/wire/constants.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { ManualTime, settle } from '../support/manual-time.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, listening, newSocket, socketPair, tame } from '../support/sockets.ts';

afterEach(closeAll);

const frameOf = (text: string): Buffer => lengthPrefixedFrame(Buffer.from(text));

async function linked(options: AttachOptions = {}) {
  const { accepted, connected } = await socketPair();
  const log = new HubLog();
  const peer = new RawPeer(connected);
  const link = log.hub.attach(accepted, { firstPhase: 0, ...options });
  await log.next('up', link);
  return { log, link, peer, socket: accepted };
}

describe('detach', () => {
  test('gives the socket back paused and as it was, with one `closed`', async () => {
    const { log, link, peer, socket } = await linked();
    expect(link.detach()).toEqual({ socket, head: Buffer.alloc(0) });
    expect(socket.isPaused()).toBe(true);
    expect(['write', 'end', 'push'].filter((name) => Object.hasOwn(socket, name))).toEqual([]);
    expect(socket.listenerCount('data')).toBe(0);
    expect(log.of('closed', link).map(({ detail }) => detail)).toEqual([
      { cause: 'local', reason: 'detached' },
    ]);
    socket.write(frameOf('plain')); // the host's own again
    await eventually(() => peer.hostBytes === 9, 'the bytes');
    expect(() => link.detach()).toThrow(expect.objectContaining({ code: 'HB_ERR_CLOSED' }));
  });

  test('a `write` that somebody else had put on the socket is put back', async () => {
    const { accepted } = await socketPair();
    const wrapped = accepted.write.bind(accepted);
    accepted.write = wrapped;
    new HubLog().hub.attach(accepted).detach();
    expect(accepted.write).toBe(wrapped);
  });

  test('at every byte: attached again with `head`, the same frames and answers come out', async () => {
    const { accepted, connected } = await socketPair();
    const { hub } = new HubLog();
    const peer = new RawPeer(connected);
    const frames = [frameOf(''), frameOf('middle'), frameOf('x')];
    const stream = Buffer.concat(frames.flatMap((frame) => [frame, peer.frame(0)]));
    for (let cut = 0; cut <= stream.length; cut++) {
      const { host, got } = recordingHost();
      const first = hub.attach(accepted, { host });
      accepted.emit('data', stream.subarray(0, cut));
      const { head } = first.detach();
      const second = hub.attach(accepted, { host, head: Buffer.concat([head, stream.subarray(cut)]) });
      await settle(2);
      expect(got).toEqual(frames);
      expect(first.stats().framesReceived + second.stats().framesReceived).toBe(3);
      second.detach();
    }
  });

  test.each(['whole', 'pieces'] as const)(
    '%s: inside `up`, told by a piece of a host frame: it comes in head',
    async (delivery) => {
      const { accepted } = await socketPair();
      const { host, got } = recordingHost({ delivery });
      const log = new HubLog();
      let head: Uint8Array | undefined;
      log.hub.on('up', (link) => {
        head = link.detach().head;
      });
      log.hub.attach(accepted, { host });
      const frame = frameOf('ten letters');
      accepted.emit('data', frame.subarray(0, 9));
      expect(head).toEqual(frame.subarray(0, 9));
      expect(got).toEqual([]);
    },
  );

  test.each(['whole', 'pieces'] as const)(
    '%s: destroyed inside `up`, it delivers nothing',
    async (delivery) => {
      for (const how of ['link', 'socket'] as const) {
        const { accepted } = await socketPair();
        const { host, got } = recordingHost({ delivery });
        const log = new HubLog();
        log.hub.on('up', (link) => {
          if (how === 'link') link.destroy();
          else link.socket.destroy();
        });
        log.hub.attach(accepted, { host });
        accepted.emit('data', Buffer.concat([frameOf('one'), frameOf('two')]));
        expect(got, how).toEqual([]);
      }
    },
  );

  test('inside onFrame: what is behind that frame comes in head, pings before it are answered', async () => {
    let given: ReturnType<Link['detach']> | undefined;
    const { peer, socket } = await linked({
      host: {
        ...recordingHost().host,
        onFrame(link) {
          given = link.detach();
        },
      },
    });
    const rest = Buffer.concat([peer.frame(0), frameOf('rest').subarray(0, 5)]);
    socket.emit('data', Buffer.concat([peer.frame(Flag.AckRequest, 7), frameOf('switch'), rest]));
    expect(given?.head).toEqual(rest);
    expect((await peer.seen(1, Flag.Ack))[0]?.timestamp).toBe(7);
  });

  test('bytes that are on their way stay in the socket', async () => {
    const { link, peer, socket } = await linked({ host: recordingHost().host });
    link.detach();
    peer.socket.write(frameOf('later'));
    const { host, got } = recordingHost();
    const again = new HubLog();
    again.hub.attach(socket, { host });
    await eventually(() => got.length === 1, 'the frame');
    expect(got[0]).toEqual(frameOf('later'));
  });
});

describe('F27: late doings of an old link', () => {
  test('its methods leave the successor alone', async () => {
    const { log, link, peer, socket } = await linked({ host: recordingHost().host });
    link.detach();
    const next = log.hub.attach(socket, { host: recordingHost().host });
    link.pause();
    expect(socket.isPaused()).toBe(false);
    next.pause();
    link.resume();
    expect(socket.isPaused()).toBe(true);
    next.resume();
    link.destroy();
    link.setDegraded(true);
    expect(link.write(frameOf('old'))).toBe(false);
    await link.leave();
    expect(socket.destroyed).toBe(false);
    peer.send(Flag.AckRequest, 0, 5);
    expect((await peer.seen(1, Flag.Ack))[0]).toMatchObject({ seq: 5, flags: Flag.Ack });
    expect(peer.framesWith(Flag.GoAway)).toEqual([]);
    expect(peer.hostBytes).toBe(0);
    expect(log.of('closed')).toHaveLength(1);
  });

  test('its timers and its write callbacks find nothing to do', async () => {
    const time = new ManualTime();
    const log = new HubLog({ clock: time, timers: time });
    const { accepted, connected } = await socketPair();
    const peer = new RawPeer(connected);
    const options = { intervalMs: 1_000, firstPhase: 0, host: recordingHost().host };
    const link = log.hub.attach(accepted, options);
    await time.pass(100);
    peer.socket.pause();
    for (let sent = 0; sent < 60; sent++) link.write(lengthPrefixedFrame(Buffer.alloc(250_000)));
    await time.pass(900); // a beat is held, its marker stands in the queue
    const old = link.stats();
    link.detach();
    const next = log.hub.attach(accepted, options);
    expect(log.hub.scheduler.size).toBe(1);
    peer.socket.resume();
    await eventually(() => accepted.writableLength === 0, 'the queue of the old link');
    await time.pass(10_000);
    expect(link.stats()).toMatchObject({
      framesSent: old.framesSent,
      pingsSent: old.pingsSent,
      state: 'closed',
    });
    expect(next.state).toBe('up');
    expect(log.names(link)).toEqual(['up', 'closed']);
    expect(log.names(next)).toEqual(['up']);
  });

  test('detached while connecting: the connection that comes later starts no clock', async () => {
    const where = await listening(
      createServer((other) => tame(other).resume()),
      'tcp',
    );
    const log = new HubLog();
    const socket = newSocket();
    socket.connect({ ...where });
    const link = log.hub.attach(socket);
    link.detach();
    await once(socket, 'connect');
    expect(log.hub.scheduler.size).toBe(0);
  });
});
