/** The settings that were explained as lines of code: where each of them is said, for one link and for a server. */
import type { ExplainOptions, TuningExplanation } from '../../net/tuning/explain.ts';
import { askedKeepAlive } from '../../net/tuning/options.ts';

/** A statement, and what it is good for. */
export interface CodeLine {
  readonly purpose: string;
  readonly code: string;
}

/** `{ idleMs: 1000, count: 5 }`, as a person would write it. */
function literal(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? `'${value}'` : String(value);
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  return `{ ${parts.map(([name, part]) => `${name}: ${literal(part)}`).join(', ')} }`;
}

/**
 * A link knows interval and user time-out; keepalive is its socket's, and an accepted socket has it from its listener.
 * What was asked, that is, also where this process cannot have all of it.
 */
export function codeLines(asked: ExplainOptions, explained: TuningExplanation): CodeLine[] {
  const { intervalMs, deadAfter, userTimeoutMs } = explained;
  const all = askedKeepAlive(asked.keepAlive);
  const isCounted = userTimeoutMs === false || (asked.keepAlive && asked.keepAlive.count !== undefined);
  const keepAlive = all && { ...all, count: isCounted ? all.count : undefined };
  const link = literal({ intervalMs, deadAfter, userTimeout: asked.userTimeoutMs ?? false });
  const server = literal({ keepAlive, userTimeoutMs: asked.userTimeoutMs && userTimeoutMs });
  const ofLink = { purpose: 'a link (connectHeartbeat takes the same)', code: `hub.attach(socket, ${link})` };
  const ofSocket = {
    purpose: 'its keepalive, off unless said',
    code: `tuneSocket(link.socket, ${literal({ keepAlive })})`,
  };
  const ofServer = {
    purpose: 'all that a server accepts (createEchoServer: tune)',
    code: `tuneServer(server, ${server})`,
  };
  return keepAlive === false ? [ofLink, ofServer] : [ofLink, ofSocket, ofServer];
}
