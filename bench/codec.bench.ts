/**
 * Rows of the wire floor, each beside the idiomatic Node way (idiom.ts) and the same work in C (c/codec.c).
 * Inputs change from operation to operation and every result reaches `sink`, so that no work can be dropped;
 * each run ends by checking that the work was done rightly.
 */
import {
  checkFrame,
  crc16,
  DedupWindow,
  decodeFrame,
  encodeFrameInto,
  FRAME_BYTES,
  FrameSplitter,
  readFlags,
  readSeq,
  readTimestamp,
} from '../src/wire/index.ts';
import { cLimits } from './c-limit.ts';
import type { BenchContext, Row } from './harness.ts';
import { PlainSplitter, PlainWindow, plainCrc, plainDecode, plainEncode } from './idiom.ts';

const FRAMES = 1024;
/** Frames that start at odd offsets only: 5, 39, 73 and so on. */
const ODD_START = 5;
const ODD_STRIDE = 34;
const HOST_PAYLOAD_BYTES = 60;
const PAIR_BYTES = FRAME_BYTES + 4 + HOST_PAYLOAD_BYTES;
/** Pairs of a heartbeat and a host frame that fit a 64 KB chunk. */
const PAIRS = Math.floor(65_536 / PAIR_BYTES);
const PING = 0x01;
/** JavaScript's own price for objects and views; C has no counterpart. */
const WITHOUT_LIMIT = new Set(['decodeFrame (an object)', 'the same, host bytes delivered']);

let sink = 0;

function expectSame(what: string, found: number, wanted: number): void {
  if (found !== wanted) throw new Error(`${what}: ${found} instead of ${wanted}`);
}

/** `FRAMES` good frames back to back. */
function goodFrames(): Buffer {
  const bytes = Buffer.alloc(FRAMES * FRAME_BYTES);
  for (let index = 0; index < FRAMES; index++) {
    encodeFrameInto(bytes, index * FRAME_BYTES, PING, (index * 0x9e3779b1) >>> 0, (index * 977) >>> 0);
  }
  return bytes;
}

/** In order, but every 16th swapped with its successor and every 64th repeated. */
function arrivals(): Uint32Array {
  return Uint32Array.from({ length: FRAMES }, (_, at) => {
    if (at % 64 === 63) return at - 1;
    if (at % 16 === 4) return at + 1;
    return at % 16 === 5 ? at - 1 : at;
  });
}

function encodeRow({ measure, allocated }: BenchContext): Row {
  const bytes = Buffer.alloc(FRAMES * FRAME_BYTES);
  let first = 0;
  const ours = (): void => {
    let seq = first;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      encodeFrameInto(bytes, at, PING, seq, Math.imul(seq, 7) >>> 0);
      seq = (seq + 1) >>> 0;
    }
    first = seq;
  };
  const plain = (): void => {
    let seq = first;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      plainEncode(bytes, at, PING, seq, Math.imul(seq, 7) >>> 0);
      seq = (seq + 1) >>> 0;
    }
    first = seq;
  };
  const timing = measure('encode', FRAMES, ours);
  expectSame('encode', checkFrame(bytes, bytes.length - FRAME_BYTES), 0);
  bytes.fill(0);
  const peer = measure('encode, Buffer.write*', FRAMES, plain);
  expectSame('plain encode', checkFrame(bytes, bytes.length - FRAME_BYTES), 0);
  return {
    name: 'encode',
    nsPerOp: timing.nsPerOp,
    peers: [{ name: 'Buffer.write* + table CRC', nsPerOp: peer.nsPerOp }],
    bytesPerOp: allocated(FRAMES, ours),
  };
}

