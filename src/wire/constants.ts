/**
 * Everything the HB1 specification fixes, written once (spec/HB1.md sections 1 to 3). Tunable defaults do not
 * live here; they stand frozen beside the code that uses them.
 */

/** Length of every frame, bytes. */
export const FRAME_BYTES = 16;
/** First two bytes of every frame, "HB". */
export const MAGIC_0 = 0x48;
export const MAGIC_1 = 0x42;
/** Protocol version in byte 2. */
export const VERSION = 1;

/** Byte offsets of the fields within a frame; all multi-byte fields are little-endian. */
export const Offset = {
  Magic: 0,
  Version: 2,
  Flags: 3,
  Seq: 4,
  Timestamp: 8,
  Crc: 12,
  Reserved: 14,
} as const;

/** Masks of the flags byte. Bit 7 is unassigned: sent zero, masked off on receipt before any test. */
export const Flag = {
  AckRequest: 0x01,
  Retransmit: 0x02,
  Ack: 0x04,
  Probe: 0x08,
  Degraded: 0x10,
  GoAway: 0x20,
  Param: 0x40,
} as const;

/** The flag bits a receiver looks at; bit 7 is not among them. */
export const FLAGS_MASK = 0x7f;

export type FrameCode =
  | 'HB_ERR_LENGTH'
  | 'HB_ERR_MAGIC'
  | 'HB_ERR_CRC'
  | 'HB_ERR_VERSION'
  | 'HB_ERR_RESERVED'
  | 'HB_ERR_FLAGS';

/** Failures in validation order: the first check that fails names the code. */
export const FRAME_CODES: readonly FrameCode[] = [
  'HB_ERR_LENGTH',
  'HB_ERR_MAGIC',
  'HB_ERR_CRC',
  'HB_ERR_VERSION',
  'HB_ERR_RESERVED',
  'HB_ERR_FLAGS',
];

/** Parameter ids: bits 24-31 of the parameter word (wire byte 11). 9-127 unassigned, 128-255 private. */
export const Param = {
  DesiredMinTx: 1,
  RequiredMinRx: 2,
  DetectMult: 3,
  Poll: 4,
  Final: 5,
  LoopLag: 6,
  GoAwayInfo: 7,
  Refuse: 8,
} as const;

/** Largest value a parameter word carries (bits 0-23). */
export const PARAM_VALUE_MAX = 0xffffff;

/** Reasons in a GOAWAY_INFO parameter, bits 16-23. */
export const GoAwayReason = {
  Unspecified: 0,
  Leaving: 1,
  TooFast: 2,
  Overloaded: 3,
  ParametersRefused: 4,
  ProtocolError: 5,
  Rotate: 6,
  BusinessHung: 7,
  Version: 8,
} as const;

/** Retry-after in GOAWAY_INFO, bits 0-15, in units of 100 ms. */
export const RETRY_AFTER_UNIT_MS = 100;
/** "Use your own backoff". */
export const RETRY_AFTER_OWN = 0;
/** "Do not return". */
export const RETRY_AFTER_NEVER = 0xffff;

/** Codes in a REFUSE parameter, bits 8-15. */
export const RefuseCode = { IllegalValue: 1, DetectionTooLong: 2, TooOften: 3 } as const;

/** Entries of the dedup window. */
export const WINDOW_ENTRIES = 64;
/** A forward jump beyond this, or 64 and more behind, makes a frame a candidate for a restarted counter. */
export const MAX_FORWARD_JUMP = 1024;
/** Own sequence numbers a pong can still be matched against. */
export const PING_MAP_ENTRIES = 64;
/** Unanswered pings at most; beyond that BEATs do the duty. */
export const MAX_UNANSWERED_PINGS = 32;
/** Heartbeat-only resync: skipped bytes allowed, and what each valid frame pays back. */
export const RESYNC_BUDGET_BYTES = 1024;
export const RESYNC_REPAY_BYTES = 16;
/** Shared connections: bytes an undecided host header may reach. */
export const MAX_HOST_HEADER_BYTES = 64;
