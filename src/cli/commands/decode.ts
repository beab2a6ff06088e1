/** `wirebeat decode`: what the frames in some bytes say, or why they are bad and at which byte. */
import { type Command, Option } from 'commander';
import { BAD, type ExitCode, GOOD, UsageError } from '../errors.ts';
import { describeFrame } from '../frame-text.ts';
import { parseHex } from '../hex.ts';
import { readInput } from '../input.ts';
import { runCommand, type Shell } from '../run.ts';
import { type Finding, scanFrames } from '../scan.ts';

interface DecodeFlags {
  file?: string;
  raw?: boolean;
  reserved: 'strict' | 'ignore';
  json?: boolean;
}

/** Findings between two looks at whether anybody still reads. */
const BATCH = 256;

const EXAMPLES = `
Examples:
  $ wirebeat decode 48420101feffffff78563412168a0000
  $ wirebeat decode 48 42 01 01 10 00 00 00 0a 00 00 00 0e 77 00 00
  $ wirebeat decode --file capture.bin --raw --json
  $ wirebeat encode --flags ping --seq 7 | wirebeat decode

Exit codes: 0 every frame is good, 1 some are bad, 2 the input cannot be used.`;

export function addDecode(program: Command): void {
  program
    .command('decode')
    .summary('say what frames mean, or why they are bad')
    .description(
      'Say what each frame means, or why it is bad and at which byte. Reads stdin without arguments.',
    )
    .argument('[hex...]', 'hexadecimal bytes; spaces, colons, commas and 0x are fine')
    .option('-f, --file <path>', 'read this file instead')
    .option('--raw', 'the file or stdin holds the bytes themselves, not hexadecimal text')
    .addOption(
      new Option('--reserved <rule>', 'what to do about bytes 14-15 in use')
        .choices(['strict', 'ignore'])
        .default('strict'),
    )
    .option('--json', 'one JSON object per frame, then a summary')
    .addHelpText('after', EXAMPLES)
    .action((hex: string[], flags: DecodeFlags) =>
      runCommand(flags, (shell) => decode(shell, hex, flags), { handlesSignals: false }),
    );
}

async function decode({ output }: Shell, hex: readonly string[], flags: DecodeFlags): Promise<ExitCode> {
  const bytes = await bytesOf(hex, flags);
  if (bytes.length === 0) throw new UsageError('nothing to decode: the input is empty');
  let good = 0;
  let bad = 0;
  for (const finding of scanFrames(bytes, flags.reserved)) {
    if (finding.diagnosis.ok) good++;
    else bad++;
    output.report(...lineOf(finding));
    if ((good + bad) % BATCH === 0) await output.flushed();
    if (output.isClosed) break;
  }
  output.summary({ bytes: bytes.length, good, bad }, good + bad > 1 ? `${good} good, ${bad} bad` : undefined);
  return bad === 0 ? GOOD : BAD;
}

async function bytesOf(hex: readonly string[], { file, raw }: DecodeFlags): Promise<Buffer> {
  if (hex.length > 0) {
    if (file !== undefined) throw new UsageError('hexadecimal arguments and --file exclude each other');
    if (raw) throw new UsageError('--raw is for --file and stdin; arguments are hexadecimal');
    return parseHex(hex.join(' '));
  }
  const input = await readInput(file);
  if (raw) return input;
  try {
    return parseHex(input.toString('latin1'));
  } catch (error) {
    throw new UsageError(`${(error as Error).message} (bytes instead of text? say --raw)`);
  }
}

function lineOf({ offset, bytes, diagnosis }: Finding): [{ type: string } & Record<string, unknown>, string] {
  if (diagnosis.ok) {
    const { fields, text } = describeFrame(diagnosis);
    return [{ type: 'frame', offset, ...fields }, `byte ${offset}: ${text}`];
  }
  const { code, at, expected, found, text } = diagnosis;
  const place = `byte ${offset + at}${offset === 0 ? '' : ` (${at} of the frame)`}`;
  const length = code === 'HB_ERR_MAGIC' && bytes > 1 ? `, ${bytes} bytes passed over` : '';
  return [
    { type: 'bad', offset, bytes, code, at, expected, found, reason: text },
    `byte ${offset}: ${code} at ${place}: ${text}${length}`,
  ];
}
