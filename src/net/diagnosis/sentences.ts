/** What is said to whoever is on call: one plain sentence per rule, with the figures that it rests on. */
import type { ClosedDetail } from '../events.ts';
import type { Evidence } from './evidence.ts';
import type { Findings } from './findings.ts';

export const LEFT = 'The peer said GOAWAY and left; this is no failure.';
export const NOT_CONNECTED =
  'The connection was never established: nothing answers at that address, or packets are dropped on the way.';
export const CONNECTING =
  'The connection is still being established: nothing can be said of the peer before it stands.';
export const PAUSED = 'We have stopped reading this link ourselves, so nothing can be said of the peer.';
export const HELD =
  'Our own host keeps a frame open, so the peer could not be asked; this end is the one to look at.';

type Say = (findings: Findings) => string;

/** `250 ms`, `4.5 s`, `12 min`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${Number((ms / 1_000).toFixed(1))} s` : `${Math.round(ms / 60_000)} min`;
}

function bytes(count: number): string {
  if (count < 10_000) return count === 1 ? '1 byte' : `${count} bytes`;
  return count < 10_000_000 ? `${Math.round(count / 1_000)} kB` : `${Math.round(count / 1_000_000)} MB`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

const unacked = ({ unackedBytes = 0 }: Evidence): string => bytes(unackedBytes);

/** Of whatever waits, in this process or in the kernel. */
const waiting = ({ queuedBytes, unackedBytes = 0 }: Evidence): string => bytes(queuedBytes + unackedBytes);

const ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The host is there, but nothing listens at that port',
  ECONNRESET: 'The connection was reset: the process ended or restarted, or a machine on the way cut it',
  EPIPE: 'The connection is gone: the peer closed it while we were sending',
  ECONNABORTED: 'The connection was aborted',
  EHOSTUNREACH: 'A router says that it cannot reach the host',
  ENOENT: 'There is no such socket file',
  ENETUNREACH: 'There is no route to the network of the host',
};

export const unreachable: Say = ({ errorCode = '' }) =>
  `${ERRORS[errorCode] ?? 'The host cannot be reached'} (${errorCode}).`;

export const unresolved: Say = ({ errorCode }) =>
  `The name of the host leads to no address (${errorCode}): the name, or the name service, is the one to look at.`;

export const untrusted: Say = ({ errorCode }) =>
  `The peer's certificate is not accepted here (${errorCode}).`;

export const tlsFailed: Say = ({ errorCode }) => `The two ends could not agree on TLS (${errorCode}).`;

export const otherError: Say = ({ errorCode }) =>
  `The connection failed with ${errorCode ?? 'an error without a code'}, which says nothing of the peer.`;

export const businessHung: Say = ({ knowledge: { business }, evidence: { businessOkAgeMs } }) => {
  const what = business === 'hung' ? 'does not come back with an answer' : 'says that it is not well';
  const since = businessOkAgeMs === undefined ? '' : `, last well ${span(businessOkAgeMs)} ago`;
  return `The peer's process answers heartbeats, but its application ${what}${since}.`;
};

export const oneWay: Say = ({ evidence }) =>
  `We heard the peer, but it answered nothing for ${span(evidence.unansweredMs ?? 0)} and then closed: ` +
  'what we send does not arrive.';

export const peerClosed: Say = ({ knowledge, evidence }) =>
  'The peer closed the connection without a GOAWAY: its process ended, or a proxy on the way cut the connection ' +
  `(${knowledge.heard ? `last heard ${span(evidence.silentMs)} before` : 'it was never heard'}).`;

export const well: Say = ({ evidence }) =>
  `Nothing is wrong: the peer was heard ${span(evidence.silentMs)} ago.`;

export const windowLost: Say = ({ evidence }) =>
  `The path to the peer is dead: its kernel took no more bytes, and ${evidence.unansweredProbes} probes in a row ` +
  'went unanswered since.';

export const windowClosed: Say = ({ evidence }) =>
  `The peer's process does not read: its kernel is full and takes nothing more, ${waiting(evidence)} wait here.`;

export const windowUnheard: Say = ({ evidence }) =>
  `The peer's process seems not to read: its kernel was full and ${waiting(evidence)} wait here, but no ` +
  'acknowledgement of it is known since it was last heard, so the path may be dead as well.';

export const notReading: Say = ({ evidence }) =>
  `The peer seems not to read: ${waiting(evidence)} wait here` +
  (evidence.writeProgressAgeMs === undefined
    ? ', though its kernel still answers.'
    : ` and have not moved for ${span(evidence.writeProgressAgeMs)}.`);

export const retransmitting: Say = ({ evidence }) =>
  `The path to the peer is dead, or its machine is: ${unacked(evidence)} were sent again ` +
  `${times(evidence.retransmits ?? 0)} and never acknowledged, nothing was heard for ${span(evidence.silentMs)}.`;

export const kernelTimeout: Say = ({ evidence }) =>
  'The path to the peer is dead, or its machine is: our kernel gave up waiting for an acknowledgement (ETIMEDOUT), ' +
  `nothing was heard for ${span(evidence.silentMs)}.`;

export const timeoutUnread: Say = ({ evidence }) =>
  `The peer seems not to read: what we sent had not moved for ${span(evidence.writeProgressAgeMs ?? 0)} when the ` +
  `connection was given up (ETIMEDOUT), though the peer was heard ${span(evidence.silentMs)} before.`;

export const weWereLate: Say = ({ evidence }) =>
  `This process itself did not run for ${span(evidence.ownLagMs)} of the ${span(evidence.silentMs)} of silence; ` +
  'look here first.';

export const outboundLost: Say = ({ evidence }) =>
  `Packets of the peer still arrive, but ours do not: ${unacked(evidence)} were sent again ` +
  `${times(evidence.retransmits ?? 0)} and not acknowledged.`;

export const acceptedOnly: Say = ({ evidence }) =>
  `The peer's machine takes what we send, but nobody ever answered in ${span(evidence.silentMs)}: ` +
  'not a heartbeat service, a proxy without one behind it, or a process that hangs.';

export const processHung: Say = ({ evidence }) =>
  "The peer's process hangs: its machine acknowledges what we send, but the process has not answered for " +
  `${span(evidence.silentMs)}.`;

export const unacknowledged: Say = ({ evidence }) =>
  `The path to the peer seems dead: ${unacked(evidence)} are not acknowledged, ` +
  `nothing was heard for ${span(evidence.silentMs)}.`;

export const neverHeard: Say = ({ evidence }) =>
  `The connection stands, but nothing valid was ever heard in ${span(evidence.silentMs)}; nothing tells why.`;

export const silent: Say = ({ evidence }) =>
  `Nothing was heard for ${span(evidence.silentMs)}: the path is dead, or the process hangs; ` +
  'nothing tells which.';

/** Of a link that is over and whose end needed no diagnosis. */
export function over({ cause, code, reason }: ClosedDetail): string {
  if (cause === 'left') return LEFT;
  const why = [...(reason === undefined ? [] : [reason]), ...(code === undefined ? [] : [code])].join(', ');
  return `This link is closed (${cause}${why === '' ? '' : `: ${why}`}); nothing more is known of the peer.`;
}
