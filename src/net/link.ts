/**
 * The public face of a watched connection: what a host may ask of it. What happens to it stands in `link-core`.
 */
import type { Socket } from 'node:net';
import { WirebeatError } from '../base/errors.ts';
import { goAwayWord } from '../session/goaway.ts';
import type { LinkState } from '../session/states.ts';
import type { Diagnosis, KernelFigures } from './diagnosis/evidence.ts';
import type { ClosedDetail } from './events.ts';
import { LinkCore } from './link-core.ts';
import { linkStats } from './link-stats.ts';
import { checkLeaveOptions, checkRates } from './options.ts';
import type { LeaveOptions, Link, LinkRates, LinkStats } from './types.ts';
import { Waiters } from './waiters.ts';

export class SocketLink extends LinkCore implements Link {
  asLink(): SocketLink {
    return this;
  }

  get state(): LinkState {
    return this.session.state;
  }

  get detectionTimeMs(): number {
    return this.session.detectionTimeMs;
  }

  get detectionBoundMs(): number {
    return this.session.detectionBoundMs(this.hub.lateness.score(this.hub.now()));
  }

  /** How long the kernel must wait so that it never judges before us, ms: the bound, and one interval more. */
  get kernelPatienceMs(): number {
    return Math.ceil(this.detectionBoundMs + this.session.limits.rxIntervalMs);
  }

  write(wholeFrame: Uint8Array): boolean {
    if (!(wholeFrame instanceof Uint8Array)) throw new TypeError('wholeFrame must be a Uint8Array');
    if (this.channel === undefined) {
      throw new WirebeatError(
        'HB_ERR_NO_HOST',
        'this link carries heartbeats only: attach with a host protocol to write',
      );
    }
    if (wholeFrame.length === 0) return !this.socket.writableNeedDrain;
    return this.writeHost(wholeFrame, undefined);
  }

  pause(): void {
    if (this.isOver) return; // the socket may be somebody else's by now
    this.isPaused = true;
    this.socket.pause();
    this.session.pause(this.hub.now());
    this.rearm();
  }

  resume(): void {
    if (this.isOver) return;
    this.isPaused = false;
    this.socket.resume();
    this.session.resume(this.hub.now());
    this.rearm();
  }

  setDegraded(value: boolean): void {
    if (typeof value !== 'boolean') throw new TypeError('value must be true or false');
    this.tellLevel(value);
  }

  setRates(rates: LinkRates): void {
    if (!this.session.setRates(checkRates(rates), this.hub.now())) {
      throw new WirebeatError('HB_ERR_NOT_NEGOTIATING', 'this link was not attached with negotiate: true');
    }
    this.rearm();
  }

  leave(options: LeaveOptions = {}): Promise<void> {
    const { reason, retryAfterMs, drainMs } = checkLeaveOptions(options);
    const closed = this.whenClosed().then(() => {});
    if (this.isOver) return closed;
    try {
      if (!this.isOpen) this.destroy();
      else this.session.departure.leave(goAwayWord(reason, retryAfterMs), drainMs, this.hub.now());
      return closed;
    } catch (error) {
      return closed.then(() => Promise.reject(error)); // a listener threw: the link leaves all the same
    } finally {
      this.rearm();
    }
  }

  destroy(detail: ClosedDetail = { cause: 'local' }): void {
    this.finish(this.ending ?? detail);
  }

  detach(): { socket: Socket; head: Uint8Array } {
    if (this.isOver) {
      throw new WirebeatError('HB_ERR_CLOSED', 'the link is closed; there is no socket to give back');
    }
    this.splitter.stop();
    this.outbound.endBatch(); // answers to what was delivered
    const gathered = this.channel?.takeUndelivered() ?? Buffer.alloc(0);
    const head = Buffer.concat([gathered, this.splitter.carried()]);
    this.socket.pause();
    this.patience?.release();
    this.finish({ cause: 'local', reason: 'detached' }, true);
    return { socket: this.socket, head };
  }

  stats(): LinkStats {
    return linkStats(this, this.hub.now());
  }

  kernel(): KernelFigures | undefined {
    return this.closed === undefined ? this.hub.examiner.figures(this.socket) : undefined;
  }

  diagnose(): Diagnosis {
    const end = this.closed ?? this.ending;
    const { examiner } = this.hub;
    return end === undefined ? examiner.examine(this, 'asked') : examiner.recall(this, end);
  }

  whenUp(): Promise<boolean> {
    if (this.session.heard) return Promise.resolve(true);
    if (this.isOver) return Promise.resolve(false);
    this.waiters ??= new Waiters();
    return this.waiters.up();
  }

  whenClosed(): Promise<ClosedDetail> {
    if (this.closed !== undefined) return Promise.resolve(this.closed);
    this.waiters ??= new Waiters();
    return this.waiters.closed();
  }
}
