/** `wirebeat/wire`: bytes to frames and back, sequence arithmetic, dedup, stream splitting. No input or output. */
export * from './constants.ts';
export { crc16 } from './crc16.ts';
export { diagnoseFrame, type FrameDiagnosis, type FrameFault } from './diagnose.ts';
export { type FrameName, frameName, isLegalFlags, isLegalFrame } from './flags.ts';
export {
  checkFrame,
  type DecodeOptions,
  type DecodeResult,
  decodeFrame,
  encodeFrame,
  encodeFrameInto,
  type Frame,
  readFlags,
  readSeq,
  readTimestamp,
} from './frame.ts';
export * from './param.ts';
export { serialDistance } from './serial.ts';
export {
  FrameSplitter,
  type FrameSplitterOptions,
  type SplitterCode,
  type SplitterErrorDetail,
} from './splitter.ts';
export { SPLITTER_DEFAULTS } from './splitter-options.ts';
export { DedupWindow, type Verdict } from './window.ts';
