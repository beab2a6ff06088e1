/**
 * `encode` and `decode` as a user runs them: golden frames, reasons, exit codes, input in every form, and its limits.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INPUT_LIMIT_BYTES } from '../../src/cli/input.ts';
import { CommandUnderTest, objectsOf } from './command.ts';

const PING = '48420101feffffff78563412168a0000';
const BAD_CRC = '48420101010000000a00000000000000';

const command = new CommandUnderTest();
beforeAll(() => command.build());
afterAll(() => command.dispose());

describe.concurrent('encode', () => {
  test.each([
    [['--flags', 'ping', '--seq', '0xfffffffe', '--timestamp', '0x12345678'], PING],
    [
      ['--flags', 'pong', '--seq', '4294967294', '--timestamp', '305419896'],
      '48420104feffffff78563412dafd0000',
    ],
    [['--param', 'desired-min-tx=15s', '--seq', '1'], '4842014001000000983a000121800000'],
    [['--flags', 'param', '--seq', '3', '--timestamp', '0x03000003'], '48420140030000000300000321f50000'],
    [['--param', 'goaway-info=too-fast:30s', '--seq', '78'], '484201604e0000002c0102071f000000'],
  ])('%j', async (args, hex) => {
    expect(await command.run(['encode', ...args])).toMatchObject({ code: 0, stdout: `${hex}\n`, stderr: '' });
  });

  test('--raw writes sixteen bytes that decode --raw reads', async () => {
    const { code, stdout } = await command.shell(
      'wirebeat encode --flags ping,degraded --seq 7 --raw | wirebeat decode --raw',
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'byte 0: PING seq=7 timestamp=0 flags=ACK_REQUEST,DEGRADED\n',
    });
  });

  test('--json: the fields, then a summary', async () => {
    const objects = objectsOf((await command.run(['encode', '--flags', 'beat', '--json'])).stdout);
    expect(objects).toEqual([
      expect.objectContaining({
        type: 'frame',
        name: 'BEAT',
        seq: 0,
        timestamp: 0,
        hex: expect.stringMatching(/^484201/),
      }),
      { type: 'summary', frames: 1, bytes: 16 },
    ]);
  });
});

describe.concurrent('decode', () => {
  test('a good frame, exit 0', async () => {
    expect(await command.run(['decode', PING])).toEqual({
      code: 0,
      signal: null,
      stdout: 'byte 0: PING seq=4294967294 timestamp=305419896 flags=ACK_REQUEST\n',
      stderr: '',
    });
  });

  test('a bad frame: the code, the byte, expected and found, exit 1', async () => {
    const { code, stdout } = await command.run(['decode', BAD_CRC]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^byte 0: HB_ERR_CRC at byte 12: .* expected 0x[\da-f]{4}, found 0x0000\n$/);
  });

  test('several frames, each with its offset; one bad makes exit 1', async () => {
    const { code, stdout } = await command.run(['decode', PING, 'aabb', BAD_CRC, PING]);
    expect(code).toBe(1);
    const lines = stdout.split('\n');
    expect(lines[1]).toMatch(
      /^byte 16: HB_ERR_MAGIC at byte 16 \(0 of the frame\): .*, 2 bytes passed over$/,
    );
    expect(lines[2]).toMatch(/^byte 18: HB_ERR_CRC at byte 30 \(12 of the frame\)/);
    expect(lines.slice(3)).toEqual([expect.stringMatching(/^byte 34: PING/), '2 good, 2 bad', '']);
  });

  test('--reserved ignore takes what strict refuses', async () => {
    const used = `${PING.slice(0, 28)}0100`;
    expect((await command.run(['decode', used])).stdout).toContain('HB_ERR_RESERVED at byte 14');
    expect((await command.run(['decode', '--reserved', 'ignore', used])).code).toBe(0);
  });

  test('from stdin as text, from a file as text and raw', async () => {
    const text = join(command.folder, 'frames.txt');
    const raw = join(command.folder, 'frames.bin');
    writeFileSync(text, `${PING.replace(/../g, '$& ')}\n`);
    writeFileSync(raw, Buffer.from(PING, 'hex'));
    const runs = await Promise.all([
      command.run(['decode'], PING),
      command.run(['decode', '--file', text]),
      command.run(['decode', '--raw', '--file', raw]),
    ]);
    expect(runs.map(({ code, stdout }) => [code, stdout.slice(0, 12)])).toEqual(
      Array(3).fill([0, 'byte 0: PING']),
    );
  });

  test('--json: good and bad by type, then a summary', async () => {
    const objects = objectsOf((await command.run(['decode', '--json', PING, BAD_CRC])).stdout);
    expect(objects).toEqual([
      expect.objectContaining({ type: 'frame', offset: 0, name: 'PING', flagNames: ['ACK_REQUEST'] }),
      expect.objectContaining({ type: 'bad', offset: 16, code: 'HB_ERR_CRC', at: 12, found: '0x0000' }),
      { type: 'summary', bytes: 32, good: 1, bad: 1 },
    ]);
  });

  test('an input at the limit is decoded, one byte more is refused', async () => {
    const zeros = Buffer.alloc(INPUT_LIMIT_BYTES + 1);
    const [at, past] = await Promise.all([
      command.run(['decode', '--raw'], zeros.subarray(1)),
      command.run(['decode', '--raw'], zeros),
    ]);
    expect([at.code, past.code]).toEqual([1, 2]);
    expect(past.stderr).toBe(`wirebeat: standard input is larger than ${INPUT_LIMIT_BYTES} bytes\n`);
  });

  test('a reader that goes away ends it quietly, with the verdict so far', async () => {
    const many = join(command.folder, 'many.bin');
    writeFileSync(many, Buffer.from(PING.repeat(50_000), 'hex'));
    const line = `wirebeat decode --raw --file ${many} | head -1; echo "status \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await command.shell(line);
    expect(stdout).toMatch(/^byte 0: PING .*\nstatus 0\n$/);
    expect(stderr).toBe('');
  });
});
