/**
 * F1-F4 on real sockets and in real time: the loop of the judging process is blocked by busy work for three times the
 * time-out, while 2 000 links lead to peers in another process that answer and judge nobody.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { Link } from '../../src/net/types.ts';
import { HubLog } from '../support/hub-log.ts';
import { programFrom, removePrograms } from '../support/programs.ts';
import { sized } from '../support/sizes.ts';
import { closeAll, eventually, later, tame } from '../support/sockets.ts';

afterEach(closeAll);
afterAll(removePrograms);

const INTERVAL_MS = 300;
const DEAD_AFTER = 3;
const LINKS = sized(2_000, 600);
const MORTAL = 5;

/** Nothing else in this process runs meanwhile. */
function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

async function responders(): Promise<{ port: number; kill: () => void }> {
  const script = await programFrom('test/support/responders.ts');
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  later(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(line.toString()), kill: () => child.kill('SIGUSR2') };
}

async function connected(port: number, isMortal: boolean): Promise<Socket> {
  const socket = tame(connect({ port, host: '127.0.0.1' }));
  await once(socket, 'connect');
  if (isMortal) socket.write('d');
  return socket;
}

test(`F1-F4: blocked for three time-outs with ${LINKS} links: none killed, the truly dead are found`, async () => {
  const { port, kill } = await responders();
  const log = new HubLog();
  const { hub } = log;
  const order: string[] = [];
  for (const event of ['self-late', 'suspect', 'dead'] as const) hub.on(event, () => order.push(event));
  const boundsMs = new Map<Link, number>();
  hub.on('dead', (link) => boundsMs.set(link, link.detectionBoundMs));
  const links: Link[] = [];
  const mortal = new Set<Link>();
  for (let made = 0; made < LINKS; made += 100) {
    const sockets = await Promise.all(
      Array.from({ length: 100 }, (_, index) => connected(port, made === 0 && index < MORTAL)),
    );
    for (const socket of sockets) {
      const link = hub.attach(socket, { intervalMs: INTERVAL_MS, deadAfter: DEAD_AFTER });
      if (mortal.size < MORTAL) mortal.add(link);
      links.push(link);
    }
  }
  await eventually(() => hub.stats().states.up === LINKS, 'all links up');
  await new Promise((resolve) => setTimeout(resolve, 2 * INTERVAL_MS));
  // A loaded machine may have made us late already; only what the stall does counts.
  const before = hub.stats();
  expect(before.dead).toBe(0);
  kill();
  const lateBefore = order.length;

  block(3 * DEAD_AFTER * INTERVAL_MS);
  const endedMs = hub.now();
  await eventually(() => [...mortal].every((link) => log.of('dead', link).length === 1), 'the dead found');

  // F3: lateness is told before anybody is accused.
  expect(order[lateBefore]).toBe('self-late');
  for (const link of mortal) {
    const [dead] = log.of('dead', link);
    expect(dead!.detail.cause).toBe('process-hung');
    // F4: within what is published, counted from when we could listen again; slack for a loaded machine.
    expect(dead!.atMs - endedMs).toBeLessThanOrEqual((boundsMs.get(link) ?? 0) + 500);
  }
  await new Promise((resolve) => setTimeout(resolve, 2 * INTERVAL_MS));
  const after = hub.stats();
  // F1, F2: nobody else was killed, although a judge by the clock alone would have killed nearly all of them.
  expect([after.dead, after.links]).toEqual([MORTAL, LINKS - MORTAL]);
  expect(log.of('dead').every(({ link }) => mortal.has(link))).toBe(true);
  expect(after.killsAverted - before.killsAverted).toBeGreaterThan(LINKS / 2);
  expect(after.worstLagMs).toBeGreaterThan(2 * DEAD_AFTER * INTERVAL_MS);
}, 60_000);
