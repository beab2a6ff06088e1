/**
 * F48: a million pings from a peer that never reads. The server runs in a process of its own, so that its memory can
 * be weighed; the first flood warms it up, the second is weighed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, test } from 'vitest';
import { Flag, FRAME_BYTES } from '../../src/wire/constants.ts';
import { encodeFrameInto } from '../../src/wire/frame.ts';
import { programFrom, removePrograms } from '../support/programs.ts';

afterAll(removePrograms);

const FLOOD_FRAMES = 1_000_000;
const FRAMES_PER_CHUNK = 4_000;
const MIB = 2 ** 20;
/** A batch of answers on its way, and the few kept behind it. */
const MOST_QUEUED_BYTES = 64 * FRAME_BYTES + 4 * FRAME_BYTES;

interface Report {
  readonly cause: string;
  readonly code?: string;
  readonly framesReceived: number;
  readonly pongsSent: number;
  readonly pongsCoalesced: number;
  readonly mostQueuedBytes: number;
  readonly usedBytes: number;
}

function pings(): Buffer {
  const chunk = Buffer.alloc(FRAMES_PER_CHUNK * FRAME_BYTES);
  for (let frame = 0; frame < FRAMES_PER_CHUNK; frame++) {
    encodeFrameInto(chunk, frame * FRAME_BYTES, Flag.AckRequest, frame, frame);
  }
  return chunk;
}

/** Writes a million pings and reads nothing. */
async function flood(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {}); // being cut is the point
  await once(socket, 'connect');
  const chunk = pings();
  for (let sent = 0; sent < FLOOD_FRAMES; sent += FRAMES_PER_CHUNK) socket.write(chunk);
  return socket;
}

/** Two floods against a server with this cap; the reports of both. */
async function floodTwice(maxFramesPerSecond: number): Promise<[Report, Report]> {
  const script = await programFrom('test/storm/flood-server.ts');
  const server = spawn(process.execPath, ['--expose-gc', script, String(maxFramesPerSecond)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => JSON.parse((await lines.next()).value as string) as T;
  try {
    const { port } = await next<{ port: number }>();
    const reports: Report[] = [];
    for (let round = 0; round < 2; round++) {
      const socket = await flood(port);
      reports.push(await next<Report>());
      socket.destroy();
    }
    return reports as [Report, Report];
  } finally {
    server.stdin.end();
    await once(server, 'exit');
  }
}

describe('F48: a million pings from a peer that never reads', { timeout: 60_000 }, () => {
  test('the cap cuts it with cause policy, and memory is as before', async () => {
    const [before, after] = await floodTwice(50);
    for (const report of [before, after]) {
      expect(report).toMatchObject({ cause: 'policy', code: 'HB_ERR_FRAME_RATE' });
      // Two seconds' worth and what its own time has earned; the rest is thrown away unread.
      expect(report.framesReceived).toBeGreaterThanOrEqual(100);
      expect(report.framesReceived).toBeLessThan(1_000);
      expect(report.mostQueuedBytes).toBeLessThanOrEqual(MOST_QUEUED_BYTES);
    }
    expect(after.usedBytes - before.usedBytes).toBeLessThan(2 * MIB);
  });

  test('without a cap answers are coalesced, little is queued, and memory is as before', async () => {
    const [before, after] = await floodTwice(Infinity);
    for (const report of [before, after]) {
      expect(report.cause).toBe('alive');
      expect(report.framesReceived).toBeGreaterThanOrEqual(FLOOD_FRAMES);
      expect(report.pongsCoalesced).toBeGreaterThan(FLOOD_FRAMES / 4);
      expect(report.pongsSent + report.pongsCoalesced).toBeGreaterThan(FLOOD_FRAMES - 100);
      expect(report.mostQueuedBytes).toBeGreaterThan(0);
      expect(report.mostQueuedBytes).toBeLessThanOrEqual(MOST_QUEUED_BYTES);
    }
    expect(after.usedBytes - before.usedBytes).toBeLessThan(2 * MIB);
  });
});
