/**
 * The fuzzer is run: every target over its whole corpus and a bounded, seeded number of inputs. And it is watched: the
 * canary, a planted hang and a planted bug must be found, minimised, written and replayed; the same seed must give the
 * same inputs. Nothing here depends on time but the hang.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { fuzzCommand } from '../../fuzz/command.ts';
import { batches, type Campaign, MODES, runCampaign } from '../../fuzz/engine.ts';
import { readCorpus } from '../../fuzz/files.ts';
import { buildSeeds } from '../../fuzz/generate-corpus.ts';
import { mend } from '../../fuzz/mend.ts';
import { minimise } from '../../fuzz/minimise.ts';
import { rawInputs } from '../../fuzz/mutate.ts';
import { parseOptions, UsageError } from '../../fuzz/options.ts';
import { TARGETS, type Target } from '../../fuzz/registry.ts';
import { seededRandom } from '../../src/base/random.ts';
import { decodeFrame, encodeFrame } from '../../src/wire/frame.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SMOKE_INPUTS = 128;
const SEED = 20_240;

const folder = mkdtempSync(join(tmpdir(), 'wirebeat-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const targetNamed = (name: string): Target => TARGETS.find((target) => target.name === name)!;
const corpusOf = (name: string): Buffer[] => [...readCorpus(name).values()];
const honest = TARGETS.map(({ name }) => name).filter((name) => name !== 'canary');

/** A campaign of a few batches; `target` may be one made for the occasion. */
function campaign(changes: Partial<Campaign>): Campaign {
  const target = { fuzz: () => {}, built: fc.uint8Array() };
  const isOver = (executions: number): boolean => executions >= SMOKE_INPUTS;
  return { target, corpus: [], mode: 'both', seed: SEED, isOver, ...changes };
}

interface Ended {
  status: number;
  stdout: string;
  stderr: string;
}

/** The command with these arguments, in this process. */
function command(...args: string[]): Ended {
  const ended = { status: 0, stdout: '', stderr: '' };
  ended.status = fuzzCommand(args, {
    out: (text) => void (ended.stdout += text),
    err: (text) => void (ended.stderr += text),
  });
  return ended;
}

describe('the corpus', () => {
  test('has seeds for every target, exactly those its generator makes from the vectors', () => {
    const seeds = buildSeeds();
    const checkedIn = TARGETS.flatMap(({ name }) =>
      [...readCorpus(name)]
        .filter(([file]) => file.startsWith('vector-'))
        .map(([file, content]) => [`${name}/${file}`, content.toString('hex')]),
    );
    const made = [...seeds].map(([path, content]) => [path, content.toString('hex')]);
    expect(checkedIn.sort()).toEqual(made.sort());
    for (const { name } of TARGETS) expect(corpusOf(name).length, name).toBeGreaterThan(0);
  });

  test.each(TARGETS.map(({ name }) => name))('%s: every input of the corpus replays', (name) => {
    const { fuzz } = targetNamed(name);
    for (const [file, input] of readCorpus(name)) expect(() => fuzz(input), file).not.toThrow();
  });
});

describe('smoke', () => {
  test.each(honest)('%s: its invariant holds for a hundred inputs of each mode', (name) => {
    for (const mode of ['raw', 'damage'] as const) {
      const { executions, crash } = runCampaign(campaign({ target: targetNamed(name), mode }));
      expect(crash, `${mode} ${crash?.input.toString('hex')} ${crash?.error.stack}`).toBeUndefined();
      expect(executions).toBe(SMOKE_INPUTS);
    }
  });

  test.each(honest)('%s: nothing, one byte and one frame too many are inputs like others', (name) => {
    const ping = encodeFrame({ flags: 1, seq: 2, timestamp: 3 });
    const inputs = [Buffer.alloc(0), Buffer.of(0x48), Buffer.concat([ping, ping, ping.subarray(0, 15)])];
    for (const input of inputs) {
      const before = input.toString('hex');
      expect(() => targetNamed(name).fuzz(input)).not.toThrow();
      expect(input.toString('hex'), 'the input was written to').toBe(before);
    }
  });
});

