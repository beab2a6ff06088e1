/**
 * What the kernel knows of links in trouble, and of no others. With native access: TCP_INFO at the moment it is
 * asked. Without, on Linux: /proc/net/tcp, which is one text with all connections of the machine, so it is read in
 * the background, while some link is suspect, one read for all suspects, and never for more than a twentieth of the
 * time. Elsewhere: nothing.
 *
 * Cost, measured on two busy cores with 19 000 sockets: one read takes 0.12 to 0.2 s and 140 ms of processor time, in
 * 700 pieces and mostly in the thread pool; so it is read every 2.5 to 4 s. With 200 sockets: 8 ms, every 160 ms. A
 * verdict never waits for it.
 */
import type { Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';
import type { HostTimer, TimerHost } from '../../time/scheduler.ts';
import { type NativeSockets, nativeSockets, socketFd } from '../native/native.ts';
import type { KernelFigures } from './evidence.ts';
import { type ProcPlace, type ProcTable, procPlace } from './proc-net.ts';
import { type ReadTable, readProcTable } from './proc-reader.ts';
import { readTcpInfo, takeSocketError } from './tcp-info.ts';

/** Figures, and when they were true, ms on the hub's clock. */
export interface Sample {
  readonly figures: KernelFigures;
  readonly takenMs: number;
}

/** A link in trouble. */
export interface Suspect {
  readonly socket: Socket;
  readonly session: { readonly state: string };
}

/** Everything this depends on. */
export interface KernelAccess {
  /** Loaded when first needed. */
  readonly native: () => NativeSockets | undefined;
  /** Undefined: no such table here. */
  readonly readTable: ReadTable | undefined;
}

const isLinux = process.platform === 'linux';

export const KERNEL_ACCESS: KernelAccess = {
  native: isLinux ? nativeSockets : () => undefined,
  readTable: isLinux ? readProcTable : undefined,
};

/** A suspect has just been asked: by then even a delayed acknowledgement (40 ms on Linux) is here. */
const FIRST_READ_MS = 60;
const LEAST_PAUSE_MS = 100;
/** Pause between reads, in durations of the last one. */
const PAUSE_FACTOR = 20;
/** After a read that failed for want of something (EMFILE, ENOMEM) there may be enough of it a little later. */
const PAUSE_AFTER_ERROR_MS = 1_000;
/** Whoever has no table here, or may not read it, never will. */
const LASTING_ERRORS: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EACCES', 'EPERM']);

class Watched {
  readonly suspect: Suspect;
  readonly place: ProcPlace | undefined;
  newest: Sample | undefined;

  constructor(suspect: Suspect, place: ProcPlace | undefined) {
    this.suspect = suspect;
    this.place = place;
  }

  /** The table tells no time of the newest acknowledgement: it lies between two samples. */
  takeProc(figures: KernelFigures, nowMs: number): void {
    const before = this.newest;
    let ackedMs = -Infinity;
    if (figures.unackedBytes === 0) ackedMs = nowMs;
    else if (before !== undefined && before.figures.unackedBytes > figures.unackedBytes)
      ackedMs = before.takenMs;
    else if (before?.figures.ackAgeMs !== undefined) ackedMs = before.takenMs - before.figures.ackAgeMs;
    const ackAgeMs = ackedMs === -Infinity ? undefined : Math.round(nowMs - ackedMs);
    this.newest = { figures: { ...figures, ackAgeMs }, takenMs: nowMs };
  }
}

export class KernelEvidence {
  readonly #access: KernelAccess;
  readonly #timers: TimerHost;
  readonly #now: () => number;
  readonly #watched = new Map<Socket, Watched>();
  #timer: HostTimer | undefined;
  #isReading = false;
  /** The table can never be read here. */
  #isBlind = false;

  constructor(access: KernelAccess, timers: TimerHost, now: () => number) {
    this.#access = access;
    this.#timers = timers;
    this.#now = now;
  }

  /** Links under watch. */
  get size(): number {
    return this.#watched.size;
  }

  /** From now on the newest figures of this link are kept. */
  watch(suspect: Suspect): void {
    if (this.#watched.has(suspect.socket)) return;
    this.#watched.set(suspect.socket, new Watched(suspect, procPlace(suspect.socket)));
    if (this.#timer === undefined && !this.#isReading) this.#readIn(FIRST_READ_MS);
  }

  forget(socket: Socket): void {
    if (!this.#watched.delete(socket) || this.#watched.size > 0 || this.#timer === undefined) return;
    this.#timers.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** What the kernel says now, or said last of a link under watch. */
  newest(socket: Socket): Sample | undefined {
    const watched = this.#watched.get(socket);
    const figures = this.figures(socket);
    if (figures === undefined) return watched?.newest;
    const sample = { figures, takenMs: this.#now() };
    if (watched !== undefined) watched.newest = sample;
    return sample;
  }

  /** What the kernel says now; undefined without native access, or when the socket has no descriptor any more. */
  figures(socket: Socket): KernelFigures | undefined {
    const fd = socketFd(socket);
    const native = fd === undefined ? undefined : this.#access.native();
    return native === undefined ? undefined : readTcpInfo(native, fd as number);
  }

  /** What a router told by ICMP, as a code (`EHOSTUNREACH`). Only for a socket about to be destroyed. */
  takeError(socket: Socket): string | undefined {
    const fd = socketFd(socket);
    const native = fd === undefined ? undefined : this.#access.native();
    const errno = native === undefined ? 0 : takeSocketError(native, fd as number);
    return errno > 0 ? getSystemErrorName(-errno) : undefined;
  }

  #readIn(delayMs: number): void {
    if (this.#access.readTable === undefined || this.#isBlind || this.#access.native() !== undefined) return;
    this.#timer = this.#timers.setTimeout(() => this.#read(), delayMs);
    this.#timer.unref(); // evidence for links that somebody else keeps
  }

  #read(): void {
    this.#timer = undefined;
    const startedMs = this.#now();
    const byKey = new Map<string, Watched>();
    const keys: Record<ProcTable, Set<string>> = { tcp: new Set(), tcp6: new Set() };
    for (const watched of this.#watched.values()) {
      if (watched.place === undefined || watched.suspect.session.state !== 'suspect') continue;
      keys[watched.place.table].add(watched.place.key);
      byKey.set(watched.place.key, watched);
    }
    let leastPauseMs = LEAST_PAUSE_MS;
    const tables = (['tcp', 'tcp6'] as const).filter((table) => keys[table].size > 0);
    const next = (): void => {
      const table = tables.pop();
      if (table === undefined) this.#ended(Math.max(leastPauseMs, PAUSE_FACTOR * (this.#now() - startedMs)));
      else
        this.#access.readTable?.(table, keys[table], found, (error) => {
          if (error !== null) leastPauseMs = PAUSE_AFTER_ERROR_MS;
          if (LASTING_ERRORS.has(error?.code)) this.#isBlind = true;
          next();
        });
    };
    const found = (key: string, figures: KernelFigures): void =>
      byKey.get(key)?.takeProc(figures, this.#now());
    this.#isReading = true;
    next();
  }

  #ended(pauseMs: number): void {
    this.#isReading = false;
    if (this.#watched.size > 0) this.#readIn(pauseMs);
  }
}
