/**
 * F10, F11 and F7 on real sockets and in real time, plain and TLS: a transfer at a crawl, a peer that stops reading,
 * a black hole. The whole 100 MB where everything must run.
 */
import { afterAll, describe, expect, test } from 'vitest';
import type { AttachOptions, Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../src/server/length-prefix.ts';
import { Crawler } from '../support/crawler.ts';
import { recordingHost } from '../support/hosts.ts';
import { HubLog } from '../support/hub-log.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { sized } from '../support/sizes.ts';
import { closeAll, eventually, later, socketPair } from '../support/sockets.ts';

// They mostly wait: all at once.
afterAll(closeAll);

const KINDS = ['tcp', 'tls'] as const;
const MEGABYTES = sized(100, 20);
const BYTES_PER_SECOND = sized(5e6, 3e6);
const FRAME_MEGABYTES = 10;

function shared(more: AttachOptions): AttachOptions {
  return { host: recordingHost().host, firstPhase: 0, maxQueuedBytes: Infinity, ...more };
}

async function crawl(
  log: HubLog,
  kind: 'tcp' | 'tls',
  options: AttachOptions,
  beatEveryMs: number,
): Promise<{ link: Link; reader: Crawler; bytes: number }> {
  const { accepted, connected } = await socketPair(kind);
  const link = log.hub.attach(accepted, shared(options));
  const reader = new Crawler(connected, BYTES_PER_SECOND, beatEveryMs);
  await link.whenUp();
  const frame = lengthPrefixedFrame(Buffer.alloc(FRAME_MEGABYTES * 1e6));
  const frames = MEGABYTES / FRAME_MEGABYTES;
  for (let count = 0; count < frames; count++) link.write(frame); // one large write each: only the handle sees it move
  return { link, reader, bytes: frames * frame.length };
}

describe.concurrent('F10: a large transfer at a crawl', () => {
  test('longer than the time-out: who beats stays up, who only answers is at worst suspect', async () => {
    const log = new HubLog();
    const options = { intervalMs: 1_000, advice: true };
    const startMs = performance.now();
    const runs = await Promise.all(
      KINDS.flatMap((kind) => [crawl(log, kind, options, 400), crawl(log, kind, options, 0)]),
    );
    await eventually(
      () => runs.every(({ reader, bytes }) => reader.hostBytes === bytes),
      'the whole file',
      60_000,
    );
    expect(performance.now() - startMs).toBeGreaterThan(2 * 3_000);
    // After it, the question behind all those bytes is answered, and everybody is well.
    await eventually(() => runs.every(({ link }) => link.state === 'up'), 'all up again');
    for (const [index, { link }] of runs.entries()) {
      // The kernel hands a crawl on in lumps: on a busy machine it may take nothing for longer than D.
      const names = log.names(link).filter((name) => name !== 'one-way' && name !== 'write-stall');
      expect(names).not.toContain('dead');
      if (index % 2 === 0) expect(names).toEqual(['up']);
      else
        expect(names.filter((name) => name === 'suspect').length).toBe(
          names.filter((name) => name === 'recovered').length,
        );
      await eventually(
        () => link.stats().rttMaxMs > 100,
        'the long round trip of a question behind many bytes',
      );
    }
    expect(log.hub.stats().dead).toBe(0);
  }, 90_000);
});

describe.concurrent('F11: a peer that stops reading', () => {
  test('in the middle of a transfer: write-stall, though the peer beats and stays up; then it goes on', async () => {
    const log = new HubLog();
    const runs = await Promise.all(KINDS.map((kind) => crawl(log, kind, { intervalMs: 300 }, 100)));
    await eventually(() => runs.every(({ reader }) => reader.hostBytes > 2e6), 'a part of it');
    for (const { reader } of runs) reader.bytesPerSecond = 0;
    await eventually(() => runs.every(({ link }) => log.of('write-stall', link).length > 0), 'write-stall');
    for (const { link, reader } of runs) {
      const [stall] = log.of('write-stall', link);
      expect(stall!.detail.stalledMs).toBeGreaterThanOrEqual(900);
      expect(link.socket.writableLength).toBeGreaterThan(0);
      expect(link.state).toBe('up');
      reader.bytesPerSecond = 50e6;
    }
    await eventually(() => runs.every(({ reader, bytes }) => reader.hostBytes === bytes), 'the rest', 30_000);
    expect(log.of('dead')).toEqual([]);
  }, 60_000);

  test('silent, too: dead, as one that does not read', async () => {
    const log = new HubLog();
    const runs = await Promise.all(KINDS.map((kind) => crawl(log, kind, { intervalMs: 300 }, 0)));
    for (const { reader } of runs) reader.bytesPerSecond = 0;
    await eventually(() => log.of('closed').length === 2, 'both closed');
    for (const { link } of runs) expect(await log.closed(link)).toMatchObject({ cause: 'peer-not-reading' });
  });
});

describe.concurrent('F7: a black hole with steady writes', () => {
  test.each(KINDS)('is dead on time, %s', async (kind) => {
    const log = new HubLog();
    const { accepted, connected } = await socketPair(kind);
    const link = log.hub.attach(accepted, shared({ intervalMs: 200 }));
    const peer = new RawPeer(connected);
    const frame = lengthPrefixedFrame(Buffer.alloc(1_000));
    const writing = setInterval(() => link.write(frame), 20);
    later(() => clearInterval(writing));
    await eventually(() => link.stats().rttMs >= 0, 'a first answer');
    peer.socket.pause();
    const [dead] = [await log.next('dead', link)];
    expect(dead.detail.cause).toBe('process-hung'); // the kernel behind it still acknowledges
    expect(dead.detail.silentMs).toBeGreaterThanOrEqual(600);
    // The published bound; twice that for a loaded machine, and what this process missed of it itself.
    const { worstLagMs } = log.hub.stats();
    expect(dead.detail.silentMs).toBeLessThanOrEqual(2 * (link.detectionBoundMs + worstLagMs));
  });
});
