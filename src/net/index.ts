/** `wirebeat/net`: heartbeats on real sockets. */

export type { BusinessOutcome } from '../session/business.ts';
export type { Cause } from '../session/causes.ts';
export type { FlightEvent } from '../session/flight-recorder.ts';
export type { LinkState } from '../session/states.ts';
export type { Probe, ProbeOptions, ProbeResult } from '../time/probes.ts';
export type { Check } from './check-runner.ts';
export type { ClosedDetail, DeadDetail, HubEvents, LeavingDetail, SuspectDetail } from './events.ts';
export type { HubOptions, SelfCheckOptions } from './hub.ts';
export { defaultHub, HeartbeatHub } from './hub.ts';
export type { TunedSetting, TuneOptions, TuneReport } from './tune.ts';
export { TUNE_DEFAULTS, tuneServer, tuneSocket } from './tune.ts';
export type {
  AttachOptions,
  HostProtocol,
  HubStats,
  LeaveOptions,
  Link,
  LinkRates,
  LinkStats,
} from './types.ts';
