/** Byte streams: heartbeats alone, heartbeats among host frames, damage, limits, and cuts worth trying. */
import {
  hostFrame,
  PARAM,
  TwinRandom,
  type TwinStreamOptions,
  toHex,
  twinFrame,
  twinStream,
  twinWord,
} from '../../test/support/spec-twin.ts';
import type { VectorFile } from './generate.ts';

const PING = twinFrame(1, 0xfffffffe, 0x12345678);
const BEAT = twinFrame(0, 0xffffffff, 0x12345a00);
const PONG = twinFrame(4, 8, 1000);
const TOO_FAST = twinFrame(PARAM | 0x20, 78, twinWord(7, 2 * 65536 + 300));
const ILLEGAL = twinFrame(5, 1, 2);
const VERSION_2 = twinFrame(1, 1, 2, { version: 2 });
const RESERVED = twinFrame(1, 1, 2, { reserved: 0x0100 });
const DAMAGED = PING.map((byte, index) => (index === 6 ? byte ^ 0x10 : byte));
const HELLO = hostFrame([...Buffer.from('hello', 'ascii')]);
const EMPTY = hostFrame([]);

/** An illegal frame whose timestamp begins a good ping; the last eight bytes, HIDDEN_TAIL, complete it. */
const HIDING = twinFrame(5, 1, 0x01014248);
const HIDDEN_TAIL = twinFrame(1, HIDING[12]! + HIDING[13]! * 256, 0x0a0b0c0d).slice(8);

const zeros = (count: number): number[] => new Array<number>(count).fill(0);
const repeat = (bytes: number[], count: number): number[] =>
  Array.from({ length: count }, () => bytes).flat();

type Spec = [name: string, bytes: number[], options?: Omit<TwinStreamOptions, 'mode'>];

function aloneStreams(): Spec[] {
  return [
    ['nothing', []],
    ['one ping', PING],
    ['three frames back to back', [...PING, ...BEAT, ...PONG]],
    ['a frame cut short', PING.slice(0, 15)],
    ['a lone first magic byte at the end', [...PING, 0x48]],
    ['F46: one stray byte between frames costs no frame', [...PING, 0x00, ...BEAT]],
    ['F46: three stray bytes between frames cost no frame', [...PING, 0x48, 0x42, 0x48, ...BEAT, ...PONG]],
    [
      'F46: three stray bytes inside a frame cost that frame alone',
      [...PING.slice(0, 9), 1, 2, 3, ...PING.slice(9), ...BEAT, ...PONG],
    ],
    ['F46: stray bytes that look like a beginning', [0x48, 0x42, 0x01, ...PING, ...BEAT]],
    ['stray first magic bytes in a row', [0x48, 0x48, 0x48, ...PING]],
    ['a lost byte costs that frame alone', [...PING.slice(0, 5), ...PING.slice(6), ...BEAT, ...PONG]],
    ['F44: a damaged frame is searched through, not believed', [...BEAT, ...DAMAGED, ...PONG]],
    ['a good frame hidden in a damaged one is found', [...PING.slice(0, 7), ...BEAT, ...PONG]],
    ['illegal flags: sixteen bytes consumed, one strike', [...ILLEGAL, ...PING]],
    [
      'a strike is not searched: the good frame crafted into it stays hidden',
      [...HIDING, ...HIDDEN_TAIL, ...PING],
    ],
    ['another version with a good checksum ends the stream', [...PING, ...VERSION_2, ...BEAT]],
    ['reserved bytes set end the stream', [...PING, ...RESERVED, ...BEAT]],
    ['reserved bytes set and ignored', [...PING, ...RESERVED, ...BEAT], { reserved: 'ignore' }],
    ['the default budget: 1024 stray bytes are borne', [...zeros(1024), ...PING]],
    ['the default budget: one more is not', [...zeros(1025), ...PING]],
    ['a budget of 20: used up exactly', [...zeros(20), ...PING], { resyncBudgetBytes: 20 }],
    ['a budget of 20: one byte more', [...zeros(21), ...PING], { resyncBudgetBytes: 20 }],
    [
      'a budget of 20: a good frame repays 16',
      [...zeros(20), ...PING, ...zeros(16), ...BEAT],
      { resyncBudgetBytes: 20 },
    ],
    [
      'a budget of 20: 16 repaid, 17 spent',
      [...zeros(20), ...PING, ...zeros(17), ...BEAT],
      { resyncBudgetBytes: 20 },
    ],
    [
      'a budget of 20: repayment never exceeds it',
      [...repeat(PING, 5), ...zeros(21), ...BEAT],
      { resyncBudgetBytes: 20 },
    ],
    [
      'a budget of 20: repayment of a small debt never exceeds it',
      [...zeros(5), ...PING, ...zeros(21), ...BEAT],
      { resyncBudgetBytes: 20 },
    ],
    ['a budget of 32: two strikes are borne', [...repeat(ILLEGAL, 2), ...PING], { resyncBudgetBytes: 32 }],
    ['a budget of 32: the third is not', [...repeat(ILLEGAL, 3), ...PING], { resyncBudgetBytes: 32 }],
    [
      'a budget of 20: a strike the budget does not cover',
      [...zeros(5), ...ILLEGAL, ...PING],
      { resyncBudgetBytes: 20 },
    ],
    ['a budget of 0: the first stray byte ends it', [...PING, 0xff, ...PING], { resyncBudgetBytes: 0 }],
  ];
}

