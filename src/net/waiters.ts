/** Those who wait for a link to come up or to close. Made only when somebody waits. */
import type { ClosedDetail } from './events.ts';

export class Waiters {
  #up: ((isUp: boolean) => void)[] = [];
  #closed: ((detail: ClosedDetail) => void)[] = [];

  up(): Promise<boolean> {
    return new Promise((resolve) => this.#up.push(resolve));
  }

  closed(): Promise<ClosedDetail> {
    return new Promise((resolve) => this.#closed.push(resolve));
  }

  settleUp(isUp: boolean): void {
    for (const resolve of this.#up) resolve(isUp);
    this.#up = [];
  }

  settleClosed(detail: ClosedDetail): void {
    this.settleUp(false);
    for (const resolve of this.#closed) resolve(detail);
    this.#closed = [];
  }
}
