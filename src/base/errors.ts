/**
 * The one error type the library throws, and the two small constructors for caller misuse.
 *
 * Two kinds of wrong are kept apart. *Our caller's misuse* throws: TypeError for a wrong type, RangeError for a
 * wrong value, always naming the option and showing the value. *The peer's misbehaviour* is a value with a code
 * (`HB_ERR_...`) that closes the link; it never leaves a data callback as an exception.
 */

/** An operational failure with a stable machine-readable code, e.g. `HB_ERR_DESYNC`. */
export class WirebeatError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WirebeatError';
    this.code = code;
  }
}

/** Render a value for an error message: short, quoted when textual, never throwing. */
function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/** RangeError whose message starts with the option's name and ends with the offending value. */
export function rangeError(name: string, expected: string, value: unknown): RangeError {
  return new RangeError(`${name} must be ${expected}, got ${show(value)}`);
}

/** TypeError whose message starts with the option's name and ends with the offending value. */
export function typeError(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name} must be ${expected}, got ${show(value)}`);
}
