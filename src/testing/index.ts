/** `wirebeat/testing`: for the tests of those who build on wirebeat. Needs the optional peer `fast-check`. */
export { chunkingArbitrary, damageArbitrary, frameArbitrary, streamArbitrary } from './arbitraries.ts';
export {
  FAULT_LANE_DEFAULTS,
  type FaultLaneSettings,
} from './fault-lane.ts';
export { type FaultDirection, FaultProxy, type FaultProxyOptions } from './fault-proxy.ts';
export { connectLab, type LabConnection, type LabConnectionOptions } from './lab-network.ts';
export { AnsweringPeer, type AnsweringPeerOptions, echo, swallow } from './lab-peers.ts';
export { LAB_PIPE_DEFAULTS, type LabPipe, type LabPipeOptions, type LabTap } from './lab-pipe.ts';
export { LabProcess, type Standstill } from './lab-process.ts';
export type { LabSocket } from './lab-socket.ts';
export { LabWorld } from './lab-world.ts';
export { VirtualClock } from './virtual-clock.ts';
