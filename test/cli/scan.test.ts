/** Frames in recorded bytes: everything is covered once, every good frame is found, damage is placed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scanFrames } from '../../src/cli/scan.ts';
import { crc16 } from '../../src/wire/crc16.ts';
import { encodeFrame } from '../../src/wire/frame.ts';

const PING = '48420101feffffff78563412168a0000';
const PONG = '48420104feffffff78563412dafd0000';

/** ACK_REQUEST and ACK together; the checksum holds. */
const illegal = Buffer.from('48420105010000000000000000000000', 'hex');
illegal.writeUInt16LE(crc16(illegal, 0, 12), 12);
const ILLEGAL = illegal.toString('hex');

/** `offset+bytes what` for each finding. */
function scan(hex: string, reserved: 'strict' | 'ignore' = 'strict'): string[] {
  return [...scanFrames(Buffer.from(hex.replaceAll(' ', ''), 'hex'), reserved)].map(
    ({ offset, bytes, diagnosis }) => `${offset}+${bytes} ${diagnosis.ok ? diagnosis.name : diagnosis.code}`,
  );
}

describe('scanFrames', () => {
  test.each([
    ['nothing', '', []],
    ['one frame', PING, ['0+16 PING']],
    ['two frames', PING + PONG, ['0+16 PING', '16+16 PONG']],
    ['a cut frame', PING.slice(0, 30), ['0+15 HB_ERR_LENGTH']],
    ['a frame and a rest', `${PING}48`, ['0+16 PING', '16+1 HB_ERR_LENGTH']],
    ['bytes before a frame', `4801020304${PING}`, ['0+5 HB_ERR_MAGIC', '5+16 PING']],
    ['no heartbeat at all', '00'.repeat(40), ['0+40 HB_ERR_MAGIC']],
    [
      'a damaged frame between good ones',
      `${PING}${PING.replace('fe', 'ff')}${PONG}`,
      ['0+16 PING', '16+16 HB_ERR_CRC', '32+16 PONG'],
    ],
    [
      'a frame that lost a byte',
      `${PING.slice(0, 8)}${PING.slice(10)}${PONG}`,
      ['0+15 HB_ERR_CRC', '15+16 PONG'],
    ],
    ['illegal flags under a good checksum', ILLEGAL + PONG, ['0+16 HB_ERR_FLAGS', '16+16 PONG']],
  ])('%s', (_what, hex, findings) => expect(scan(hex)).toEqual(findings));

  test('reserved bytes in use are bad, or ignored when told so', () => {
    const used = `${PING.slice(0, 28)}0100`;
    expect(scan(used)).toEqual(['0+16 HB_ERR_RESERVED']);
    expect(scan(used, 'ignore')).toEqual(['0+16 PING']);
    // The same rule holds for what is looked for inside damage.
    expect(scan(PING.slice(0, 10) + used, 'ignore')).toEqual(['0+5 HB_ERR_CRC', '5+16 PING']);
  });

  test('F46: whatever lies between frames, findings cover all bytes once and no good frame is missed', () => {
    const frame = fc.record({ seq: fc.nat(0xffffffff), timestamp: fc.nat(0xffffffff) });
    // No 48 and no 42, so that no stray byte can begin a frame that swallows a good one.
    const stray = fc
      .uint8Array({ maxLength: 40 })
      .map((bytes) => bytes.filter((byte) => byte !== 0x48 && byte !== 0x42));
    fc.assert(
      fc.property(fc.array(fc.tuple(stray, frame), { maxLength: 8 }), (units) => {
        const parts = units.map(([junk, fields]) => ({ junk, bytes: encodeFrame({ flags: 1, ...fields }) }));
        const stream = Buffer.concat(parts.flatMap(({ junk, bytes }) => [junk, bytes]));
        let at = 0;
        const good: number[] = [];
        for (const { offset, bytes, diagnosis } of scanFrames(stream, 'strict')) {
          expect(offset).toBe(at);
          expect(bytes).toBeGreaterThan(0);
          at += bytes;
          if (diagnosis.ok) good.push(diagnosis.seq);
        }
        expect(at).toBe(stream.length);
        expect(good).toEqual(units.map(([, { seq }]) => seq));
      }),
    );
  });
});
