/** What a misbehaving peer gets: a code, a word of farewell where it can hear one, and the end of the link. */
import { afterEach, describe, expect, test } from 'vitest';
import type { AttachOptions } from '../../src/net/types.ts';
import { Flag, GoAwayReason, Offset } from '../../src/wire/constants.ts';
import { crc16 } from '../../src/wire/crc16.ts';
import { goAwayReason } from '../../src/wire/param.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

const HTTP = Buffer.from('GET / HTTP/1.1\r\nHost: example.net\r\n\r\n');
const TLS_HELLO = Buffer.from('16030100c8010000c40303a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5', 'hex');

async function linked(options: AttachOptions = {}) {
  const { accepted, connected } = await socketPair();
  const log = new HubLog();
  const peer = new RawPeer(connected);
  const link = log.hub.attach(accepted, { firstPhase: 0, ...options });
  await log.next('up', link);
  return { log, link, peer };
}

/** A frame with some bytes changed and a CRC that holds. */
function forged(frame: Buffer, changes: Record<number, number>): Buffer {
  const bytes = Buffer.from(frame);
  for (const [at, value] of Object.entries(changes)) bytes[Number(at)] = value;
  bytes.writeUInt16LE(crc16(bytes, 0, Offset.Crc), Offset.Crc);
  return bytes;
}

describe('shared', () => {
  const shared = (): AttachOptions => ({ host: recordingHost().host });

  test.each([
    ['a request of another protocol', () => HTTP],
    [
      'a damaged heartbeat',
      (frame: Buffer) => Buffer.concat([frame.subarray(0, 15), Buffer.of(0), frame]).fill(1, 8, 9),
    ],
    ['flags that make no frame', (frame: Buffer) => forged(frame, { [Offset.Flags]: 0x05 })],
  ])('%s: HB_ERR_DESYNC, GOAWAY with reason 5 before the end', async (_name, bytesOf) => {
    const { log, link, peer } = await linked(shared());
    peer.socket.write(bytesOf(peer.frame(0)));
    expect(await log.closed(link)).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_DESYNC' });
    await peer.ended();
    expect(goAwayReason(peer.framesWith(Flag.GoAway)[0]!.timestamp)).toBe(GoAwayReason.ProtocolError);
    expect(log.names(link)).toEqual(['up', 'closed']);
  });

  test('after the error nothing more is delivered', async () => {
    const { host, got } = recordingHost();
    const { log, link, peer } = await linked({ host });
    peer.socket.write(Buffer.concat([Buffer.from([0, 0, 0, 1, 65]), HTTP, Buffer.from([0, 0, 0, 1, 66])]));
    peer.socket.write(peer.frame(Flag.AckRequest));
    expect((await log.closed(link)).reason).toMatch(/ at byte 21$/);
    expect(got).toHaveLength(1);
    expect(peer.pongs).toHaveLength(0);
  });

  test('the GOAWAY of a damaged stream does not land inside an open host frame', async () => {
    const { host } = recordingHost({ outboundFrameLength: recordingHost().host.frameLength });
    const { log, link, peer } = await linked({ host });
    link.socket.write(Buffer.from([0, 0, 0, 9, 1, 2, 3])); // a frame left open
    await eventually(() => peer.hostBytes === 7, 'the first piece');
    peer.socket.write(HTTP);
    expect(await log.closed(link)).toMatchObject({ code: 'HB_ERR_DESYNC' });
    await peer.ended();
    expect(peer.hostBytes).toBe(7);
    expect(peer.framesWith(Flag.GoAway)).toEqual([]);
  });
});

describe('heartbeat-only', () => {
  test('F47: sixteen bytes of HTTP or TLS are survived and counted', async () => {
    const { link, peer } = await linked();
    peer.socket.write(HTTP.subarray(0, 16));
    peer.socket.write(TLS_HELLO.subarray(0, 16));
    peer.socket.write(peer.frame(Flag.AckRequest));
    await peer.seen(1, Flag.Ack);
    expect(link.state).toBe('up');
    expect(link.stats().resyncBytes).toBe(32);
  });

  test('a peer that talks HTTP on: HB_ERR_RESYNC past the budget of 1024 bytes, told with reason 5', async () => {
    const { log, link, peer } = await linked();
    const noise = Buffer.alloc(1_024, 'x');
    link.socket.emit('data', noise);
    expect(link.state).toBe('up');
    link.socket.emit('data', Buffer.of(1));
    expect(await log.closed(link)).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_RESYNC' });
    await peer.ended();
    expect(goAwayReason(peer.framesWith(Flag.GoAway)[0]!.timestamp)).toBe(GoAwayReason.ProtocolError);
    expect(link.stats().resyncBytes).toBe(1_024);
    expect(log.hub.stats().resyncBytes).toBe(1_024);
  });

  test('F46: three stray bytes lose at most the frame they touch', async () => {
    const { link, peer } = await linked();
    const frames = [peer.frame(0), peer.frame(0), peer.frame(Flag.AckRequest)];
    const [first, second, third] = frames as [Buffer, Buffer, Buffer];
    const before = link.stats().framesReceived;
    peer.socket.write(
      Buffer.concat([first, second.subarray(0, 7), Buffer.from('abc'), second.subarray(7), third]),
    );
    await peer.seen(1, Flag.Ack);
    expect(link.stats().framesReceived).toBe(before + 2);
    expect(link.stats().resyncBytes).toBe(19);
  });
});

describe.each([
  ['heartbeat-only', () => ({})],
  ['shared', () => ({ host: recordingHost().host })],
])('both modes: %s', (_mode, options: () => AttachOptions) => {
  test('another version: HB_ERR_VERSION, and the peer reads GOAWAY with reason 8 before our FIN', async () => {
    const { log, link, peer } = await linked(options());
    peer.socket.write(forged(peer.frame(0), { [Offset.Version]: 2 }));
    expect(await log.closed(link)).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_VERSION' });
    await peer.ended();
    const last = peer.frames.at(-1)!;
    expect(last.flags).toBe(Flag.GoAway | Flag.Param);
    expect(goAwayReason(last.timestamp)).toBe(GoAwayReason.Version);
  });

  test('reserved bytes in use: strict closes with HB_ERR_RESERVED on the first, ignore takes them', async () => {
    const strict = await linked(options());
    const dirty = Buffer.from(strict.peer.frame(Flag.AckRequest));
    dirty.writeUInt16LE(0xbeef, Offset.Reserved);
    strict.peer.socket.write(dirty);
    expect(await strict.log.closed(strict.link)).toMatchObject({ code: 'HB_ERR_RESERVED' });
    expect(strict.peer.pongs).toHaveLength(0);
    const lax = await linked({ ...options(), reserved: 'ignore' });
    lax.peer.socket.write(dirty);
    expect(await lax.peer.seen(1, Flag.Ack)).toHaveLength(1);
    expect(lax.link.state).toBe('up');
  });
});
