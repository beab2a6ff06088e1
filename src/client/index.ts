/** `wirebeat/client`: connecting to a service that speaks heartbeats. */
export type { ConnectOptions } from './connect.ts';
export { connectHeartbeat } from './connect.ts';