function decodeRows({ measure, allocated }: BenchContext): Row[] {
  const bytes = goodFrames();
  const batch = (): void => {
    let sum = 0;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      if (checkFrame(bytes, at) !== 0) throw new Error('a good frame was refused');
      sum ^= readSeq(bytes, at) ^ readTimestamp(bytes, at) ^ readFlags(bytes, at);
    }
    sink = sum;
  };
  const timing = measure('decode', FRAMES, batch);
  const sum = sink;
  const plain = measure('decode, Buffer.read*', FRAMES, () => {
    let total = 0;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      const frame = plainDecode(bytes, at);
      if (frame !== null) total ^= frame.seq ^ frame.timestamp ^ frame.flags;
    }
    sink = total;
  });
  expectSame('plain decode', sink, sum);
  const object = measure('decodeFrame', FRAMES, () => {
    let total = 0;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      const frame = decodeFrame(bytes, at);
      if (frame.ok) total ^= frame.seq ^ frame.timestamp ^ frame.flags;
    }
    sink = total;
  });
  expectSame('decodeFrame', sink, sum);
  const peers = [{ name: 'Buffer.read* + table CRC + object', nsPerOp: plain.nsPerOp }];
  return [
    { name: 'decode + verify, batch', nsPerOp: timing.nsPerOp, peers, bytesPerOp: allocated(FRAMES, batch) },
    { name: 'decodeFrame (an object)', nsPerOp: object.nsPerOp, peers },
  ];
}

function loneRow({ measure, allocated }: BenchContext): Row {
  const frames = goodFrames();
  const bytes = Buffer.alloc(ODD_START + FRAMES * ODD_STRIDE);
  for (let index = 0; index < FRAMES; index++) {
    frames.copy(bytes, ODD_START + index * ODD_STRIDE, index * FRAME_BYTES, (index + 1) * FRAME_BYTES);
  }
  const ours = (): void => {
    let failures = 0;
    for (let at = ODD_START; at < bytes.length; at += ODD_STRIDE) failures += checkFrame(bytes, at);
    sink = failures;
  };
  const timing = measure('lone', FRAMES, ours);
  expectSame('lone frames', sink, 0);
  const peer = measure('lone, Buffer.read*', FRAMES, () => {
    let good = 0;
    for (let at = ODD_START; at < bytes.length; at += ODD_STRIDE)
      good += plainDecode(bytes, at) === null ? 0 : 1;
    sink = good;
  });
  expectSame('plain lone frames', sink, FRAMES);
  return {
    name: 'check a lone frame, odd offset',
    nsPerOp: timing.nsPerOp,
    peers: [{ name: 'Buffer.read* + table CRC + object', nsPerOp: peer.nsPerOp }],
    bytesPerOp: allocated(FRAMES, ours),
  };
}

function crcRow({ measure }: BenchContext): Row {
  const bytes = goodFrames();
  const timing = measure('crc16', FRAMES, () => {
    let sum = 0;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) sum += crc16(bytes, at, at + 12);
    sink = sum;
  });
  const sum = sink;
  const peer = measure('crc16, one table', FRAMES, () => {
    let total = 0;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) total += plainCrc(bytes, at, at + 12);
    sink = total;
  });
  expectSame('plain crc', sink, sum);
  return {
    name: 'crc16 of 12 bytes',
    nsPerOp: timing.nsPerOp,
    peers: [{ name: 'one table, byte by byte', nsPerOp: peer.nsPerOp }],
  };
}

function acceptRow({ measure, allocated }: BenchContext): Row {
  const order = arrivals();
  let base = 0;
  const window = new DedupWindow();
  const ours = (): void => {
    let fresh = 0;
    for (let at = 0; at < FRAMES; at++) if (window.accept((base + order[at]!) >>> 0) === 'new') fresh++;
    base = (base + FRAMES) >>> 0;
    sink = fresh;
  };
  const timing = measure('accept', FRAMES, ours);
  const fresh = sink;
  const plain = new PlainWindow();
  const peer = measure('accept, Set of 64', FRAMES, () => {
    let news = 0;
    for (let at = 0; at < FRAMES; at++) if (plain.accept((base + order[at]!) >>> 0) === 'new') news++;
    base = (base + FRAMES) >>> 0;
    sink = news;
  });
  expectSame('plain window', sink, fresh);
  return {
    name: 'dedup accept',
    nsPerOp: timing.nsPerOp,
    peers: [{ name: 'Set of 64', nsPerOp: peer.nsPerOp }],
    bytesPerOp: allocated(FRAMES, ours),
  };
}

