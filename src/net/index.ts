/** `wirebeat/net`: heartbeats on real sockets. */

export type { BusinessOutcome } from '../session/business.ts';
export type { Cause } from '../session/causes.ts';
export type { FlightEvent } from '../session/flight-recorder.ts';
export type { LinkState } from '../session/states.ts';
export type { Probe, ProbeOptions, ProbeResult } from '../time/probes.ts';
export type { Check } from './check-runner.ts';
export type { Confidence, Diagnosis, Evidence, KernelFigures } from './diagnosis/evidence.ts';
export type { ClosedDetail, DeadDetail, HubEvents, LeavingDetail, SuspectDetail } from './events.ts';
export type { HubOptions, SelfCheckOptions } from './hub.ts';
export { defaultHub, HeartbeatHub } from './hub.ts';
export type { RetransmissionRules, TuningEnvironment } from './tuning/environment.ts';
export type {
  ExplainOptions,
  FailureTimes,
  PathName,
  PathVerdict,
  TuningExplanation,
} from './tuning/explain.ts';
export { explainTuning } from './tuning/explain.ts';
export type { BeatCost, LinkLoad } from './tuning/load.ts';
export type { TuneOptions } from './tuning/options.ts';
export { TUNE_DEFAULTS } from './tuning/options.ts';
export type { TunedName, TunedSetting, TunedSettings, TuneReport } from './tuning/report.ts';
export { tuneServer } from './tuning/tune-server.ts';
export { tuneSocket } from './tuning/tune-socket.ts';
export type { DetectorTime } from './tuning/worst-cases.ts';
export type {
  AttachOptions,
  HostProtocol,
  HubStats,
  LeaveOptions,
  Link,
  LinkRates,
  LinkStats,
} from './types.ts';
