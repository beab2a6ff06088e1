/** `wirebeat/time`: timers by the million, as a pure wheel and as a scheduler that runs it. */

export type { ProbeOptions, ProbeResult, WheelEntry } from './probes.ts';
export { Probe } from './probes.ts';
export type { HostTimer, SchedulerOptions, TimerHost } from './scheduler.ts';
export { nodeTimerHost, SCHEDULER_DEFAULTS, Scheduler } from './scheduler.ts';
export type { TimerHandle, TimerWheelOptions } from './wheel.ts';
export { TIMER_WHEEL_DEFAULTS, TimerWheel } from './wheel.ts';
