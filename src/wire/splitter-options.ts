/**
 * What a FrameSplitter is told and what it tells: its options, which are at the same time its handler, and the codes
 * that end a stream.
 */
import { functionOf, integerIn } from '../base/assert.ts';
import { typeError } from '../base/errors.ts';
import { type FrameCode, MAX_HOST_HEADER_BYTES, RESYNC_BUDGET_BYTES } from './constants.ts';

/**
 * HB_ERR_TRUNCATED is information at `end()`: the stream ended inside a unit. All others are fatal: nothing is
 * delivered after them.
 */
export type SplitterCode =
  | 'HB_ERR_DESYNC'
  | 'HB_ERR_RESYNC'
  | 'HB_ERR_VERSION'
  | 'HB_ERR_RESERVED'
  | 'HB_ERR_HOST_TOO_LARGE'
  | 'HB_ERR_TRUNCATED';

/** `offset`: byte of the stream, counted from the first one pushed. `reason`: one clause for a log line. */
export interface SplitterErrorDetail {
  offset: number;
  reason: string;
}

/**
 * Options and handler in one. The object is kept and its functions are called as its methods, so a connection's own
 * object can be passed and no closure is needed; the numbers are read once, at construction.
 */
export interface FrameSplitterOptions {
  /** A heartbeat that passed every check. `flags` 0..127, the others u32. */
  onFrame(flags: number, seq: number, timestamp: number): void;
  /** The next piece of the open host frame, never empty, valid during the call only. */
  onHost?: ((bytes: Uint8Array) => void) | undefined;
  /**
   * Present: the connection is shared with a host protocol. The length in bytes, header included, of the host frame
   * that begins at `start`; 0 = more bytes than start..end are needed; -1 = this is no host frame. Sees at most
   * `maxHostHeaderBytes`, however much has arrived, so that the answer cannot depend on how the stream was cut.
   */
  hostFrameLength?: ((bytes: Uint8Array, start: number, end: number) => number) | undefined;
  /** Called at most once while pushing, and at most once more, with HB_ERR_TRUNCATED, by `end()`. */
  onError(code: SplitterCode, detail: SplitterErrorDetail): void;
  /** Heartbeat-only: `bytes` were passed over because of `code`. Runs are reported as they are found. */
  onSkipped?: ((bytes: number, code: FrameCode) => void) | undefined;
  /** 'ignore' accepts any value in bytes 14-15 of a heartbeat. Default 'strict'. */
  reserved?: 'strict' | 'ignore';
  /** Heartbeat-only: bytes that may be skipped; each good frame repays 16. 0..2^31-1, default 1024. */
  resyncBudgetBytes?: number;
  /** Bytes `hostFrameLength` gets to decide. 1..65536, default 64. */
  maxHostHeaderBytes?: number;
  /** Largest host frame, header included. 1..2^31-1, default 2^24. */
  maxHostFrameBytes?: number;
}

const I31_MAX = 2 ** 31 - 1;

/** Defaults of the limits, each inclusive. */
export const SPLITTER_DEFAULTS = Object.freeze({
  resyncBudgetBytes: RESYNC_BUDGET_BYTES,
  maxHostHeaderBytes: MAX_HOST_HEADER_BYTES,
  maxHostFrameBytes: 2 ** 24,
});

/** Least and greatest value of each. */
const RANGES = {
  resyncBudgetBytes: [0, I31_MAX],
  maxHostHeaderBytes: [1, 65_536],
  maxHostFrameBytes: [1, I31_MAX],
} as const;

/** Refuse what is not a handler: TypeError naming the function that is missing or is none. Internal. */
export function checkHandler(options: FrameSplitterOptions): void {
  if (typeof options !== 'object' || options === null) throw typeError('options', 'an object', options);
  functionOf('onFrame', options.onFrame);
  functionOf('onError', options.onError);
  if (options.onHost !== undefined) functionOf('onHost', options.onHost);
  if (options.hostFrameLength !== undefined) functionOf('hostFrameLength', options.hostFrameLength);
  if (options.onSkipped !== undefined) functionOf('onSkipped', options.onSkipped);
}

/** The limit named `name`: the option when given and in range, else its default. Internal. */
export function limitOf(options: FrameSplitterOptions, name: keyof typeof RANGES): number {
  const [min, max] = RANGES[name];
  return integerIn(name, options[name] ?? SPLITTER_DEFAULTS[name], min, max);
}
