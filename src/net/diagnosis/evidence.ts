/** The shapes of a diagnosis: what it says, and what it is founded on. */
import type { Cause } from '../../session/causes.ts';

export type Confidence = 'certain' | 'likely' | 'guess';

/** Why a link is silent or over. The rules stand in spec/DIAGNOSIS.md. */
export interface Diagnosis {
  readonly cause: Cause;
  readonly confidence: Confidence;
  readonly evidence: Evidence;
  /** One sentence for whoever is on call. */
  readonly sentence: string;
}

/** What the diagnosis rests on. Ages in ms at that moment; undefined: not known, or there is none. */
export interface Evidence {
  /** Where the kernel's figures are from; clocks: there are none, only our own clocks. */
  readonly source: 'tcp-info' | 'proc' | 'clocks';
  /** The connection stands, or once stood; false: it never did, and there was nobody to ask, no clock to read. */
  readonly stood: boolean;
  /** How old the kernel's figures were. */
  readonly kernelAgeMs: number | undefined;
  /** Age of the last life, and of our last send. */
  readonly silentMs: number;
  readonly quietMs: number;
  /** Since when the bytes queued in this process have not moved; undefined: nothing is queued. */
  readonly writeProgressAgeMs: number | undefined;
  /** Since when the peer's application has not said that it is well; undefined: it never did, or is not asked. */
  readonly businessOkAgeMs: number | undefined;
  /** Since when a question sent after the last life has been in the kernel. */
  readonly askedAgeMs: number | undefined;
  /** Since when nothing we asked has been answered. */
  readonly unansweredMs: number | undefined;
  /** Bytes that wait in this process for the kernel to take them. */
  readonly queuedBytes: number;
  /** Bytes in our kernel that the peer's has not acknowledged, unsent ones included; by TCP_INFO: give or take one. */
  readonly unackedBytes: number | undefined;
  /** Age of the newest acknowledgement known of. */
  readonly ackAgeMs: number | undefined;
  /** Retransmissions in a row, without an answer. */
  readonly retransmits: number | undefined;
  /** The peer's kernel takes no more bytes, because its process does not read. */
  readonly windowClosed: boolean | undefined;
  /** Probes of a closed window so far, and probes of any kind in a row without an answer. */
  readonly zeroWindowProbes: number | undefined;
  readonly unansweredProbes: number | undefined;
  /** Round trip to the peer's process and to its kernel; NaN before the first measurement. */
  readonly rttMs: number;
  readonly kernelRttMs: number | undefined;
  /** The worst this process itself was late since the last life. */
  readonly ownLagMs: number;
}

/** What the kernel tells of one connection. Times in ms; undefined: this source does not tell. */
export interface KernelFigures {
  readonly source: 'tcp-info' | 'proc';
  /** `established`, `close-wait` and so on. */
  readonly state: string;
  readonly unackedBytes: number;
  readonly retransmits: number;
  readonly windowClosed: boolean;
  readonly zeroWindowProbes: number;
  readonly unansweredProbes: number;
  /** Age of the newest segment that acknowledged anything, new or not. */
  readonly ackAgeMs: number | undefined;
  /** Age of the last data received. */
  readonly dataAgeMs: number | undefined;
  /** Smoothed round trip to the peer's kernel, its deviation, the least of the last minutes, and the time-out. */
  readonly rttMs: number | undefined;
  readonly rttvarMs: number | undefined;
  readonly rttMinMs: number | undefined;
  readonly rtoMs: number | undefined;
  /** Since the connection began. */
  readonly totalRetransmits: number | undefined;
  readonly ackedBytes: number | undefined;
  /** Part of `unackedBytes` that was not sent yet. */
  readonly unsentBytes: number | undefined;
}

/** The kernel's names of a connection's state, by number; shared by TCP_INFO and /proc/net/tcp. */
const STATES = [
  'unknown',
  'established',
  'syn-sent',
  'syn-received',
  'fin-wait-1',
  'fin-wait-2',
  'time-wait',
  'closed',
  'close-wait',
  'last-ack',
  'listening',
  'closing',
];

export function stateName(number: number): string {
  return STATES[number] ?? 'unknown';
}
