/**
 * The near end of a lab link: connects with heartbeats, and says everything its hub tells, with what the link
 * promises at that moment. Runs in the namespace of its host.
 */
import { type ConnectOptions, connectHeartbeat } from '../../src/client/connect.ts';
import { HeartbeatHub } from '../../src/net/hub.ts';
import { explainTuning, type TuneOptions, tuneSocket } from '../../src/net/index.ts';
import type { Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame, lengthPrefixedFrameLength } from '../../src/server/length-prefix.ts';
import { pickSessionOptions, sessionPolicy } from '../../src/session/policy.ts';
import { blockLoop, obey, programOptions, say } from './program.ts';

export interface WatcherOptions extends ConnectOptions {
  /** Share the connection with the echo server's host protocol, so that `write BYTES` has somewhere to go. */
  isMixed?: boolean;
  /** Keepalive of the link's socket; off when unset. */
  keepAlive?: TuneOptions['keepAlive'];
}

const EVENTS = [
  'up',
  'suspect',
  'recovered',
  'dead',
  'leaving',
  'closed',
  'business',
  'write-stall',
  'one-way',
  'self-late',
] as const;

const { isMixed, keepAlive = false, ...options } = programOptions<WatcherOptions>();
const hub = new HeartbeatHub();

function promises(link: Link) {
  const { detectionTimeMs, detectionBoundMs } = link;
  return { detectionTimeMs, detectionBoundMs, lateScore: hub.stats().lateScore };
}

for (const event of EVENTS) {
  hub.on(event, (link: Link | undefined, detail: object) =>
    say(event, { ...detail, ...(link && promises(link)) }),
  );
}

let link: Link | undefined;

obey({
  block: blockLoop,
  write: (bytes) => link?.write(lengthPrefixedFrame(Buffer.alloc(bytes))),
});

say('dials');
try {
  link = await connectHeartbeat({
    ...options,
    hub,
    waitFor: 'connect',
    onPong: (_link, _seq, rttMs) => say('pong', { rttMs }),
    ...(isMixed && { protocol: { frameLength: lengthPrefixedFrameLength, onFrame() {} } }),
  });
  say('connected');
  if (keepAlive !== false) tuneSocket(link.socket, { keepAlive });
  const { intervalMs, deadAfter } = sessionPolicy(pickSessionOptions(options));
  const userTimeoutMs = options.userTimeout ?? false;
  say('explained', explainTuning({ intervalMs, deadAfter, keepAlive, userTimeoutMs }));
} catch (error) {
  say('failed', { message: (error as Error).message });
}
