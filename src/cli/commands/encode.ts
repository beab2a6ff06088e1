/** `wirebeat encode`: one frame from its fields, as hexadecimal text or as bytes. */
import { type Command, InvalidArgumentError } from 'commander';
import { FLAGS_MASK, Flag, Param } from '../../wire/constants.ts';
import { encodeFrame } from '../../wire/frame.ts';
import { paramId } from '../../wire/param.ts';
import { type ExitCode, GOOD, messageOf, UsageError } from '../errors.ts';
import { describeFrame } from '../frame-text.ts';
import { integerBetween, integerOf } from '../numbers.ts';
import { parseParameter } from '../parameters.ts';
import { runCommand, type Shell } from '../run.ts';
import { typedWords, valueOfWord } from '../words.ts';

interface EncodeFlags {
  flags?: number;
  seq: number;
  timestamp?: number;
  param?: number;
  raw?: boolean;
  json?: boolean;
}

/** Names of frames, beside those of flags. */
const FRAMES = { Beat: 0, Ping: Flag.AckRequest, Pong: Flag.Ack };
const U32_MAX = 0xffffffff;

const EXAMPLES = `
Flags: ${[...typedWords(FRAMES), ...typedWords(Flag)].join(', ')}, or a number;
several are joined by commas.

Examples:
  $ wirebeat encode --flags ping --seq 0xfffffffe --timestamp 0x12345678
  $ wirebeat encode --flags ping,degraded --seq 7
  $ wirebeat encode --param detect-mult=3 --seq 3
  $ wirebeat encode --param goaway-info=too-fast:30s --seq 78
  $ wirebeat encode --param poll=0x5a:0xb1c3 --seq 4
  $ wirebeat encode --flags beat --raw > beat.bin`;

export function addEncode(program: Command): void {
  program
    .command('encode')
    .summary('make a frame from its fields')
    .description('Make one frame from its fields.')
    .option('--flags <names>', 'the kind of frame and its flags', parseFlags)
    .option('--seq <number>', 'sequence number', integerBetween(0, U32_MAX), 0)
    .option('--timestamp <number>', 'timestamp, default 0', integerBetween(0, U32_MAX))
    .option('--param <name=value>', 'a parameter in place of the timestamp', parseParameter)
    .option('--raw', 'write the sixteen bytes instead of hexadecimal text')
    .option('--json', 'a JSON object with the fields and the hexadecimal text, then a summary')
    .addHelpText('after', EXAMPLES)
    .action((flags: EncodeFlags) =>
      runCommand(flags, (shell) => encode(shell, flags), { handlesSignals: false }),
    );
}

async function encode({ output }: Shell, given: EncodeFlags): Promise<ExitCode> {
  if (given.raw && given.json) throw new UsageError('--raw and --json exclude each other');
  const frame = frameOf(given);
  let bytes: Buffer;
  try {
    bytes = encodeFrame(frame);
  } catch (error) {
    throw new UsageError(`no such frame: ${messageOf(error)}`);
  }
  const hex = bytes.toString('hex');
  if (given.raw) output.raw(bytes);
  else output.report({ type: 'frame', ...describeFrame(frame).fields, hex }, hex);
  if (!given.raw) output.summary({ frames: 1, bytes: bytes.length });
  return GOOD;
}

function frameOf({ flags, seq, timestamp, param }: EncodeFlags) {
  if (param === undefined) {
    if (flags === undefined) throw new UsageError('say which frame: --flags ping, for example, or --param');
    return { flags, seq, timestamp: timestamp ?? 0 };
  }
  if (timestamp !== undefined) throw new UsageError('--param and --timestamp exclude each other');
  const goAway = paramId(param) === Param.GoAwayInfo ? Flag.GoAway : 0;
  return { flags: (flags ?? 0) | Flag.Param | goAway, seq, timestamp: param };
}

function parseFlags(text: string): number {
  let flags = 0;
  for (const word of text.split(',')) {
    const mask = valueOfWord(FRAMES, word) ?? valueOfWord(Flag, word) ?? integerOf(word);
    if (mask === undefined || mask > FLAGS_MASK) {
      const known = [...typedWords(FRAMES), ...typedWords(Flag)].join(', ');
      throw new InvalidArgumentError(`Expected ${known} or a number up to ${FLAGS_MASK}, joined by commas.`);
    }
    flags |= mask;
  }
  return flags;
}
