/**
 * The wire of a key-value store in the manner of RESP: lines that begin with their type, ended by CR LF, and bulk
 * strings whose line states the length of the bytes that follow.
 *
 *     *3 CRLF            an array of three; its elements follow
 *     $5 CRLF hello CRLF a bulk string; $-1 CRLF is "nothing there"
 *     +OK  -ERR why  :7  a word, an error, a number
 *
 * Framed by element, not by command: the length of a whole array cannot be told from its first bytes, that of each
 * element can. The lines are short by rule (62 bytes and CR LF; what is longer goes into a bulk string), since a
 * protocol with lines of any length cannot share a connection. No element begins with 'H'. A protocol that also takes
 * bare words as commands could not share one either: HB... might be one.
 */

export type Reply = string | number | Error | Buffer | null;

const CR = 13;
const LF = 10;
const LINE_BYTES = 64;
const TYPES = Buffer.from('*$+-:');
const BULK = 0x24;

/** Bytes of the element that begins at `start`; 0 = more are needed; -1 = this is no element. */
export function elementLength(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0;
  if (!TYPES.includes(bytes[start]!)) return -1;
  const last = Math.min(end, start + LINE_BYTES) - 1;
  let at = start;
  while (at < last && !(bytes[at] === CR && bytes[at + 1] === LF)) at++;
  if (at >= last) return end - start >= LINE_BYTES ? -1 : 0;
  const lineBytes = at + 2 - start;
  if (bytes[start] !== BULK) return lineBytes;
  const length = Number(Buffer.from(bytes.subarray(start + 1, at)).toString());
  if (!Number.isInteger(length) || length < -1) return -1;
  return length === -1 ? lineBytes : lineBytes + length + 2;
}

/** Puts elements together to commands (arrays of bulk strings) or replies, however their bytes arrive. */
export class RespReader {
  readonly #onValue: (value: Reply | Buffer[]) => void;
  readonly #onBroken: () => void;
  #pending = Buffer.alloc(0);
  #array: Buffer[] = [];
  #missing = 0;

  constructor(onValue: (value: Reply | Buffer[]) => void, onBroken: () => void) {
    this.#onValue = onValue;
    this.#onBroken = onBroken;
  }

  /** Keeps no reference to `chunk`. */
  push(chunk: Uint8Array): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    let length = elementLength(this.#pending, 0, this.#pending.length);
    while (length > 0 && length <= this.#pending.length) {
      this.#element(this.#pending.subarray(0, length));
      this.#pending = this.#pending.subarray(length);
      length = elementLength(this.#pending, 0, this.#pending.length);
    }
    if (length < 0) this.#onBroken();
  }

  #element(bytes: Buffer): void {
    const lineEnd = bytes.indexOf('\r\n');
    const text = bytes.toString('latin1', 1, lineEnd);
    const body = bytes.subarray(lineEnd + 2, -2);
    const type = String.fromCharCode(bytes[0]!);
    if (type === '*') {
      this.#missing = Number(text);
      this.#array = [];
    } else if (this.#missing > 0) {
      this.#array.push(body);
      if (--this.#missing === 0) this.#onValue(this.#array);
    } else if (type === '$') {
      this.#onValue(text === '-1' ? null : body);
    } else {
      this.#onValue(type === ':' ? Number(text) : type === '-' ? new Error(text) : text);
    }
  }
}
