/**
 * One socket, one session, one wheel entry. Bytes go socket -> splitter -> session or host; frames go session ->
 * outbound -> socket; the wheel wakes the session when it asked to be. All rules live in the session: here they only
 * meet a real connection.
 *
 * Whatever ends a link, `finish` runs once: timer cancelled, listeners gone, socket destroyed (or given back), link
 * out of the hub, one `closed` event with the first cause recorded. Late events of the socket find no link.
 */
import type { Socket } from 'node:net';
import { WirebeatError } from '../base/errors.ts';
import { freshFrameLevel, spendFrame } from '../session/frame-rate.ts';
import { goAwayWord } from '../session/goaway.ts';
import type { SessionPolicy } from '../session/policy.ts';
import { NEEDS_POLL, Session } from '../session/session.ts';
import type { TimerHandle } from '../time/wheel.ts';
import { GoAwayReason, MAGIC_0, MAGIC_1 } from '../wire/constants.ts';
import { FrameSplitter } from '../wire/splitter.ts';
import type { SplitterCode, SplitterErrorDetail } from '../wire/splitter-options.ts';
import { failureEnding, frameRateEnding, queueEnding, streamEnding, TOO_FAST_RETRY_MS } from './endings.ts';
import type { ClosedDetail } from './events.ts';
import { type ChannelOwner, HostChannel } from './host-channel.ts';
import type { HubCore } from './hub-core.ts';
import type { SocketLink } from './link.ts';
import { LinkPort, type PortOwner } from './link-port.ts';
import { ATTACH_DEFAULTS } from './options.ts';
import { Outbound, type OutboundListener } from './outbound.ts';
import {
  discardSocket,
  disownSocket,
  openEvent,
  ownSocket,
  type SocketOwner,
  type WriteCallback,
} from './ownership.ts';
import { KernelPatience } from './tuning/user-timeout.ts';
import type { AttachOptions } from './types.ts';
import type { Waiters } from './waiters.ts';

/** After our last word the other side gets this long to end its own, and this much more is read and thrown away. */
export const LINGER_MS = 1_000;
const LINGER_BYTES = 2 ** 20;
/** A chunk with more pieces of host frames than this is enough for one turn of the loop: the others wait. */
const YIELD_AFTER_PIECES = 1_024;
/** The peer has ended, but takes our queued bytes: at most this long. */
const MAX_FLUSH_MS = 30_000;

export abstract class LinkCore implements PortOwner, SocketOwner, ChannelOwner, OutboundListener {
  readonly id: number;
  readonly context: unknown;
  readonly socket: Socket;
  readonly session: Session;
  readonly reserved: 'strict' | 'ignore';
  bytesReceived = 0;
  resyncBytes = 0;

  protected readonly hub: HubCore;
  protected readonly splitter: FrameSplitter;
  protected readonly channel: HostChannel | undefined;
  readonly outbound: Outbound;
  readonly #writesPieces: boolean;
  /** Our host's own word on its business; the hub's self check may add to it. */
  #isDegraded = false;
  readonly #maxQueuedBytes: number;
  readonly #maxFramesPerSecond: number;
  protected readonly patience: KernelPatience | undefined;
  #frameLevelMs: number;
  /** Pieces of host frames in the chunk being read. */
  #hostPieces = 0;
  #timer: TimerHandle = 0;
  #armedMs = Infinity;
  /** Set once the end is decided but the socket still flushes: the cause, and when patience ends. */
  protected ending: ClosedDetail | undefined;
  protected closed: ClosedDetail | undefined;
  #endByMs = Infinity;
  #lingerBytes = 0;
  protected waiters: Waiters | undefined;
  /** The host does not want to read. */
  protected isPaused = false;

  constructor(hub: HubCore, id: number, socket: Socket, policy: SessionPolicy, options: AttachOptions) {
    this.hub = hub;
    this.id = id;
    this.socket = socket;
    this.context = options.context;
    this.reserved = options.reserved ?? ATTACH_DEFAULTS.reserved;
    this.#maxQueuedBytes = options.maxQueuedBytes ?? ATTACH_DEFAULTS.maxQueuedBytes;
    this.#maxFramesPerSecond = options.maxFramesPerSecond ?? ATTACH_DEFAULTS.maxFramesPerSecond;
    if (options.userTimeout) this.patience = new KernelPatience(socket, options.userTimeout);
    this.#frameLevelMs = freshFrameLevel(hub.now());
    this.session = new Session(policy, new LinkPort(this, hub, options), hub.random);
    const { host } = options;
    this.#writesPieces = host?.outboundFrameLength !== undefined;
    this.channel = host && new HostChannel(this, this.asLink(), host, this.reserved);
    this.splitter = new FrameSplitter(this.channel ?? this);
    this.channel?.bind(this.splitter);
    this.outbound = new Outbound(socket, this, hub.memory, host?.outboundFrameLength?.bind(host));
    this.tellLevel(false);
    this.#start(options);
  }

  /** This link as hub and host know it. */
  abstract asLink(): SocketLink;

