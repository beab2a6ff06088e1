/**
 * Argument checks for public entry points. Each names the option, states the range and shows the value.
 * They return the value, so that validation and assignment are one line.
 */
import { rangeError, typeError } from './errors.ts';

/** An integer in [min, max]; both ends legal. */
export function integerIn(name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number') throw typeError(name, 'a number', value);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw rangeError(name, `an integer in ${min}..${max}`, value);
  }
  return value;
}

/** A finite number, or Infinity where `max` is Infinity ("never"), in [min, max]. NaN is refused. */
export function numberIn(name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number') throw typeError(name, 'a number', value);
  if (!(value >= min && value <= max)) throw rangeError(name, `a number in ${min}..${max}`, value);
  return value;
}

/** A function. */
export function functionOf<F>(name: string, value: F): F {
  if (typeof value !== 'function') throw typeError(name, 'a function', value);
  return value;
}

/** One of a closed list of words. */
export function oneOf<T extends string>(name: string, value: unknown, words: readonly T[]): T {
  if (typeof value !== 'string' || !words.includes(value as T)) {
    throw rangeError(name, `one of ${words.join(', ')}`, value);
  }
  return value as T;
}

/** Refuse unknown keys of an options object: a misspelt option must not be silently ignored. */
export function knownKeys(name: string, options: object, keys: readonly string[]): void {
  for (const key of Object.keys(options)) {
    if (!keys.includes(key)) throw new TypeError(`${name}.${key} is no option: there are ${keys.join(', ')}`);
  }
}
