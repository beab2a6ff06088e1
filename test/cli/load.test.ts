/** `load` as a user runs it: against the reference server, against services that fail it, and killed under way. */
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEchoServer } from '../../src/server/echo-server.ts';
import { sized } from '../support/sizes.ts';
import { CommandUnderTest, objectsOf, type Running } from './command.ts';
import { tlsFiles } from './tls-files.ts';

const command = new CommandUnderTest();
const closers: (() => unknown)[] = [];
beforeAll(() => command.build());
afterAll(async () => {
  for (const close of closers) await close();
  await command.dispose();
});

function summaryIn(stdout: string): Record<string, unknown> {
  return objectsOf(stdout).at(-1)!;
}

async function stop({ child, ended }: Running): Promise<string> {
  child.kill('SIGTERM');
  return (await ended).stdout;
}

describe.concurrent('load', () => {
  test('holds its links, says what it saw, exits 0; the server saw them leave, and none fail', async () => {
    const { server, address } = await command.serve('-q', '--json');
    const { code, stdout, stderr } = await command.run([
      'load',
      address,
      '--links',
      '50',
      '-i',
      '300ms',
      '--duration',
      '2s',
      '--json',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const events = objectsOf(stdout);
    expect(events[0]).toMatchObject({ type: 'start', target: address, links: 50 });
    expect(events.filter(({ type }) => type === 'progress').length).toBeGreaterThanOrEqual(1);
    const summary = events.at(-1)!;
    expect(summary).toMatchObject({
      type: 'summary',
      connected: 50,
      failed: {},
      lost: {},
      unanswered: 0,
      falseVerdicts: 0,
    });
    // 2 s at 0.75 to 1 interval between frames, one in three of them an answer to the server.
    expect(summary.sent).toBeGreaterThanOrEqual(50 * 4);
    expect(summary.answered).toBe(summary.sent);
    // The warm-up is half of it; some of what was sent then answers the server's own questions.
    expect(summary.beats).toBeGreaterThanOrEqual(50 * 2);
    expect((summary.rtt as { p50Ms: number }).p50Ms).toBeGreaterThan(0);
    expect(summary.bytesPerLink).toBeGreaterThan(0);
    // One more: it asks once whether somebody answers before it begins.
    const seen = summaryIn(await stop(server));
    expect(seen).toMatchObject({ served: 51, dead: 0 });
    // The server may be told to stop before it has read the last one's GOAWAY: then it ends that link itself. Or it
    // writes to a link that was reset behind its GOAWAY before it reads that.
    const {
      left = 0,
      local = 0,
      'peer-unreachable': reset = 0,
      ...other
    } = seen.closed as Record<string, number>;
    expect([left + local + reset, other]).toEqual([51, {}]);
    expect(left).toBeGreaterThanOrEqual(45);
  });

  test('for people: a line per second and a summary; -q only the summary', async () => {
    const { server, address } = await command.serve('-q');
    const args = ['load', address, '--links', '3', '-i', '200ms', '--end', 'leave'];
    const [told, quiet] = await Promise.all([
      command.run([...args, '--duration', '1200ms']),
      command.run([...args, '--duration', '600ms', '-q']),
    ]);
    expect([told.code, quiet.code]).toEqual([0, 0]);
    expect(told.stdout).toMatch(
      /^LOAD .*: 3 links, .*\n {3}1 s: 3 links, 0 failed, 0 lost, \d+ answers\/s, rtt p50 /,
    );
    expect(quiet.stdout).toMatch(
      /^connected 3 of 3 in .*\npings .* sent, .* answered, 0 unanswered; 0 skipped\nverdicts 0 false, 0 true\nrtt p50/,
    );
    expect(quiet.stdout).toMatch(
      /\nbeats \d+ in .* after warm-up, \d+ late by more than 2 ticks.*\nmemory [\d.]+ KiB per link/,
    );
    await stop(server);
  });

  test('Ctrl-C while connecting and while measuring: an orderly end, the summary, the verdict so far', async () => {
    const { server, address } = await command.serve('-q', '--json');
    const connecting = command.start(['load', address, '--links', '2000', '--rate', '20', '--json']);
    const measuring = command.start(['load', address, '--links', '5', '-i', '200ms', '--json']);
    await Promise.all([connecting.saying(/"connecting":\d/), measuring.saying(/"seconds":1/)]);
    for (const { child } of [connecting, measuring]) child.kill('SIGINT');
    const [first, second] = await Promise.all([connecting.ended, measuring.ended]);
    expect([first.code, first.stderr, second.code, second.stderr]).toEqual([0, '', 0, '']);
    expect(summaryIn(first.stdout).connected).toBeLessThan(200);
    expect(summaryIn(second.stdout)).toMatchObject({ connected: 5 });
    // What was under way at the moment of Ctrl-C is one question per link at most.
    expect(summaryIn(second.stdout).unanswered).toBeLessThanOrEqual(5);
    expect(summaryIn(await stop(server))).toMatchObject({ dead: 0 });
  });

  test.each([
    ['IPv6', ['--host', '::1']],
    ['a unix socket', ['--unix', 'SOCKET']],
    ['mutual TLS', ['TLS']],
  ])('over %s', async (_what, asked) => {
    const { ca, own } = tlsFiles(command.folder, `load-${asked[0]}`);
    const isTls = asked[0] === 'TLS';
    const path = join(command.folder, 'load.sock');
    const args = isTls ? [...ca, ...own] : asked.map((arg) => (arg === 'SOCKET' ? path : arg));
    const { server, address } = await command.serve('-q', ...args);
    const flags = isTls ? [...ca, ...own] : [];
    const { code, stdout, stderr } = await command.run([
      'load',
      address,
      '--links',
      '20',
      '-i',
      '300ms',
      '--duration',
      '700ms',
      '--json',
      ...flags,
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(summaryIn(stdout)).toMatchObject({ connected: 20, unanswered: 0 });
    await stop(server);
  });

  test('--spread goes to several loopback addresses in turn', async () => {
    const server = createEchoServer();
    closers.push(() => server.close());
    const { port } = (await server.listen({ host: '0.0.0.0' })) as AddressInfo;
    const seen = new Map<string, number>();
    server.hub.on('up', (link) => {
      const to = link.socket.localAddress!;
      seen.set(to, (seen.get(to) ?? 0) + 1);
    });
    const { code } = await command.run([
      'load',
      `127.0.0.1:${port}`,
      '--links',
      '9',
      '--spread',
      '3',
      '--duration',
      '200ms',
      '-q',
    ]);
    expect(code).toBe(0);
    expect([...seen].sort()).toEqual([
      ['127.0.0.1', 4],
      ['127.0.0.2', 4],
      ['127.0.0.3', 4],
    ]);
  });
});

describe.concurrent('load, when it is not well', () => {
  test('a server that dies under it: all links lost, none falsely, exit 1, no wait for the duration', async () => {
    const { server, address } = await command.serve('-q');
    const load = command.start([
      'load',
      address,
      '--links',
      '20',
      '-i',
      '200ms',
      '--duration',
      '10m',
      '--json',
    ]);
    await load.saying(/"seconds":1/);
    server.child.kill('SIGKILL');
    const { code, stdout } = await load.ended;
    const summary = summaryIn(stdout);
    expect(code).toBe(1);
    expect(Object.values(summary.lost as object).reduce((sum, n) => sum + n, 0)).toBe(20);
    expect(summary.falseVerdicts).toBe(0);
  });

  test('a server that stops answering some links and not others: those verdicts are false', async () => {
    const server = createEchoServer();
    closers.push(() => server.close());
    const { port } = (await server.listen()) as AddressInfo;
    const load = command.start([
      'load',
      `127.0.0.1:${port}`,
      '--links',
      '10',
      '-i',
      '200ms',
      '--duration',
      '3s',
      '--json',
    ]);
    await load.saying(/"seconds":1/);
    for (const link of [...server.hub.links()].slice(0, 4)) link.pause();
    const { code, stdout } = await load.ended;
    expect(code).toBe(1);
    const { falseVerdicts, trueVerdicts, lost } = summaryIn(stdout);
    // A server with an interval of 15 s that does not read says nothing for long enough.
    expect({ falseVerdicts, trueVerdicts }).toEqual({ falseVerdicts: 4, trueVerdicts: 0 });
    // At so short an interval not every verdict has its evidence in time, where the kernel's table is all there is.
    const { 'process-hung': hung = 0, 'link-dead': unknown = 0, ...others } = lost as Record<string, number>;
    expect([hung + unknown, others]).toEqual([4, {}]);
  });

  test('connections refused by a limit are failures by code, exit 1', async () => {
    const { server, address } = await command.serve('-q', '--max-links', '5');
    const { code, stdout } = await command.run([
      'load',
      address,
      '--links',
      '8',
      '-i',
      '200ms',
      '--duration',
      '500ms',
      '--json',
    ]);
    expect(code).toBe(1);
    expect(summaryIn(stdout)).toMatchObject({ connected: 5, failed: { HB_ERR_CLOSED: 3 }, lost: {} });
    await stop(server);
  });

  test('nobody listens there: one line, exit 1, nothing opened', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    await new Promise((resolve) => holder.close(resolve));
    const { code, stdout, stderr } = await command.run(['load', `127.0.0.1:${port}`]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^wirebeat: 127\.0\.0\.1:\d+ closed before the link was up .*ECONNREFUSED[^\n]*\n$/,
    );
  });

  test('too few descriptors are found out beforehand, exit 2', async () => {
    const { code, stdout, stderr } = await command.shell(
      'ulimit -n 300; wirebeat load 127.0.0.1:7400 --links 1000',
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe('wirebeat: 1 000 links need 1 100 descriptors, limit 300 (ulimit -n)\n');
  });

  test('load | head ends quietly', async () => {
    const { server, address } = await command.serve('-q');
    const { stdout, stderr } = await command.shell(
      `wirebeat load ${address} --links 3 -i 200ms | head -1; echo "status \${PIPESTATUS[0]}"`,
    );
    expect({ stdout: stdout.replace(/^LOAD .*\n/, ''), stderr }).toEqual({
      stdout: 'status 0\n',
      stderr: '',
    });
    await stop(server);
  });
});

describe('load killed under way', () => {
  const rounds = sized(50, 5);

  test(`${rounds} times kill -9: the server's links are back at 0, and no descriptor is left`, {
    timeout: 20_000 + 2_000 * rounds,
  }, async () => {
    const server = command.start(['serve', '--port', '0', '--json', '-q'], {}, 120_000);
    const [, address] = await server.saying(/"address":"([^"]+)"/);
    const descriptors = (): number => readdirSync(`/proc/${server.child.pid}/fd`).length;
    const atRest = descriptors();
    for (let round = 0; round < rounds; round++) {
      const load = command.start([
        'load',
        address!,
        '--links',
        '200',
        '-i',
        '100ms',
        '--rate',
        '5000',
        '--json',
      ]);
      // At a different moment each time: while connecting, or later.
      await load.saying(/"type":"start"/);
      await delay(20 + 60 * (round % 8));
      load.child.kill('SIGKILL');
      expect((await load.ended).signal).toBe('SIGKILL');
    }
    await expect.poll(descriptors, { timeout: 5_000 }).toBe(atRest);
    expect(connectionsOf(address!)).toBe(0);
    const summary = summaryIn(await stop(server));
    expect(summary.dead).toBe(0);
    expect(objectsOf(server.stdout).find(({ type }) => type === 'draining')).toMatchObject({ links: 0 });
  });
});

/** Established connections to this IPv4 port, as the kernel lists them. */
function connectionsOf(address: string): number {
  const port = Number(address.split(':')[1]).toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return rows.filter((row) =>
    new RegExp(`^ *\\d+: [0-9A-F]{8}:${port} [0-9A-F]{8}:[0-9A-F]{4} 01 `).test(row),
  ).length;
}
