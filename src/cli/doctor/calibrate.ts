/**
 * What a frame costs in processor time, measured here: two hundred links of this process to itself, questions both
 * ways, for about a second. Both ends count, and the kernel's part of loopback with them.
 */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHeartbeat } from '../../client/connect.ts';
import { HeartbeatHub } from '../../net/hub.ts';
import type { BeatCost } from '../../net/tuning/load.ts';
import { createEchoServer } from '../../server/echo-server.ts';
import { MIN_INTERVAL_MS } from '../../session/policy.ts';

const LINKS = 200;
/** Until the code is compiled and the first questions are spread. */
const WARM_UP_MS = 1_000;
const MEASURED_MS = 1_000;

const RATES = { intervalMs: MIN_INTERVAL_MS, deadAfter: 100, ask: 'always' } as const;

/** Rejects with an AbortError when `signal` aborts. */
export async function calibrate(signal: AbortSignal): Promise<BeatCost> {
  const server = createEchoServer({ ...RATES, mode: 'heartbeat', tune: false });
  const hub = new HeartbeatHub();
  try {
    const { port } = (await server.listen(0)) as AddressInfo;
    const options = { ...RATES, port, hub, waitFor: 'connect', userTimeout: false } as const;
    await Promise.all(Array.from({ length: LINKS }, () => connectHeartbeat(options)));
    await sleep(WARM_UP_MS, undefined, { signal });
    const framesBefore = framesOf(hub) + framesOf(server.hub);
    const before = process.cpuUsage();
    await sleep(MEASURED_MS, undefined, { signal });
    const { user, system } = process.cpuUsage(before);
    const frames = framesOf(hub) + framesOf(server.hub) - framesBefore;
    return { frameUs: (user + system) / frames, measured: `here, over ${frames} frames on ${LINKS} links` };
  } finally {
    await hub.close();
    await server.close();
  }
}

function framesOf(hub: HeartbeatHub): number {
  const { framesSent, framesReceived } = hub.stats();
  return framesSent + framesReceived;
}
