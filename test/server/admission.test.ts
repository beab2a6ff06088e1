/** The limits of links in all and by address, against a model that keeps a plain list. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Admission } from '../../src/server/admission.ts';

describe('Admission', () => {
  test('the last link within the limit enters, one more does not, and one that leaves makes room', () => {
    const door = new Admission(2, 10);
    expect([door.admit('192.0.2.1'), door.admit('192.0.2.2')]).toEqual([undefined, undefined]);
    expect(door.admit('192.0.2.3')).toBe('HB_ERR_TOO_MANY_LINKS');
    expect(door.links).toBe(2);
    door.leave('192.0.2.1');
    expect(door.admit('192.0.2.3')).toBeUndefined();
  });

  test('by address likewise; other addresses are not touched', () => {
    const door = new Admission(100, 2);
    const enter = (address: string) => door.admit(address);
    expect([enter('192.0.2.1'), enter('192.0.2.1')]).toEqual([undefined, undefined]);
    expect(enter('192.0.2.1')).toBe('HB_ERR_TOO_MANY_FROM_ADDRESS');
    expect(enter('192.0.2.11')).toBeUndefined();
    expect(enter('2001:db8::1')).toBeUndefined();
    door.leave('192.0.2.1');
    expect(enter('192.0.2.1')).toBeUndefined();
    expect(door.links).toBe(4);
  });

  test.each(['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', ''])(
    '%o is exempt by address',
    (address) => {
      const door = new Admission(5, 1);
      for (let link = 0; link < 5; link++) expect(door.admit(address)).toBeUndefined();
      expect(door.admit(address)).toBe('HB_ERR_TOO_MANY_LINKS');
    },
  );

  test.each(['128.0.0.1', '1.127.0.1', '::10', '::ffff:192.0.2.1', '::1:2'])(
    '%o is not exempt',
    (address) => {
      const door = new Admission(5, 1);
      door.admit(address);
      expect(door.admit(address)).toBe('HB_ERR_TOO_MANY_FROM_ADDRESS');
    },
  );

  test('agrees with a list of those inside', () => {
    const addresses = ['192.0.2.1', '192.0.2.2', '::1', ''];
    const step = fc.record({ enters: fc.boolean(), who: fc.constantFrom(...addresses) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const door = new Admission(6, 2);
        const inside: string[] = [];
        for (const { enters, who } of steps) {
          const there = inside.filter((address) => address === who).length;
          if (enters) {
            const isFull = there >= 2 && who.startsWith('192');
            const expected =
              inside.length >= 6
                ? 'HB_ERR_TOO_MANY_LINKS'
                : isFull
                  ? 'HB_ERR_TOO_MANY_FROM_ADDRESS'
                  : undefined;
            expect(door.admit(who)).toBe(expected);
            if (expected === undefined) inside.push(who);
          } else if (there > 0) {
            door.leave(who);
            inside.splice(inside.indexOf(who), 1);
          }
          expect(door.links).toBe(inside.length);
        }
      }),
    );
  });
});
