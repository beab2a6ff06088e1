/** `wirebeat/session`: the liveness rules of one connection, free of sockets, timers, clocks and randomness. */
export type { Cause } from './causes.ts';
export type { CoherenceInput, Finding } from './coherence.ts';
export { checkCoherence, PATH_IDLE_LIMITS_MS } from './coherence.ts';
export { goAwayRetryAfterMs, goAwayWord } from './goaway.ts';
export { Lateness } from './lateness.ts';
export type { Answer, Rates } from './negotiation.ts';
export { FINAL_LIMIT_MS, MAX_DETECTION_MS, Negotiation, POLL_GAP_MS } from './negotiation.ts';
export type { SessionOptions, SessionPolicy } from './policy.ts';
export {
  detectionBound,
  detectionTime,
  MAX_INTERVAL_MS,
  MIN_INTERVAL_MS,
  SESSION_DEFAULTS,
  sessionPolicy,
} from './policy.ts';
export type { SentResult, SessionEvent, SessionPort } from './port.ts';
export { Sent } from './port.ts';
export type { Preset, PresetName } from './presets.ts';
export { PRESET_NAMES, PRESETS } from './presets.ts';
export { ProbeBudget } from './probe-budget.ts';
export { NEEDS_POLL, Session } from './session.ts';
export { SleepDetector } from './sleep.ts';
export type { LinkState, Trigger } from './states.ts';
export { TRANSITIONS } from './states.ts';
export type { SessionStats } from './stats.ts';
