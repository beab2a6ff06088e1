/**
 * Writes the vector files of HB1 beside itself: `node --import tsx spec/vectors/generate.ts`.
 *
 * Deterministic: the same files on every machine, and a test compares them with what is checked in. All
 * expectations come from test/support/spec-twin.ts, which was written from the specification alone and shares
 * no code with src. SHA256SUMS is in the format of `sha256sum -c`.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { framesBad, framesGood } from './generate-frames.ts';
import { crcs, params, windows } from './generate-numbers.ts';
import { streams } from './generate-streams.ts';

/** One vector file: what its shape is, then named lists of cases. */
export interface VectorFile {
  about: readonly string[];
  [section: string]: readonly unknown[];
}

/** One case per line, so that a change of one case is a change of one line. */
function render(file: VectorFile): string {
  const sections = Object.entries(file).map(([name, items]) => {
    const lines = items.map((item) => `    ${JSON.stringify(item)}`);
    return `  ${JSON.stringify(name)}: [\n${lines.join(',\n')}\n  ]`;
  });
  return `{\n${sections.join(',\n')}\n}\n`;
}

/** File name to content, the checksum list last. */
export function buildVectors(): Map<string, string> {
  const files = new Map([
    ['crc.json', render(crcs())],
    ['frames-bad.json', render(framesBad())],
    ['frames-good.json', render(framesGood())],
    ['params.json', render(params())],
    ['streams.json', render(streams())],
    ['window.json', render(windows())],
  ]);
  const sums = [...files].map(
    ([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`,
  );
  return files.set('SHA256SUMS', sums.join(''));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  for (const [name, text] of buildVectors()) writeFileSync(`${folder}${name}`, text);
}