/** Splitters that add up what they deliver: ours, ours without a taker for host bytes, and the rival. */
function splitters() {
  const total = { frames: 0, host: 0 };
  const handler = {
    onFrame(_flags: number, seq: number): void {
      total.frames++;
      sink = seq;
    },
    hostFrameLength: (bytes: Uint8Array, start: number, end: number): number =>
      end - start < 4
        ? 0
        : 4 +
          ((bytes[start]! << 24) | (bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!),
    onError(code: string): void {
      throw new Error(`the splitter refused a good stream: ${code}`);
    },
  };
  const onHost = (bytes: Uint8Array): void => {
    total.host += bytes.length;
  };
  return {
    total,
    ours: new FrameSplitter({ ...handler, onHost }),
    framesOnly: new FrameSplitter({ ...handler, onHost: undefined }),
    plain: new PlainSplitter(({ flags, seq }) => handler.onFrame(flags, seq), onHost),
  };
}

function largeChunksRows({ measure }: BenchContext): Row[] {
  const frames = goodFrames();
  const chunk = Buffer.alloc(PAIRS * PAIR_BYTES);
  for (let pair = 0; pair < PAIRS; pair++) {
    frames.copy(chunk, pair * PAIR_BYTES, pair * FRAME_BYTES, (pair + 1) * FRAME_BYTES);
    chunk.writeUInt32BE(HOST_PAYLOAD_BYTES, pair * PAIR_BYTES + FRAME_BYTES);
  }
  const { total, ours, framesOnly, plain } = splitters();
  const alone = measure('splitter, host bytes not taken', PAIRS, () => framesOnly.push(chunk));
  expectSame('frames', total.frames % PAIRS, 0);
  total.frames = 0;
  const delivering = measure('splitter', PAIRS, () => ours.push(chunk));
  const peer = measure('splitter, Buffer.concat', PAIRS, () => plain.push(chunk));
  expectSame('host bytes', total.host, total.frames * (4 + HOST_PAYLOAD_BYTES));
  const peers = [{ name: 'Buffer.concat + subarray', nsPerOp: peer.nsPerOp }];
  return [
    { name: 'splitter, 64 KB mixed chunks', nsPerOp: alone.nsPerOp, peers },
    // What it adds is a view per host frame: the price of `subarray`, not of splitting.
    { name: 'the same, host bytes delivered', nsPerOp: delivering.nsPerOp, peers },
  ];
}

function smallChunksRow({ measure, allocated }: BenchContext): Row {
  const frames = goodFrames();
  const chunks = Array.from({ length: FRAMES }, (_, index) =>
    Buffer.from(frames.subarray(index * FRAME_BYTES, (index + 1) * FRAME_BYTES)),
  );
  const { total, ours, plain } = splitters();
  const run = (): void => {
    for (let index = 0; index < FRAMES; index++) ours.push(chunks[index]!);
  };
  const timing = measure('one-frame chunks', FRAMES, run);
  expectSame('frames left over', total.frames % FRAMES, 0);
  const peer = measure('one-frame chunks, Buffer.concat', FRAMES, () => {
    for (let index = 0; index < FRAMES; index++) plain.push(chunks[index]!);
  });
  return {
    name: 'splitter, one-frame chunks',
    nsPerOp: timing.nsPerOp,
    peers: [{ name: 'Buffer.concat + subarray', nsPerOp: peer.nsPerOp }],
    bytesPerOp: allocated(FRAMES, run),
  };
}

export default async function codecBench(context: BenchContext): Promise<Row[]> {
  const limits = cLimits('codec', context.quick);
  const rows = [
    encodeRow(context),
    ...decodeRows(context),
    loneRow(context),
    crcRow(context),
    acceptRow(context),
    ...largeChunksRows(context),
    smallChunksRow(context),
  ];
  return rows.map((row) => (WITHOUT_LIMIT.has(row.name) ? row : { ...row, limit: limits.of(row.name) }));
}