function sharedStreams(): Spec[] {
  return [
    ['host frames alone', [...HELLO, ...EMPTY, ...HELLO]],
    ['heartbeats alone', [...PING, ...BEAT]],
    ['heartbeats between host frames', [...PING, ...HELLO, ...BEAT, ...EMPTY, ...PONG, ...TOO_FAST]],
    ["a heartbeat inside a host payload is the host's", [...hostFrame(PING), ...BEAT]],
    ['host payload full of magic bytes', [...hostFrame(repeat([0x48, 0x42], 40)), ...BEAT]],
    ['a host frame cut short is delivered as far as it came', [...BEAT, ...HELLO.slice(0, 7)]],
    ['a host header cut short is not delivered', [...BEAT, ...HELLO.slice(0, 3)]],
    ['a lone first magic byte waits', [...HELLO, 0x48]],
    ['the first magic byte and another: no host frame either', [...HELLO, 0x48, 0x43, 0, 0]],
    ['a damaged heartbeat closes: no search', [...HELLO, ...DAMAGED, ...PING]],
    ['illegal flags close', [...HELLO, ...ILLEGAL, ...PING]],
    ['another version closes with its own code', [...HELLO, ...VERSION_2, ...PING]],
    ['reserved bytes set close with their own code', [...HELLO, ...RESERVED, ...PING]],
    ['reserved bytes set and ignored', [...HELLO, ...RESERVED, ...PING], { reserved: 'ignore' }],
    ['a desynchronised host closes', [...PING, 0x01, 0x00, 0x00, 0x00, ...BEAT]],
    ['a stray byte where a header should begin closes', [...PING, 0xff, 0xff, 0xff, 0xff, ...BEAT]],
    ['a host frame at the limit', [...hostFrame(zeros(60)), ...PING], { maxHostFrameBytes: 64 }],
    ['a host frame one past the limit', [...hostFrame(zeros(61)), ...PING], { maxHostFrameBytes: 64 }],
    ['an undecided host header of 63 bytes waits', zeros(63), { host: 'undecided' }],
    ['an undecided host header of 64 bytes closes', zeros(64), { host: 'undecided' }],
  ];
}

/** Frames, host frames where the mode has them, and now and then damage. */
function randomStream(seed: number, shared: boolean): Spec {
  const random = new TwinRandom(seed);
  const bytes: number[] = [];
  for (let part = 0; part < 40; part++) {
    const kind = random.below(shared ? 8 : 12);
    if (shared && kind < 4)
      bytes.push(...hostFrame(Array.from({ length: random.below(40) }, () => random.below(256))));
    else if (!shared && kind === 0)
      bytes.push(...Array.from({ length: random.below(20) }, () => random.below(256)));
    else if (!shared && kind === 1) bytes.push(...DAMAGED.slice(random.below(16)));
    else bytes.push(...twinFrame([0, 1, 4, 0x10, 0x20, 0x11][random.below(6)]!, random.u32(), random.u32()));
  }
  return [`${shared ? 'mixed' : 'damaged'} stream ${seed}`, bytes];
}

/** Cuts worth trying by hand: each list holds the offsets at which a new chunk begins. */
function cutsFor(length: number): number[][] {
  const each = (step: number): number[] => {
    const offsets: number[] = [];
    for (let at = step; at < length; at += step) offsets.push(at);
    return offsets;
  };
  return [[1], [15], [16], [1, 2, 3], [length - 1], each(7), each(17)]
    .map((cuts) => cuts.filter((at) => at > 0 && at < length))
    .filter((cuts) => cuts.length > 0 && cuts.length <= 40);
}

export function streams(): VectorFile {
  const build = (mode: TwinStreamOptions['mode'], [name, bytes, options = {}]: Spec): unknown => ({
    name,
    mode,
    ...(mode === 'shared' ? { host: 'length32' } : {}),
    ...options,
    hex: toHex(bytes),
    cuts: cutsFor(bytes.length),
    events: twinStream(bytes, { mode, ...options }),
  });
  const alone = [...aloneStreams(), ...[11, 12, 13].map((seed) => randomStream(seed, false))];
  const shared = [...sharedStreams(), ...[21, 22, 23].map((seed) => randomStream(seed, true))];
  return {
    about: [
      'Byte streams and all the events a receiver draws from them, whatever the chunking.',
      'name; mode: heartbeat-only or shared; hex: the stream; cuts: lists of offsets where a new chunk begins.',
      'host, in shared mode: length32, the reference protocol (4 bytes big-endian payload length below 2^24,',
      'first byte always 0); or undecided, a framing function that asks for more for ever.',
      'reserved, resyncBudgetBytes, maxHostFrameBytes (header included): where not the default.',
      'events, in order: {frame: {flags, seq, timestamp}}; {host: hex}, neighbouring pieces joined, headers',
      'included; {error: code}, always last, nothing is delivered after it.',
    ],
    cases: [
      ...alone.map((spec) => build('heartbeat-only', spec)),
      ...shared.map((spec) => build('shared', spec)),
    ],
  };
}