  /** The connection stands and the session runs, or did until its end. */
  get isOpen(): boolean {
    return this.#timer !== 0;
  }

  /** Ended, or only its end is still being carried out. */
  protected get isOver(): boolean {
    return this.closed !== undefined || this.ending !== undefined;
  }

  // ---- the wheel ---------------------------------------------------------

  /** The deadline asked for has come. `polled`: what had arrived by `readUpToMs` was read since. */
  wake(polled: boolean, readUpToMs?: number): void {
    const nowMs = this.hub.now();
    if (this.ending !== undefined) {
      if (nowMs >= this.#endByMs) this.finish(this.ending);
      else this.#armAt(this.#endByMs);
      return;
    }
    let next = Infinity;
    try {
      next = this.session.wake(nowMs, polled, readUpToMs);
    } catch (error) {
      next = this.session.deadline(nowMs); // a listener threw: this link is judged all the same
      throw error;
    } finally {
      if (!this.isOver) this.#armAt(next === NEEDS_POLL ? Infinity : next);
    }
    if (next === NEEDS_POLL && !this.isOver) this.hub.judgeAfterPoll(this.asLink());
  }

  /**
   * A later deadline is only noted: the wheel passes the timer on by itself, and a link is not woken, with all of it
   * long out of the processor's cache, to find that nothing is due.
   */
  #armAt(deadlineMs: number): void {
    this.#armedMs = deadlineMs;
    this.hub.scheduler.postpone(this.#timer, deadlineMs);
  }

  /** The machine slept: a fresh window, and a question `delayMs` from now. */
  resumed(nowMs: number, delayMs: number): void {
    if (!this.isOpen || this.isOver) return;
    this.session.resumed(nowMs, delayMs);
    this.rearm();
  }

  /** Our level is degraded when either the host of this link or the hub's self check says so. */
  tellLevel(isDegraded = this.#isDegraded): void {
    this.#isDegraded = isDegraded;
    this.session.setDegraded(isDegraded || this.hub.isDegraded, this.hub.now());
    this.rearm();
  }

  /** After whatever may have moved the deadline. */
  protected rearm(nowMs = this.hub.now()): void {
    if (!this.isOpen || this.isOver) return;
    const deadlineMs = this.session.deadline(nowMs);
    if (deadlineMs !== this.#armedMs) this.#armAt(deadlineMs);
  }

  // ---- for the session's port ---------------------------------------------

  get carriesNothingElse(): boolean {
    return this.channel === undefined;
  }

  /** The kernel waits for our verdict, if it was asked to: told anew whenever the verdict's time changes. */
  followVerdict(): void {
    this.patience?.set(this.asLink().kernelPatienceMs);
  }

  cameUp(): void {
    this.waiters?.settleUp(true);
  }

  die(detail: ClosedDetail, tell: () => void): void {
    this.ending = detail; // recorded before anybody is told, so that no listener can change it
    try {
      tell();
    } finally {
      this.finish(detail);
    }
  }

  // ---- the splitter's handler --------------------------------------------

  onFrame(flags: number, seq: number, timestamp: number): void {
    const { chunkMs } = this.hub;
    this.#frameLevelMs = spendFrame(this.#frameLevelMs, chunkMs, this.#maxFramesPerSecond);
    if (this.#frameLevelMs <= chunkMs) {
      this.session.receive(flags, seq, timestamp, chunkMs);
      return;
    }
    this.session.departure.farewell(goAwayWord(GoAwayReason.TooFast, TOO_FAST_RETRY_MS), chunkMs);
    this.endPolitely(frameRateEnding(this.#maxFramesPerSecond));
  }

  onHostBytes(_bytes: number): void {
    this.#hostPieces++;
    this.session.receiveHost(this.hub.chunkMs);
  }

  onSkipped(bytes: number): void {
    this.resyncBytes += bytes;
  }

  onError(code: SplitterCode, detail: SplitterErrorDetail): void {
    if (code === 'HB_ERR_TRUNCATED') return; // the end of the stream is told by its own cause
    const reason = code === 'HB_ERR_VERSION' ? GoAwayReason.Version : GoAwayReason.ProtocolError;
    this.session.departure.farewell(goAwayWord(reason, 0), this.hub.chunkMs);
    this.endPolitely({ cause: 'protocol-error', code, reason: `${detail.reason} at byte ${detail.offset}` });
  }

  // ---- the outbound side's listener --------------------------------------

  onFlushed(): void {
    this.session.flushed(this.hub.now());
  }

  onFree(): void {
    this.session.writable(this.hub.now());
    this.rearm();
  }

  hostWroteDirectly(bytes: Uint8Array, callback: WriteCallback | undefined): boolean {
    if (this.#writesPieces) return this.writeHost(bytes, callback);
    throw new WirebeatError(
      'HB_ERR_HOST_WRITE',
      'socket.write was called while a link owns the socket: use link.write(wholeFrame), ' +
        'or attach with host.outboundFrameLength',
    );
  }

  willEnd(): void {
    if (!this.socket.writableEnded) this.outbound.endBatch();
  }

  protected writeHost(bytes: Uint8Array, callback: WriteCallback | undefined): boolean {
    if (this.isOver) {
      if (callback !== undefined)
        process.nextTick(callback, new WirebeatError('HB_ERR_CLOSED', 'the link is over'));
      return false;
    }
    if (!this.#writesPieces && bytes[0] === MAGIC_0 && (bytes.length === 1 || bytes[1] === MAGIC_1)) {
      throw new WirebeatError(
        'HB_ERR_HOST_MAGIC',
        'a host frame must not begin with bytes 48 42, nor be the one byte 48',
      );
    }
    const hasRoom = this.outbound.writeHost(bytes, callback);
    const { queuedBytes } = this.outbound;
    if (queuedBytes > this.#maxQueuedBytes) {
      this.finish(queueEnding(queuedBytes, this.#maxQueuedBytes));
      return false;
    }
    if (bytes.length > 0) this.session.hostWrote(this.hub.now());
    if (!hasRoom) this.rearm(); // a blocked queue is looked at
    return hasRoom;
  }

  // ---- the socket --------------------------------------------------------

  #start(options: AttachOptions): void {
    const { socket } = this;
    if (options.head !== undefined && options.head.length > 0) {
      socket.pause(); // nothing is delivered before the caller has the link
      socket.unshift(options.head);
    }
    ownSocket(socket, this);
    if (options.noDelay ?? ATTACH_DEFAULTS.noDelay) socket.setNoDelay?.(true);
    const phase = options.firstPhase ?? this.hub.nextPhase();
    const connectEvent = openEvent(socket);
    if (connectEvent === undefined) this.#open(phase);
    else socket.once(connectEvent, () => this.#open(phase));
    socket.resume();
  }

  #open(phase: number): void {
    if (this.isOver || this.socket.destroyed) return;
    const nowMs = this.hub.now();
    this.session.open(nowMs, phase);
    this.followVerdict();
    const deadlineMs = this.session.deadline(nowMs);
    this.#armedMs = deadlineMs;
    this.#timer = this.hub.scheduler.arm(deadlineMs, this.asLink());
  }

  receive(chunk: Uint8Array): void {
    this.bytesReceived += chunk.length;
    if (this.ending !== undefined) {
      this.#lingerBytes += chunk.length;
      if (this.#lingerBytes > LINGER_BYTES) this.finish(this.ending);
      return;
    }
    this.hub.chunkMs = this.hub.now();
    this.#hostPieces = 0;
    this.outbound.beginBatch();
    try {
      this.splitter.push(chunk);
    } finally {
      if (this.closed === undefined) this.outbound.endBatch();
    }
    this.rearm(this.hub.chunkMs);
    if (this.#hostPieces > YIELD_AFTER_PIECES) this.#yield();
  }

  /** Node reads one busy socket many times in a row: not this one, until the others had their turn. */
  #yield(): void {
    if (this.isOver || this.socket.isPaused()) return;
    this.socket.pause();
    this.hub.scheduler.afterPoll(() => {
      if (!this.isOver && !this.isPaused) this.socket.resume();
    });
  }

  peerEnded(): void {
    if (this.ending !== undefined) return; // `close` follows once our side is flushed
    this.splitter.end();
    const flushMs = Math.min(this.session.detectionTimeMs, MAX_FLUSH_MS);
    const lingerMs = this.outbound.queuedBytes > 0 ? flushMs : LINGER_MS;
    this.endPolitely(streamEnding(this, this.hub.examiner), lingerMs);
  }

  socketFailed(error: NodeJS.ErrnoException): void {
    this.finish(this.ending ?? failureEnding(this, this.hub.examiner, error));
  }

  socketClosed(): void {
    this.finish(this.ending ?? { cause: 'local', reason: 'the socket was destroyed by its owner' });
  }

  /** Flush, end our side, and wait for the other at most `lingerMs`; what still comes in is thrown away. */
  endPolitely(detail: ClosedDetail, lingerMs: number = LINGER_MS): void {
    if (this.isOver) return;
    this.ending = detail;
    this.outbound.endBatch();
    this.splitter.stop();
    this.session.end();
    this.#endByMs = this.hub.now() + lingerMs;
    this.socket.end();
    this.socket.resume();
    if (this.#timer !== 0) this.#armAt(this.#endByMs);
    else this.#timer = this.hub.scheduler.arm(this.#endByMs, this.asLink());
  }

  finish(detail: ClosedDetail, keepSocket = false): void {
    if (this.closed !== undefined) return;
    this.closed = detail;
    const { socket } = this;
    this.splitter.stop();
    this.session.end();
    if (this.#timer !== 0) this.hub.scheduler.cancel(this.#timer);
    if (!socket.destroyed) this.outbound.endBatch(); // what was written before this, while a chunk was read
    disownSocket(socket, this.outbound.originalWrite);
    if (!keepSocket) discardSocket(socket);
    this.waiters?.settleClosed(detail);
    this.hub.release(this.asLink(), detail);
  }
}