describe('the engine', () => {
  const take = (changes: Partial<Campaign>): string[] => {
    const taken: string[] = [];
    for (const { source, inputs } of batches(campaign({ target: targetNamed('splitter'), ...changes }))) {
      taken.push(...inputs.map((input) => `${source} ${input.toString('hex')}`));
      if (taken.length > 300) return taken;
    }
    return taken;
  };

  test.each(MODES)('mode %s: a seed gives the same inputs, another seed others', (mode) => {
    const corpus = corpusOf('splitter');
    expect(take({ mode, corpus })).toEqual(take({ mode, corpus }));
    expect(take({ mode })).not.toEqual(take({ mode, seed: SEED + 1 }));
    const sources = mode === 'both' ? ['damage', 'raw'] : [mode];
    expect([...new Set(take({ mode }).map((line) => line.split(' ')[0]))].sort()).toEqual(sources);
  });

  test('the corpus comes first, and neither mode writes to it', () => {
    const corpus = corpusOf('splitter');
    const before = corpus.map((input) => `corpus ${input.toString('hex')}`);
    expect(take({ corpus }).slice(0, corpus.length)).toEqual(before);
    expect(corpus.map((input) => `corpus ${input.toString('hex')}`)).toEqual(before);
  });

  test.each(['raw', 'damage'] as const)('mode %s finds the canary, which no seed does', (mode) => {
    const { crash } = runCampaign(
      campaign({ target: targetNamed('canary'), corpus: corpusOf('canary'), mode }),
    );
    expect(crash).toMatchObject({ source: mode, error: { message: expect.stringContaining('canary') } });
    expect(crash!.minimised).toHaveLength(17);
  });

  test.each(['raw', 'damage'] as const)(
    'mode %s gets behind the checksum: bad frames whose CRC holds',
    (mode) => {
      const seen = new Set<string>();
      const fuzz = (data: Buffer): void => {
        const result = decodeFrame(data);
        seen.add(result.ok ? 'good' : result.code);
      };
      const isOver = (executions: number): boolean => executions >= 2048;
      const target = { ...targetNamed('frame'), fuzz };
      runCampaign(campaign({ target, corpus: corpusOf('canary'), mode, isOver }));
      expect([...seen]).toEqual(
        expect.arrayContaining(['good', 'HB_ERR_CRC', 'HB_ERR_VERSION', 'HB_ERR_RESERVED', 'HB_ERR_FLAGS']),
      );
    },
  );

  test('an input on which the target never returns is found, as it is', () => {
    const fuzz = (data: Buffer): void => {
      while (data[0] === 0x48);
    };
    const corpus = [Buffer.of(1), Buffer.of(0x48, 0x42)];
    const outcome = runCampaign(campaign({ target: { fuzz, built: fc.uint8Array() }, corpus, hangMs: 100 }));
    expect(outcome).toMatchObject({ executions: 2, crash: { error: { message: 'no end within 100 ms' } } });
    expect(outcome.crash!.minimised).toEqual(corpus[1]);
  });

  test('a target may throw anything', () => {
    const fuzz = (): void => {
      throw 'a string';
    };
    const { crash } = runCampaign(campaign({ target: { fuzz, built: fc.uint8Array() } }));
    expect(crash!.error.message).toBe('a string');
  });

  test('minimising leaves out what does not matter and keeps the order of the rest', () => {
    const noise = [...rawInputs([], seededRandom(SEED)).next().value].filter((byte) => byte > 2);
    const input = Buffer.from([...noise, 1, ...noise, 2, ...noise]);
    const fails = (bytes: Buffer): boolean => bytes.includes(1) && bytes.indexOf(2) > bytes.indexOf(1);
    expect([...minimise(input, fails)]).toEqual([1, 2]);
  });

  test('mending makes the checksum of every frame hold, and touches nothing else', () => {
    const ping = encodeFrame({ flags: 1, seq: 2, timestamp: 3 });
    const stream = Buffer.concat([Buffer.of(9), ping, Buffer.of(9, 9), ping, ping.subarray(0, 15)]);
    const damaged = Buffer.from(stream);
    for (const at of [13, 14, 31, 32]) damaged[at]! ^= 0xff;
    expect(mend(damaged)).toEqual(stream);
  });
});

