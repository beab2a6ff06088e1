/**
 * Invariant: at every offset of any bytes the codec gives the naive codec's answer, never an exception, and a good
 * frame encodes to the bytes it was read from.
 *
 * Two kinds of good frames cannot give their bytes back, for they carry what is not read: bit 7 of the flags, and
 * ignored reserved bytes. They must give back a frame that reads the same. The first sixteen bytes are also taken
 * for fields, legal or not, and the encoder has to make the naive frame of them or refuse them with a RangeError.
 */
import { FRAME_BYTES } from '../../src/wire/constants.ts';
import { diagnoseFrame } from '../../src/wire/diagnose.ts';
import { decodeFrame, encodeFrame, encodeFrameInto } from '../../src/wire/frame.ts';
import { type NaiveResult, naiveDecode, naiveEncode, naiveName } from '../../test/support/naive-codec.ts';
import { holds, same } from '../law.ts';

/** The last offset tried; further ones only repeat what other inputs say. */
const LAST_OFFSET = 4;

export function fuzz(data: Buffer): void {
  for (let offset = 0; offset <= Math.min(data.length, LAST_OFFSET); offset++) {
    const frame = data.subarray(offset, offset + FRAME_BYTES);
    for (const reserved of ['strict', 'ignore'] as const) {
      const due = naiveDecode(frame, reserved);
      const found = decodeFrame(data, offset, { reserved });
      same(found, due, `decodeFrame at ${offset}, reserved ${reserved}`);
      checkDiagnosis(data, offset, reserved, due);
      if (found.ok) checkReturn(frame, found);
    }
  }
  if (data.length >= FRAME_BYTES) checkEncoder(data);
}

function checkDiagnosis(data: Buffer, offset: number, reserved: 'strict' | 'ignore', due: NaiveResult): void {
  const found = diagnoseFrame(data, offset, { reserved });
  if (due.ok) {
    const { flags, seq, timestamp } = due;
    const name = naiveName(flags, timestamp);
    same(found, { ok: true, name, flags, seq, timestamp }, `diagnoseFrame at ${offset}`);
    return;
  }
  holds(!found.ok && found.code === due.code, `diagnoseFrame at ${offset} does not say ${due.code}`);
  const end = Math.min(data.length - offset, FRAME_BYTES);
  const isInside = found.at >= 0 && (found.at < end || (due.code === 'HB_ERR_LENGTH' && found.at === end));
  holds(isInside, `diagnoseFrame at ${offset} points at byte ${found.at}, which the frame does not have`);
}

function checkReturn(frame: Buffer, fields: { flags: number; seq: number; timestamp: number }): void {
  const again = encodeFrame(fields);
  const isExact = frame[3]! < 0x80 && frame.readUInt16LE(14) === 0;
  if (isExact) same(again.toString('hex'), frame.toString('hex'), 'encoding gives other bytes');
  same(decodeFrame(again), fields, 'what was encoded reads differently');
}

function checkEncoder(data: Buffer): void {
  const flags = data[3]!;
  const seq = data.readUInt32LE(4);
  const timestamp = data.readUInt32LE(8);
  const target = Buffer.alloc(FRAME_BYTES);
  let refusal: unknown;
  try {
    encodeFrameInto(target, 0, flags, seq, timestamp);
  } catch (error) {
    refusal = error;
  }
  const isLegal = flags < 0x80 && naiveName(flags, timestamp) !== undefined;
  if (isLegal) holds(refusal === undefined, `the encoder refused a legal frame: ${String(refusal)}`);
  else holds(refusal instanceof RangeError, `flags ${flags}, word ${timestamp}: expected a RangeError`);
  const due = isLegal ? naiveEncode({ flags, seq, timestamp }) : new Array(FRAME_BYTES).fill(0);
  same([...target], due, 'the encoder wrote other bytes');
}
