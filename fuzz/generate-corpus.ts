/**
 * Writes the seeds of the corpus, made from the specification's vectors: `node --import tsx fuzz/generate-corpus.ts`.
 * Their names begin with `vector-`; other files of the corpus are finds worth keeping, and are left alone.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CORPUS_FOLDER } from './files.ts';
import { RAW } from './targets/decode-input.ts';
import { RESYNC_BUDGETS } from './targets/splitter.ts';
import { LINE_PROTOCOL, MAX_HOST_FRAMES } from './targets/splitter-shared.ts';
import { ABSOLUTE } from './targets/window.ts';

interface Frame {
  name: string;
  hex: string;
}
interface Stream extends Frame {
  mode: string;
  host?: string;
  reserved?: string;
  resyncBudgetBytes?: number;
  maxHostFrameBytes?: number;
}
interface Sequence {
  name: string;
  sequences: number[];
}

/** Jumps that matter to the window; the vectors have more, which would only make the corpus longer. */
const WINDOW_JUMPS = /jump of (31|32|33|63|64|65) /;
const PREFIX = 'vector-';

function vectors<T>(file: string, section: string): T[] {
  const path = join(import.meta.dirname, '..', 'spec', 'vectors', file);
  return (JSON.parse(readFileSync(path, 'utf8')) as Record<string, T[]>)[section]!;
}

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex');
const withOptions = (options: number[], rest: Buffer): Buffer => Buffer.concat([Buffer.from(options), rest]);

/** Byte that decides the cuts of the stream seeds; any would do, mutation changes it. */
const CUT_BYTE = 1;

function aloneOptions({ reserved, resyncBudgetBytes = 1024 }: Stream): number {
  return (reserved === 'ignore' ? 1 : 0) | (RESYNC_BUDGETS.indexOf(resyncBudgetBytes) << 1);
}

function sharedOptions({ reserved, host, maxHostFrameBytes = 2 ** 24 }: Stream): number {
  const lines = host === 'undecided' ? LINE_PROTOCOL : 0;
  return (reserved === 'ignore' ? 1 : 0) | (MAX_HOST_FRAMES.indexOf(maxHostFrameBytes) << 1) | lines;
}

/** The numbers of a window case as steps of the target. */
function steps({ sequences }: Sequence): Buffer {
  const bytes = Buffer.alloc(sequences.length * 5);
  sequences.forEach((seq, index) => {
    bytes[index * 5] = ABSOLUTE;
    bytes.writeUInt32LE(seq, index * 5 + 1);
  });
  return bytes;
}

/** Seeds of all targets: `target/file` to content. */
export function buildSeeds(): Map<string, Buffer> {
  const seeds = new Map<string, Buffer>();
  const add = (target: string, name: string, content: Buffer): void => {
    const slug = name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/-$/, '');
    const path = `${target}/${PREFIX}${slug}.bin`;
    if (seeds.has(path)) throw new Error(`two seeds are called ${path}`);
    seeds.set(path, content);
  };
  const good = vectors<Frame>('frames-good.json', 'cases').filter(
    ({ name }) => !/^flags (0[^014]|[1-7][^0])/.test(name),
  );
  const bad = [
    ...vectors<Frame>('frames-bad.json', 'singly'),
    ...vectors<Frame>('frames-bad.json', 'doubly'),
    ...vectors<Frame>('frames-bad.json', 'flags').filter(({ name }) => !name.startsWith('flags ')),
  ];
  for (const { name, hex } of good) add('frame', `good ${name}`, bytesOf(hex));
  for (const { name, hex } of bad) add('frame', `bad ${name}`, bytesOf(hex));
  for (const stream of vectors<Stream>('streams.json', 'cases')) {
    const shared = stream.mode === 'shared';
    const options = shared ? sharedOptions(stream) : aloneOptions(stream);
    const target = shared ? 'splitter-shared' : 'splitter';
    add(target, stream.name, withOptions([options, CUT_BYTE], bytesOf(stream.hex)));
    if (shared && stream.hex.length < 400) {
      add('decode-input', `bytes ${stream.name}`, withOptions([RAW], bytesOf(stream.hex)));
    }
  }
  for (const sequence of vectors<Sequence>('window.json', 'cases')) {
    const isWanted = !sequence.name.includes('jump of') || WINDOW_JUMPS.test(sequence.name);
    if (isWanted) add('window', sequence.name, steps(sequence));
  }
  for (const { name, hex } of vectors<Frame>('params.json', 'golden')) {
    add('decode-input', `text ${name}`, withOptions([0], Buffer.from(hex.replace(/../g, '$& '))));
    add('canary', name, bytesOf(hex));
  }
  return seeds;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const seeds = buildSeeds();
  for (const target of new Set([...seeds.keys()].map((path) => path.split('/')[0]!))) {
    const folder = join(CORPUS_FOLDER, target);
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) if (name.startsWith(PREFIX)) rmSync(join(folder, name));
  }
  for (const [path, content] of seeds) writeFileSync(join(CORPUS_FOLDER, path), content);
}
