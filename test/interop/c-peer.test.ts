/**
 * Peers in C, written from the specification alone (spec/interop/c): the same bytes for the same fields, the same
 * verdict for the same bytes, and real connections in both directions. Compiled here, warnings being errors.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import {
  type ClosedDetail,
  connectHeartbeat,
  createEchoServer,
  type DeadDetail,
  type EchoServerOptions,
  HeartbeatHub,
  type Link,
} from '../../src/index.ts';
import { frameArbitrary } from '../../src/testing/index.ts';
import * as wire from '../../src/wire/index.ts';
import { hasTool, needs } from '../support/tools.ts';
import { CPrograms, hasSanitizers } from './c-programs.ts';

const FRAMES = 100_000;
const TRIPLE_BYTES = 9;
const hasCompiler = hasTool('gcc');
const canSanitize = hasSanitizers();
const sanitizers = canSanitize ? '' : ' [needs the sanitizers of gcc: not installed here]';

interface ClientReport {
  sent: number;
  answered: number;
  errors: number;
  goaway: number | null;
  end: string;
}

let plain: CPrograms;
let sanitized: CPrograms;

beforeAll(async () => {
  if (!hasCompiler) return;
  plain = new CPrograms();
  sanitized = new CPrograms();
  await Promise.all([plain.build(false), canSanitize && sanitized.build(true)]);
}, 120_000);

afterAll(() => {
  plain?.dispose();
  sanitized?.dispose();
});

function vectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../spec/vectors/${name}.json`, import.meta.url), 'utf8')) as T;
}

/** Random legal frames, replayable: the seed is in the title of what fails. */
function sampleFrames(seed: number, count: number): wire.Frame[] {
  return fc.sample(frameArbitrary(), { seed, numRuns: count });
}

function triplesOf(frames: wire.Frame[]): Buffer {
  const bytes = Buffer.alloc(frames.length * TRIPLE_BYTES);
  for (const [index, { flags, seq, timestamp }] of frames.entries()) {
    bytes.writeUInt8(flags, index * TRIPLE_BYTES);
    bytes.writeUInt32LE(seq, index * TRIPLE_BYTES + 1);
    bytes.writeUInt32LE(timestamp, index * TRIPLE_BYTES + 5);
  }
  return bytes;
}

function encodeAll(frames: wire.Frame[]): Buffer {
  const bytes = Buffer.alloc(frames.length * wire.FRAME_BYTES);
  for (const [index, { flags, seq, timestamp }] of frames.entries()) {
    wire.encodeFrameInto(bytes, index * wire.FRAME_BYTES, flags, seq, timestamp);
  }
  return bytes;
}

/** Every vector of frames-good and frames-bad: hex, how reserved bytes are treated, and the line codec must print. */
function vectorLines(): { name: string; hex: string; reserved: string; line: string }[] {
  const good = vectors<{ cases: (wire.Frame & { name: string; hex: string; reserved?: string })[] }>(
    'frames-good',
  );
  type Bad = { name: string; hex: string; code: string; reserved?: string };
  const { about: _about, ...groups } = vectors<Record<string, Bad[]>>('frames-bad');
  return [
    ...good.cases.map(({ flags, seq, timestamp, ...rest }) => ({
      ...rest,
      line: `${flags} ${seq} ${timestamp}`,
    })),
    ...Object.values(groups)
      .flat()
      .map(({ code, ...rest }) => ({ ...rest, line: code })),
  ].map((vector) => ({ reserved: 'strict', ...vector }));
}

function expectVectorsHold(programs: CPrograms): void {
  const all = vectorLines();
  expect(all.length).toBeGreaterThan(250);
  for (const reserved of ['strict', 'ignore']) {
    const some = all.filter((vector) => vector.reserved === reserved);
    const printed = programs.filter(
      'codec',
      reserved === 'ignore' ? ['decode', 'ignore'] : ['decode'],
      some.map(({ hex }) => `${hex}\n`).join(''),
    );
    const lines = printed.toString().trimEnd().split('\n');
    expect(some.map(({ name }, index) => `${name}: ${lines[index]}`)).toEqual(
      some.map(({ name, line }) => `${name}: ${line}`),
    );
  }
}

