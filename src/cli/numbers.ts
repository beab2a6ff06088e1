/** Whole numbers on the command line, decimal or 0x-hexadecimal, with their range in the message. */
import { InvalidArgumentError } from 'commander';

/** The number, or undefined when `text` is none. Signs, fractions and exponents are none. */
export function integerOf(text: string): number | undefined {
  return /^(\d{1,15}|0x[\da-f]{1,12})$/i.test(text) ? Number(text) : undefined;
}

/** `1 link`, `2 links`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A parser for an option in [min, max]. */
export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = integerOf(text);
    if (value === undefined || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number, ${min} to ${max}.`);
    }
    return value;
  };
}
