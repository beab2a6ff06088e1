/** SIGTERM under load: every request sent before GOAWAY is answered, and the server is gone within its bound. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HeartbeatHub } from '../../src/net/hub.ts';
import type { Link } from '../../src/net/types.ts';
import { lengthPrefixedFrame, lengthPrefixedFrameLength } from '../../src/server/length-prefix.ts';
import { CommandUnderTest } from './command.ts';

const LINKS = 300;
const DRAIN_MS = 6_000;

const command = new CommandUnderTest();
const hub = new HeartbeatHub();
beforeAll(() => command.build());
afterAll(async () => {
  await hub.close();
  await command.dispose();
});

/** A client that always has requests under way; told to go, it sends no more, waits for its answers and leaves. */
class BusyClient {
  readonly link: Link;
  sent = 0;
  answered = 0;
  mismatches = 0;
  isTold = false;
  readonly #expected: Buffer[] = [];

  constructor(port: number) {
    this.link = hub.attach(connect(port, '127.0.0.1'), {
      context: this,
      intervalMs: 1_000,
      host: { frameLength: lengthPrefixedFrameLength, onFrame: (_link, bytes) => this.#onAnswer(bytes) },
    });
  }

  ask(): void {
    const frame = lengthPrefixedFrame(randomBytes(1 + (this.sent % 700)));
    this.#expected.push(frame);
    this.sent++;
    this.link.write(frame);
  }

  told(): void {
    this.isTold = true;
    this.#leaveWhenDone();
  }

  #onAnswer(bytes: Uint8Array): void {
    this.answered++;
    if (!this.#expected.shift()?.equals(bytes)) this.mismatches++;
    // A little later, so that requests are under way at every moment, and the machine is not.
    if (!this.isTold) setTimeout(() => this.isTold || this.ask(), 5 + (this.answered % 20));
    else this.#leaveWhenDone();
  }

  #leaveWhenDone(): void {
    if (this.answered === this.sent) void this.link.leave({ drainMs: 0 });
  }
}

test(`SIGTERM with ${LINKS} busy links: no answer is lost, GOAWAYs are spread, exit 0 in time`, async () => {
  const { server, address } = await command.serve('-q', '--drain', `${DRAIN_MS}ms`);
  const port = Number(address.split(':')[1]);
  const clients = Array.from({ length: LINKS }, () => new BusyClient(port));
  const toldAtMs: number[] = [];
  hub.on('leaving', (link, { by }) => {
    if (by !== 'peer') return;
    toldAtMs.push(performance.now());
    (link.context as BusyClient).told();
  });
  const closed = Promise.all(clients.map(({ link }) => link.whenClosed()));
  await Promise.all(clients.map(({ link }) => link.whenUp()));
  for (const client of clients) for (let count = 0; count < 3; count++) client.ask();
  await expect.poll(() => clients.every(({ answered }) => answered > 5), { timeout: 10_000 }).toBe(true);
  const startMs = performance.now();
  server.child.kill('SIGTERM');
  const { code, signal, stderr } = await server.ended;
  const tookMs = performance.now() - startMs;
  await closed;
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  expect(toldAtMs).toHaveLength(LINKS);
  expect(clients.filter(({ sent, answered }) => sent !== answered)).toEqual([]);
  expect(clients.filter(({ mismatches }) => mismatches > 0)).toEqual([]);
  // A quarter of the time to drain, less what the first and the last slot take.
  expect(toldAtMs.at(-1)! - toldAtMs[0]!).toBeGreaterThan(DRAIN_MS / 4 - 500);
  expect(tookMs).toBeLessThan(DRAIN_MS + 2_000);
});
