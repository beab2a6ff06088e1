/** `wirebeat/client`: connecting to a service that speaks heartbeats, and coming back when it sent us away. */
export type { ConnectOptions } from './connect.ts';
export { connectHeartbeat } from './connect.ts';
export type { ReturnPlan, Told } from './return-plan.ts';
export { MAX_RETURN_WAIT_MS, planReturn } from './return-plan.ts';
export type { ReturnsOptions, ReturnTold, ReturnWait } from './returns.ts';
export { Returns } from './returns.ts';
