/** Sharing a connection with a host protocol: inbound host frames with heartbeats between, and the guarded write. */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { AttachOptions, HostProtocol, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Flag } from '../../src/wire/constants.ts';
import { lineLength, recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { closeAll, eventually, socketPair } from '../support/sockets.ts';

afterEach(closeAll);

interface Shared {
  readonly log: HubLog;
  readonly link: Link;
  readonly peer: RawPeer;
}

async function share(host: HostProtocol, options: AttachOptions = {}): Promise<Shared> {
  const { accepted, connected } = await socketPair();
  const log = new HubLog();
  return { log, link: log.hub.attach(accepted, { host, ...options }), peer: new RawPeer(connected) };
}

/** Feed bytes as if each piece had come in one read. */
function feed(link: Link, pieces: readonly Buffer[]): void {
  for (const piece of pieces) link.socket.emit('data', piece);
}

/** Compared as text: element by element a matcher takes seconds. */
const hex = (frames: readonly Buffer[]): string[] => frames.map((frame) => frame.toString('hex'));

const frameOf = (bytes: number): Buffer => lengthPrefixedFrame(Buffer.alloc(bytes, bytes % 251));

describe('inbound', () => {
  test.each([0, 1, 3, 16, 1_020, 16_384, 65_536, 70_000])(
    'a frame of %i bytes arrives whole',
    async (bytes) => {
      const { host, got } = recordingHost();
      const { peer, link, log } = await share(host);
      const frames = [frameOf(bytes), frameOf(0), frameOf(bytes)];
      peer.socket.write(Buffer.concat([peer.frame(0), ...frames, peer.frame(Flag.AckRequest)]));
      await peer.seen(1, Flag.Ack);
      expect(hex(got)).toEqual(hex(frames));
      expect(link.stats().framesReceived).toBe(2);
      expect(log.names(link)).toEqual(['up']);
    },
  );

  test('F45: cut at every byte, with heartbeats between, whole frames and events are the same', async () => {
    const frames = [frameOf(0), frameOf(1), frameOf(40), frameOf(300)];
    const { peer } = await share(recordingHost().host);
    const stream = Buffer.concat(frames.flatMap((frame) => [frame, peer.frame(0)]));
    for (let cut = 0; cut <= stream.length; cut++) {
      const { host, got } = recordingHost();
      const { accepted } = await pairOnce();
      const log = new HubLog();
      const link = log.hub.attach(accepted, { host });
      feed(link, [stream.subarray(0, cut), stream.subarray(cut)]);
      expect(hex(got)).toEqual(hex(frames));
      expect(link.stats().framesReceived).toBe(4);
      link.detach();
    }
  });

  test('F45: one byte at a time', async () => {
    const frames = [frameOf(0), frameOf(2_000), frameOf(5)];
    const { host, got } = recordingHost();
    const { link, peer } = await share(host);
    const stream = Buffer.concat(frames.flatMap((frame) => [peer.frame(0), frame]));
    feed(
      link,
      [...stream].map((byte) => Buffer.of(byte)),
    );
    expect(hex(got)).toEqual(hex(frames));
    expect(link.stats().framesReceived).toBe(3);
  });

  test('random sizes in random cuts: whole frames, and pieces that add up to the same bytes', async () => {
    const { accepted } = await pairOnce();
    const { hub } = new HubLog();
    const beat = new RawPeer((await socketPair()).connected).frame(0);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 6 }),
        fc.array(fc.nat({ max: 20_000 }), { maxLength: 12 }),
        (sizes, cuts) => {
          const frames = sizes.map(frameOf);
          const stream = Buffer.concat(frames.flatMap((frame) => [frame, beat]));
          const ends = [...new Set([...cuts.filter((cut) => cut < stream.length), stream.length])].sort(
            (a, b) => a - b,
          );
          const chunks = ends.map((end, index) => stream.subarray(index === 0 ? 0 : ends[index - 1], end));
          for (const delivery of ['whole', 'pieces'] as const) {
            const { host, got } = recordingHost({ delivery });
            const link = hub.attach(accepted, { host });
            feed(link, chunks);
            if (delivery === 'whole') expect(hex(got)).toEqual(hex(frames));
            expect(hex(got).join('')).toBe(hex(frames).join(''));
            expect(got.every((piece) => piece.length > 0)).toBe(true);
            expect(link.stats().framesReceived).toBe(frames.length);
            expect(link.detach().head).toHaveLength(0);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('pieces come as they arrive, before their frame is complete', async () => {
    const { host, got } = recordingHost({ delivery: 'pieces' });
    const { link } = await share(host);
    const frame = frameOf(10);
    feed(link, [frame.subarray(0, 3)]);
    expect(got).toEqual([]);
    feed(link, [frame.subarray(3, 9)]);
    expect(Buffer.concat(got)).toEqual(frame.subarray(0, 9));
    feed(link, [frame.subarray(9)]);
    expect(Buffer.concat(got)).toEqual(frame);
  });

  test('a frame within one chunk is a view of it, not a copy', async () => {
    const views: Uint8Array[] = [];
    const { link } = await share({
      ...recordingHost().host,
      onFrame: (_link, bytes) => views.push(bytes),
    });
    const chunk = Buffer.concat([frameOf(5), frameOf(6)]);
    feed(link, [chunk]);
    expect(views.map((view) => view.buffer === chunk.buffer)).toEqual([true, true]);
    expect(views.map((view) => view.byteOffset - chunk.byteOffset)).toEqual([0, 9]);
  });

  test('a protocol of lines', async () => {
    const { host, got } = recordingHost({ frameLength: lineLength });
    const { link, peer, log } = await share(host);
    const stream = Buffer.concat([Buffer.from('hello\n'), peer.frame(0), Buffer.from('Help\n\nH\n')]);
    feed(
      link,
      [...stream].map((byte) => Buffer.of(byte)),
    );
    expect(got.map(String)).toEqual(['hello\n', 'Help\n', '\n', 'H\n']);
    expect(link.stats().framesReceived).toBe(1);
    feed(link, [Buffer.from('x'.repeat(60))]); // too long for the host's own rules
    expect(await log.closed(link)).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_DESYNC' });
  });

  test('a frame at maxFrameBytes passes, one byte more closes with HB_ERR_HOST_TOO_LARGE', async () => {
    const { host, got } = recordingHost({ maxFrameBytes: 24 });
    const { link, log } = await share(host);
    feed(link, [frameOf(20)]);
    expect(got).toHaveLength(1);
    feed(link, [frameOf(21).subarray(0, 4)]); // the header is enough
    expect(await log.closed(link)).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_HOST_TOO_LARGE' });
    expect(got).toHaveLength(1);
  });

  test.each(['whole', 'pieces'] as const)(
    '%s: who destroys the socket inside onFrame gets no more',
    async (delivery) => {
      const got: Buffer[] = [];
      const { link, peer, log } = await share({
        ...recordingHost({ delivery }).host,
        onFrame: (to, bytes) => {
          got.push(Buffer.from(bytes));
          to.socket.destroy();
        },
      });
      feed(link, [Buffer.concat([frameOf(3), peer.frame(Flag.AckRequest), frameOf(4)])]);
      expect(got).toEqual([frameOf(3)]);
      expect(await log.closed(link)).toMatchObject({ cause: 'local' });
    },
  );

  test('an answer given inside onFrame leaves between the pongs of the same chunk, in order', async () => {
    const { link, peer } = await share({
      ...recordingHost().host,
      onFrame: (to, bytes) => to.write(Buffer.from(bytes)),
    });
    const frame = frameOf(3);
    const received: Buffer[] = [];
    peer.socket.on('data', (chunk) => received.push(chunk));
    feed(link, [Buffer.concat([peer.frame(Flag.AckRequest), frame, peer.frame(Flag.AckRequest)])]);
    await eventually(() => Buffer.concat(received).length === 39, 'pong, echo, pong');
    expect(Buffer.concat(received).subarray(16, 23)).toEqual(frame);
    expect(peer.pongs).toHaveLength(2);
  });
});

/** Pairs are slow to make by the hundred, and a detached socket can be attached again. */
let shared: ReturnType<typeof socketPair> | undefined;
afterEach(() => {
  shared = undefined;
});
function pairOnce(): ReturnType<typeof socketPair> {
  shared ??= socketPair();
  return shared;
}

describe('outbound', () => {
  test('link.write refuses a frame that begins like a heartbeat, and the lone 48', async () => {
    const { host } = recordingHost();
    const { link, peer } = await share(host);
    for (const frame of [Buffer.from('HB'), Buffer.from('HBx'), Buffer.from('H')]) {
      expect(() => link.write(frame)).toThrow(expect.objectContaining({ code: 'HB_ERR_HOST_MAGIC' }));
    }
    expect(link.write(Buffer.from('Ha'))).toBe(true);
    expect(link.write(Buffer.from('B'))).toBe(true);
    expect(link.write(Buffer.alloc(0))).toBe(true);
    peer.socket.removeAllListeners('data');
    const received: Buffer[] = [];
    peer.socket.on('data', (chunk) => received.push(chunk));
    await eventually(() => Buffer.concat(received).length === 3, 'what was accepted');
    expect(Buffer.concat(received).toString()).toBe('HaB');
  });

  test('link.write takes bytes only, and only with a host protocol', async () => {
    const { link } = await share(recordingHost().host);
    expect(() => link.write('text' as never)).toThrow(/^wholeFrame must be/);
    const { accepted } = await socketPair();
    const bare = new HubLog().hub.attach(accepted);
    expect(() => bare.write(Buffer.from('a'))).toThrow(expect.objectContaining({ code: 'HB_ERR_NO_HOST' }));
  });

  test('a host that writes to the socket itself is told with HB_ERR_HOST_WRITE, and nothing is sent', async () => {
    const { link, peer } = await share(recordingHost().host);
    expect(() => link.socket.write('oops')).toThrow(expect.objectContaining({ code: 'HB_ERR_HOST_WRITE' }));
    link.write(frameOf(1));
    await eventually(() => peer.hostBytes === 5, 'the frame through the link');
    expect(peer.host).toEqual(frameOf(1));
    const { accepted } = await socketPair();
    new HubLog().hub.attach(accepted);
    expect(() => accepted.write('oops')).toThrow(expect.objectContaining({ code: 'HB_ERR_HOST_WRITE' }));
  });

  test('false is back-pressure, and after the close', async () => {
    const { link, peer } = await share(recordingHost().host);
    peer.socket.pause();
    let writes = 0;
    while (link.write(frameOf(65_536))) if (++writes > 1_000) throw new Error('no back-pressure');
    expect(link.socket.writableNeedDrain).toBe(true);
    link.destroy();
    expect(link.write(frameOf(1))).toBe(false);
  });
});
