/**
 * Which flag combinations are frames, and what they are called. One table of 128 answers, computed at load from the
 * "must / may" rows of spec/HB1.md section 2, so that a check is one look-up.
 *
 * One rule needs more than the flags: a PARAM carries GOAWAY if and only if its word's id is 7 (GOAWAY_INFO), so that
 * no receiver has to guess what one without the other means. The table says yes to both; `isLegalFrame` looks at the
 * id.
 */
import * as fixed from './constants.ts';

const { FLAGS_MASK } = fixed;
const { AckRequest, Retransmit, Ack, Probe, Degraded, GoAway, Param: Parameter } = fixed.Flag;
const GOAWAY_INFO = fixed.Param.GoAwayInfo;

export type FrameName = 'BEAT' | 'PING' | 'PONG' | 'PARAM' | 'GOAWAY';

/** The rows, told apart by what a frame must carry. GOAWAY with PARAM is a PARAM. */
const ROWS: readonly { name: FrameName; must: number; may: number }[] = [
  { name: 'BEAT', must: 0, may: Degraded | Retransmit },
  { name: 'PING', must: AckRequest, may: Probe | Degraded | GoAway | Retransmit },
  { name: 'PONG', must: Ack, may: Probe | Degraded },
  { name: 'PARAM', must: Parameter, may: Degraded | Retransmit | GoAway },
  { name: 'GOAWAY', must: GoAway, may: Degraded | Retransmit },
];

const NAMES: readonly (FrameName | undefined)[] = Array.from(
  { length: FLAGS_MASK + 1 },
  (_, flags) => ROWS.find(({ must, may }) => (flags & must) === must && (flags & ~(must | may)) === 0)?.name,
);

const NEVER = 0;
const ALWAYS = 1;
const WITH_GOAWAY_INFO = 2;
const WITHOUT_GOAWAY_INFO = 3;

const LEGALITY = Uint8Array.from(NAMES, (name, flags) => {
  if (name === undefined) return NEVER;
  if (name !== 'PARAM') return ALWAYS;
  return (flags & GoAway) !== 0 ? WITH_GOAWAY_INFO : WITHOUT_GOAWAY_INFO;
});

/** True when bits 0-6 of `flags` are a combination that some frame may have. Bit 7 is not looked at. */
export function isLegalFlags(flags: number): boolean {
  return LEGALITY[flags & FLAGS_MASK] !== NEVER;
}

/** True when `flags` are legal in a frame whose timestamp field has `topByte` (wire byte 11, the parameter id). */
export function isLegalFrame(flags: number, topByte: number): boolean {
  const legality = LEGALITY[flags & FLAGS_MASK];
  if (legality === WITH_GOAWAY_INFO) return topByte === GOAWAY_INFO;
  if (legality === WITHOUT_GOAWAY_INFO) return topByte !== GOAWAY_INFO;
  return legality === ALWAYS;
}

/** The name of the frame that `flags` make, bit 7 ignored; `INVALID` when they make none. */
export function frameName(flags: number): FrameName | 'INVALID' {
  return NAMES[flags & FLAGS_MASK] ?? 'INVALID';
}