describe('the command', () => {
  test('the canary is written to a file that reproduces, and exits with 1 both times', () => {
    const found = command('canary', '--seconds', '20', '--seed', '1', '--crashes', folder, '--json');
    expect(found.stderr).toBe('');
    const { crash, ...facts } = JSON.parse(found.stdout);
    expect({ status: found.status, ...facts }).toMatchObject({ status: 1, target: 'canary', seed: 1 });
    expect(crash.replay).toBe(`npm run fuzz -- canary --replay ${crash.file}`);
    expect(readFileSync(crash.file)).toHaveLength(crash.bytes);
    const again = command(...crash.replay.split(' ').slice(4));
    expect(again.status).toBe(1);
    expect(again.stdout).toContain('the invariant is broken\nError: the canary is dead');
  });

  test('a clean campaign and a clean replay exit with 0', () => {
    const clean = command('frame', '--seconds', '0.2', '--seed', '1', '--crashes', join(folder, 'none'));
    const replayed = command('frame', '--json', '--replay', '48420101feffffff78563412168a0000');
    expect(clean.stdout).toMatch(
      /^frame: seed 1, mode both.*\nframe: \d+ inputs in .*, the invariant held\n$/,
    );
    expect(JSON.parse(replayed.stdout)).toEqual({ target: 'frame', bytes: 16, error: null });
    expect([clean.status, replayed.status, existsSync(join(folder, 'none'))]).toEqual([0, 0, false]);
  });

  test('--list names every target, --help tells the options', () => {
    expect(command('--list').stdout.match(/^\S+/gm)).toEqual(TARGETS.map(({ name }) => name));
    expect(command('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--seconds N') });
  });

  test('a process of its own: what makes no sense is one line and exit code 2', { timeout: 60_000 }, () => {
    const args = ['--import', 'tsx', 'fuzz/main.ts', 'nothing'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^fuzz: no target named "nothing"; there are frame, .*canary\n$/),
    });
  });

  test.each([
    ['', /^name one target, got 0; there are frame, /],
    ['frame window', /^name one target, got 2/],
    ['frame --seconds soon', /^--seconds must be a number, got "soon"$/],
    ['frame --seconds -1', /--seconds/],
    ['frame --seconds 0', /^--seconds must be more than 0 and at most 604800, got 0$/],
    ['frame --seconds 604801', /at most 604800, got 604801$/],
    ['frame --seed 1.5', /^--seed must be a whole number in 0..4294967295, got 1.5$/],
    ['frame --seed 4294967296', /got 4294967296$/],
    ['frame --mode fast', /^--mode must be one of both, raw, damage, got "fast"$/],
    ['frame --replay 484', /^--replay: "484" is neither a file nor hexadecimal$/],
    ['frame --replay fuzz', /^--replay: fuzz is not a file$/],
    ['frame --replay 48 --seed 1', /^--replay and --seed exclude each other$/],
    ['frame --speed 3', /--speed/],
    ['--list frame', /^--list stands alone, got frame as well$/],
    ['--list --seed 1', /^--list stands alone, got seed as well$/],
  ])('refuses: %s', (line, message) => {
    const parse = () => parseOptions(line.split(' ').filter((word) => word !== ''));
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  test('takes what is at the limits, a file before digits, and has defaults', () => {
    expect(parseOptions(['frame'])).toMatchObject({
      seconds: 10,
      mode: 'both',
      crashes: 'fuzz/crashes',
      json: false,
    });
    expect(parseOptions(['frame', '--seconds', '604800', '--seed', '4294967295'])).toMatchObject({
      seconds: 604_800,
      seed: 0xffffffff,
    });
    const file = join(folder, 'input');
    writeFileSync(file, 'ab');
    expect(parseOptions(['frame', '--replay', file])).toMatchObject({ input: Buffer.from('ab') });
    expect(parseOptions(['frame', '--replay', 'AB'])).toMatchObject({ input: Buffer.of(0xab) });
  });
});