/** The heartbeat-only streams of the vectors, received in steps of so many bytes: the same events each time. */
function expectStreamsHold(programs: CPrograms, stepBytes: number): void {
  type Event = { frame: wire.Frame } | { error: string };
  type Stream = { name: string; mode: string; hex: string; events: Event[] };
  const own = vectors<{ cases: Stream[] }>('streams').cases.filter(
    (stream) =>
      stream.mode === 'heartbeat-only' && !('reserved' in stream) && !('resyncBudgetBytes' in stream),
  );
  expect(own.length).toBeGreaterThan(10);
  const input = own.map(({ hex }) => `${hex}\n`).join('');
  const lines = programs
    .filter('codec', ['split', String(stepBytes)], input)
    .toString()
    .trimEnd()
    .split('\n');
  const words = (event: Event): string => {
    if ('error' in event) return event.error;
    const { flags, seq, timestamp } = event.frame;
    return `${flags}:${seq}:${timestamp}`;
  };
  expect(own.map(({ name }, index) => `${name}: ${lines[index]}`)).toEqual(
    own.map(({ name, events }) => [`${name}:`, ...events.map(words), '.'].join(' ')),
  );
}

async function withEchoServer(
  options: EchoServerOptions,
  body: (port: number, closed: ClosedDetail[]) => Promise<void>,
): Promise<void> {
  const server = createEchoServer({ intervalMs: 1_000, maxFramesPerSecond: Infinity, ...options });
  const closed: ClosedDetail[] = [];
  server.hub.on('closed', (_link, detail) => closed.push(detail));
  const { port } = (await server.listen(0)) as AddressInfo;
  try {
    await body(port, closed);
  } finally {
    await server.close();
  }
}

async function runClient(programs: CPrograms, port: number, ...args: string[]): Promise<ClientReport> {
  return JSON.parse(await programs.run('client', ['--port', String(port), ...args])) as ClientReport;
}

describe('the C header speaks the same words', () => {
  const header = readFileSync(new URL('../../spec/interop/c/hb1.h', import.meta.url), 'utf8');
  const numbers = new Map(
    [...header.matchAll(/\bHB1_([A-Z0-9_]+) = (0x[0-9a-f]+|\d+)/g)].map((match) => [
      match[1]!,
      Number(match[2]),
    ]),
  );

  /** AckRequest is ACK_REQUEST there; GoAway is one word. */
  const inCapitals = (name: string): string =>
    name
      .replace(/GoAway/, 'Goaway')
      .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
      .toUpperCase();

  test.each([
    ['flags', '', wire.Flag],
    ['parameters', '', wire.Param],
    ['GOAWAY reasons', 'REASON_', wire.GoAwayReason],
    ['numbers', '', { FRAME_BYTES: wire.FRAME_BYTES, MAGIC_0: wire.MAGIC_0, MAGIC_1: wire.MAGIC_1 }],
    ['version and mask', '', { VERSION: wire.VERSION, FLAGS_MASK: wire.FLAGS_MASK }],
    ['budget', '', { RESYNC_BUDGET_BYTES: wire.RESYNC_BUDGET_BYTES }],
    ['repay', '', { RESYNC_REPAY_BYTES: wire.RESYNC_REPAY_BYTES }],
  ] as [string, string, Record<string, number>][])(
    '%s have the same names and values',
    (_, prefix, words) => {
      for (const [name, value] of Object.entries(words)) {
        const word = `${prefix}${name === name.toUpperCase() ? name : inCapitals(name)}`;
        expect(numbers.get(word), word).toBe(value);
      }
    },
  );

  test('the codes are listed in the order of the checks', () => {
    const listed = /enum hb1_code \{([^}]*)\}/.exec(header)![1]!.match(/HB1_ERR_[A-Z]+/g)!;
    expect(listed.map((name) => name.replace('HB1', 'HB'))).toEqual(wire.FRAME_CODES);
  });
});

