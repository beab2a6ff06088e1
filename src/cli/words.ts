/**
 * The specification's words for flags, parameters, reasons and codes, made from the names of the constants, so that
 * they cannot drift apart: ACK_REQUEST for output, ack-request for input.
 */
import { Flag, GoAwayReason, Param, RefuseCode } from '../wire/constants.ts';

type Table = Readonly<Record<string, number>>;

/** `AckRequest` -> ['Ack', 'Request']; GOAWAY is one word. */
function partsOf(name: string): string[] {
  return name.replace('GoAway', 'Goaway').match(/[A-Z][a-z]*/g) as string[];
}

const lookUp = (table: Table, value: number): string | undefined =>
  Object.keys(table).find((name) => table[name] === value);

const shout = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : partsOf(name).join('_').toUpperCase();

const speak = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : partsOf(name).join(' ').toLowerCase();

/** The names of the flags that are set, in the order of their bits. */
export function flagNames(flags: number): string[] {
  return Object.entries(Flag).flatMap(([name, mask]) =>
    (flags & mask) === 0 ? [] : [shout(name) as string],
  );
}

/** DESIRED_MIN_TX; undefined for an id without a name. */
export function parameterName(id: number): string | undefined {
  return shout(lookUp(Param, id));
}

/** `too fast`; undefined for a reason without a name. */
export function reasonName(reason: number): string | undefined {
  return speak(lookUp(GoAwayReason, reason));
}

/** `illegal value`; undefined for a code without a name. */
export function refusalName(code: number): string | undefined {
  return speak(lookUp(RefuseCode, code));
}

/** The words of a table as they are typed: `too-fast`. */
export function typedWords(table: Table): string[] {
  return Object.keys(table).map((name) => partsOf(name).join('-').toLowerCase());
}

/** The value of a typed word, in either case, with - or _; undefined for another word. */
export function valueOfWord(table: Table, text: string): number | undefined {
  const at = typedWords(table).indexOf(text.toLowerCase().replaceAll('_', '-'));
  return Object.values(table)[at];
}