describe.skipIf(!hasCompiler)(`C peers${needs('gcc')}`, () => {
  const seed = Number(process.env.WIREBEAT_SEED ?? Date.now() % 2 ** 31);

  test(`100 000 frames encoded here are read and written there to the same bytes (seed ${seed})`, () => {
    const bytes = encodeAll(sampleFrames(seed, FRAMES));
    expect(plain.filter('codec', ['transcode'], bytes).equals(bytes)).toBe(true);
  });

  test(`100 000 frames encoded there from random fields are those encoded here (seed ${seed})`, () => {
    const frames = sampleFrames(seed + 1, FRAMES);
    const encoded = plain.filter('codec', ['encode'], triplesOf(frames));
    expect(encoded.equals(encodeAll(frames))).toBe(true);
    const strangers = frames.filter((frame, index) => {
      const decoded = wire.decodeFrame(encoded, index * wire.FRAME_BYTES);
      return !(decoded.ok && decoded.flags === frame.flags && decoded.seq === frame.seq);
    });
    expect(strangers).toEqual([]);
  });

  test(`any sixteen bytes get the verdict there that they get here (seed ${seed})`, () => {
    const random = seededRandom(seed + 2);
    const flawed = Array.from({ length: 20_000 }, () => {
      // The checksum is right, so that what lies behind it is reached: version, reserved bytes, flags.
      const frame = wire.encodeFrame({ flags: 0, seq: random.u32(), timestamp: random.u32() });
      if (random.next() < 0.2) frame[2] = random.u32() & 3;
      frame[3] = random.u32() & 0xff;
      if (random.next() < 0.2) frame[11] = random.u32() & 7;
      frame.writeUInt16LE(wire.crc16(frame, 0, 12), 12);
      if (random.next() < 0.1) frame[14 + (random.u32() & 1)] = random.u32() & 0xff;
      if (random.next() < 0.1) frame[random.u32() & 15]! ^= 1 << (random.u32() & 7);
      return frame;
    });
    const lines = flawed.map((frame) => `${frame.toString('hex')}\n`).join('');
    const there = plain.filter('codec', ['decode'], lines).toString().trimEnd().split('\n');
    const here = flawed.map((frame) => {
      const result = wire.decodeFrame(frame);
      return result.ok ? `${result.flags} ${result.seq} ${result.timestamp}` : result.code;
    });
    expect(new Set(here.filter((line) => line.startsWith('HB_')))).toEqual(
      new Set(wire.FRAME_CODES.filter((code) => code !== 'HB_ERR_LENGTH')),
    );
    expect(there).toEqual(here);
  });

  test('the vectors get their fields and codes from the C decoder', () => {
    expectVectorsHold(plain);
  });

  test.each([1, 7, 16, 4096])('F45 F46: the heartbeat-only streams, %d bytes at a time', (stepBytes) => {
    expectStreamsHold(plain, stepBytes);
  });

  test('F46: 1 024 stray bytes are borne after a good frame too, one more is not', () => {
    const beat = wire.encodeFrame({ flags: 0, seq: 1, timestamp: 2 }).toString('hex');
    const input = [1_024, 1_025].map((strays) => `${beat}${'00'.repeat(strays)}\n`).join('');
    expect(plain.filter('codec', ['split', '100'], input).toString()).toBe(
      '0:1:2 .\n0:1:2 HB_ERR_RESYNC .\n',
    );
  });

  test('a C client has 1 000 pings answered by the echo server, without one wrong answer', async () => {
    await withEchoServer({}, async (port) => {
      const report = await runClient(plain, port, '--count', '1000');
      expect(report).toEqual({ sent: 1_000, answered: 1_000, errors: 0, goaway: null, end: 'done' });
    });
  });

  test('F45: a C responder answers 1 000 pings that arrive in pieces of 37 bytes', async () => {
    const responder = await plain.listen('responder');
    const socket = connect(responder.port, '127.0.0.1');
    const frames = sampleFrames(seed + 3, 1_000);
    const pings = frames.map(({ seq, timestamp }) => ({ flags: wire.Flag.AckRequest, seq, timestamp }));
    const pongs: wire.Frame[] = [];
    const splitter = new wire.FrameSplitter({
      onFrame: (flags, seq, timestamp) => {
        pongs.push({ flags, seq, timestamp });
        if (pongs.length === pings.length) socket.end();
      },
      onError: (code) => socket.destroy(new Error(code)),
    });
    socket.on('data', (chunk) => splitter.push(chunk));
    const bytes = encodeAll(pings);
    for (let at = 0; at < bytes.length; at += 37) socket.write(bytes.subarray(at, at + 37));
    await once(socket, 'end');
    expect(pongs).toEqual(pings.map((ping) => ({ ...ping, flags: wire.Flag.Ack })));
  });

  test('F17: a C responder stays up, its RTT is known, and stopped it is dead in time', async () => {
    await using hub = new HeartbeatHub();
    const responder = await plain.listen('responder');
    const told: string[] = [];
    for (const event of ['suspect', 'dead', 'closed'] as const) hub.on(event, () => told.push(event));
    const link = await connectHeartbeat({ port: responder.port, hub, intervalMs: 100, preciseRtt: true });
    await answers(link, 8);
    expect(told).toEqual([]);
    expect(link.stats().rttLatestMs).toBeGreaterThan(0);
    expect(link.stats().rttMs).toBeLessThan(100);

    responder.process.kill('SIGSTOP');
    const stoppedMs = performance.now();
    const [, detail] = (await once(hub, 'dead')) as [Link, DeadDetail];
    const elapsedMs = performance.now() - stoppedMs;
    expect(detail.limitMs).toBe(300);
    expect(detail.silentMs).toBeGreaterThanOrEqual(300);
    // An answer may still have been on its way; a machine with two cores may be late by more than a tick.
    expect(elapsedMs).toBeLessThan(link.detectionTimeMs + 500);
    expect(told).toEqual(['suspect', 'dead', 'closed']);
  });

  test('padding garbage of a C client closes a strict link and is named', async () => {
    await withEchoServer({}, async (port, closed) => {
      const report = await runClient(plain, port, '--garbage', '--count', '10');
      expect(report).toMatchObject({ sent: 1, answered: 0, errors: 0, end: 'closed' });
      expect(report.goaway).toBe(wire.GoAwayReason.ProtocolError);
      await expect.poll(() => closed).toHaveLength(1);
      expect(closed[0]).toMatchObject({ cause: 'protocol-error', code: 'HB_ERR_RESERVED' });
    });
  });

  test("padding garbage is served where reserved is 'ignore'", async () => {
    await withEchoServer({ reserved: 'ignore' }, async (port, closed) => {
      const report = await runClient(plain, port, '--garbage', '--count', '100');
      expect(report).toEqual({ sent: 100, answered: 100, errors: 0, goaway: null, end: 'done' });
      await expect.poll(() => closed).toHaveLength(1);
      expect(closed[0]?.cause).toBe('peer-closed');
    });
  });

  test('padding garbage of a C responder closes a strict link, and is served when ignored', async () => {
    await using hub = new HeartbeatHub();
    const { port } = await plain.listen('responder', ['--garbage']);
    const refused = connectHeartbeat({ port, hub, intervalMs: 100 });
    await expect(refused).rejects.toMatchObject({ code: 'HB_ERR_RESERVED' });
    const link = await connectHeartbeat({ port, hub, intervalMs: 100, reserved: 'ignore' });
    await answers(link, 3);
    expect(link.state).toBe('up');
  });

  test('the epoll echo returns what it gets, to a reader that pauses too', async () => {
    const { port } = await plain.listen('echo-epoll');
    const socket = connect(port, '127.0.0.1');
    const sent = Buffer.from(Array.from({ length: 2 ** 20 }, (_, index) => (index * 31) >> 3));
    socket.pause();
    for (let at = 0; at < 8; at++) socket.write(sent);
    await new Promise((resolve) => setTimeout(resolve, 50)); // both kernels' buffers are full by now
    const received: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of socket) {
      received.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes >= 8 * sent.length) break;
    }
    expect(Buffer.concat(received).equals(Buffer.concat(Array.from({ length: 8 }, () => sent)))).toBe(true);
  });
});

test.skipIf(!canSanitize)(
  `the C peers are clean under the address and undefined-behaviour sanitizers${sanitizers}`,
  async () => {
    expectVectorsHold(sanitized);
    expectStreamsHold(sanitized, 5);
    const frames = encodeAll(sampleFrames(1, 2_000));
    expect(sanitized.filter('codec', ['transcode'], frames).equals(frames)).toBe(true);
    await withEchoServer({}, async (port) => {
      expect(await runClient(sanitized, port, '--count', '50')).toMatchObject({ answered: 50, errors: 0 });
    });
    await expectSurvivesNoise(await sanitized.listen('responder'));
  },
);

/** Damage, cuts and noise at a responder: it may close, with a code; it must not fall. */
async function expectSurvivesNoise(responder: Awaited<ReturnType<CPrograms['listen']>>): Promise<void> {
  const random = seededRandom(7);
  for (let round = 0; round < 20; round++) {
    const bytes = encodeAll(sampleFrames(round, 200));
    for (let flips = round; flips > 0; flips--)
      bytes[random.u32() % bytes.length]! ^= 1 << (random.u32() & 7);
    const socket = connect(responder.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    for (let at = 0; at < bytes.length; ) {
      const step = 1 + (random.u32() % 100);
      socket.write(bytes.subarray(at, at + step));
      at += step;
    }
    socket.end();
    await once(socket, 'close');
  }
  expect(responder.process.exitCode).toBe(null);
  expect(responder.errors().match(/ERROR|runtime error/g)).toBe(null);
  const report = await runClient(plain, responder.port);
  expect(report.answered).toBe(5);
}

/** Until `count` more pings of this link were answered. */
async function answers(link: Link, count: number): Promise<void> {
  const wanted = link.stats().pongsMatched + count;
  await expect.poll(() => link.stats().pongsMatched, { timeout: 5_000 }).toBeGreaterThanOrEqual(wanted);
}
