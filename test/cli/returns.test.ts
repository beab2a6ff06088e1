/** Coming back after GOAWAY, presets, and what does not fit, as a user meets them. */
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEchoServer } from '../../src/server/echo-server.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { CommandUnderTest, objectsOf } from './command.ts';

const command = new CommandUnderTest();
const closers: (() => unknown)[] = [];
beforeAll(() => command.build());
afterAll(async () => {
  for (const close of closers) await close();
  await command.dispose();
});

const events = (stdout: string, type: string): Record<string, unknown>[] =>
  objectsOf(stdout).filter((event) => event.type === type);

/** A server at a fixed port that sends all its links away once, and is there again. */
async function restarting(retryAfterMs: number, links: number) {
  const first = createEchoServer();
  const { port } = (await first.listen()) as { port: number };
  const restarted = (async () => {
    while (first.links < links) await new Promise((resolve) => setTimeout(resolve, 10));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await first.close({ drainMs: 1_000, spreadMs: 0, retryAfterMs });
    const second = createEchoServer();
    closers.push(() => second.close());
    await second.listen(port);
    return second;
  })();
  return { address: `127.0.0.1:${port}`, restarted };
}

describe.concurrent('told to go', () => {
  test('ping says so in one line, with the time to stay away, and ends', async () => {
    const { address } = await restarting(30_000, 1);
    const { code, stdout } = await command.run(['ping', address, '-i', '100ms']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^GOAWAY from the peer: leaving, return after 30 s$/m);
    expect(stdout).toMatch(/^closed \(left\)/m);
  });

  test('ping --return waits as long as told, and goes on counting', async () => {
    const { address } = await restarting(1_000, 1);
    const { code, stdout } = await command.run([
      'ping',
      address,
      '-i',
      '100ms',
      '-c',
      '25',
      '--return',
      '--json',
    ]);
    expect(code).toBe(0);
    const [wait] = events(stdout, 'waiting');
    expect(wait).toMatchObject({ type: 'waiting', intervalMs: 100 });
    expect(wait!.waitMs).toBeGreaterThan(500);
    expect(wait!.waitMs).toBeLessThanOrEqual(1_500);
    const seqs = events(stdout, 'pong').map(({ seq }) => seq as number);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(new Set(seqs).size).toBe(25);
    expect(objectsOf(stdout).at(-1)).toMatchObject({ verdict: 'up', answered: 25 });
  });

  test('ping --return to a server that is gone: tried once, and its cause, code and diagnosis told', async () => {
    const server = createEchoServer();
    closers.push(() => server.close());
    const { port } = (await server.listen()) as { port: number };
    const args = ['ping', `127.0.0.1:${port}`, '-i', '100ms', '--return', '--diagnose', '--json'];
    const ping = command.start(args);
    await ping.saying(/"type":"pong"/);
    await server.close({ drainMs: 1_000, spreadMs: 0, retryAfterMs: 300 });
    const { code, stdout } = await ping.ended;
    expect(code).toBe(1);
    expect(events(stdout, 'waiting')).toHaveLength(1);
    expect(events(stdout, 'closed')).toHaveLength(2);
    expect(objectsOf(stdout).at(-1)).toMatchObject({
      verdict: 'unreachable',
      cause: 'peer-unreachable',
      code: 'ECONNREFUSED',
      diagnosis: { cause: 'peer-unreachable' },
    });
  });

  test('ping --return, interrupted while it stays away: it was not up', async () => {
    const { address } = await restarting(60_000, 1);
    const ping = command.start(['ping', address, '-i', '100ms', '--return']);
    const [, seconds] = await ping.saying(/^staying away for ([\d.]+ \w+)$/m);
    expect(seconds).toMatch(/^(1|1\.\d+) min$|^59\.\d+ s$/);
    ping.child.kill('SIGINT');
    expect(await ping.ended).toMatchObject({ code: 1, signal: null });
  });

  test('load --return counts told, returned and waited; without it they are lost', async () => {
    const load = (address: string, ...more: string[]) =>
      command.run(['load', address, '--links', '8', '-i', '200ms', '--duration', '4s', '--json', ...more]);
    const { address } = await restarting(1_000, 8);
    const { code, stdout } = await load(address, '--return');
    expect(objectsOf(stdout).at(-1)).toMatchObject({
      connected: 8,
      told: 8,
      returned: 8,
      lost: {},
      failed: {},
    });
    const { waited } = objectsOf(stdout).at(-1) as { waited: { p50Ms: number; maxMs: number } };
    expect(waited.p50Ms).toBeGreaterThan(300);
    expect(waited.maxMs).toBeLessThanOrEqual(1_501);
    expect(code).toBe(0);
    const other = await restarting(1_000, 8);
    const lost = await load(other.address);
    expect(lost.code).toBe(1);
    expect(objectsOf(lost.stdout).at(-1)).toMatchObject({ lost: { left: 8 }, told: 0 });
  });

  test('serve --retry-after is what its clients are told', async () => {
    const { server, address } = await command.serve('--retry-after', '90s');
    const ping = command.start(['ping', address, '-i', '100ms']);
    await ping.saying(/seq=1 /);
    server.child.kill('SIGTERM');
    const { stdout } = await ping.ended;
    expect(stdout).toContain('GOAWAY from the peer: leaving, return after 1.5 min\n');
    expect((await server.ended).stdout).toContain('GOAWAY to 1 link, up to 5 s to drain\n');
  });
});

describe.concurrent('presets', () => {
  test.each<[args: string[], intervalMs: number, deadAfter: number]>([
    [['--preset', 'lan'], 10_000, 3],
    [['--preset', 'dense-gateway'], 45_000, 2],
    [['--preset', 'cross-site', '-i', '200ms'], 200, 4],
    [['--preset', 'cross-site', '--dead-after', '7'], 5_000, 7],
    [[], 1_000, 3],
  ])('ping %j', async (args, intervalMs, deadAfter) => {
    const { address } = await shared();
    const { stdout, stderr } = await command.run(['ping', address, '-c', '1', '--json', ...args]);
    expect(stderr).toBe('');
    expect(objectsOf(stdout)[0]).toMatchObject({ type: 'start', intervalMs, deadAfter });
  });

  test('serve and load', async () => {
    const { server } = await command.serve('--preset', 'behind-nat', '--json');
    expect(objectsOf(server.stdout)[0]).toMatchObject({ type: 'listening', intervalMs: 20_000 });
    const { address } = await shared();
    const args = [
      'load',
      address,
      '--links',
      '1',
      '--duration',
      '10ms',
      '--preset',
      'public-client',
      '--json',
    ];
    const { stdout } = await command.run(args);
    expect(objectsOf(stdout)[0]).toMatchObject({ type: 'start', intervalMs: 30_000 });
  });

  let server: Promise<{ address: string }> | undefined;
  function shared(): Promise<{ address: string }> {
    server ??= command.serve();
    return server;
  }
});

describe.concurrent('what does not fit', () => {
  test('an interval that does not keep the path open: exit 2, option and numbers in one line', async () => {
    for (const [name, ...args] of [['ping', '1'], ['load', '1'], ['serve']]) {
      const all = [name as string, ...args, '--interval', '30s', '--path-idle-limit', '30s'];
      const { code, stdout, stderr } = await command.run(all);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(
        /^wirebeat: --interval must be below [^\n]*\(30 s\), better half of it, got 30 s: [^\n]*\n$/,
      );
    }
  });

  test('a doubtful one: a warning on stderr, and on it goes; with --json as an object', async () => {
    const { address } = await command.serve();
    const args = ['ping', address, '-c', '1', '--dead-after', '1'];
    const text = await command.run(args);
    expect(text).toMatchObject({ code: 0 });
    expect(text.stderr).toBe(
      'wirebeat: warning: --dead-after 1 leaves no time to ask again: 1 s of silence are death\n',
    );
    const json = await command.run([...args, '--json']);
    expect(objectsOf(json.stderr)).toMatchObject([
      { type: 'warning', code: 'single-miss', option: '--dead-after' },
    ]);
  });

  test('the defaults of all commands fit', async () => {
    const { server, address } = await command.serve();
    const { stderr } = await command.run(['load', address, '--links', '1', '--duration', '10ms']);
    expect([server.stderr, stderr]).toEqual(['', '']);
  });
});

describe.concurrent('ping without --tls', () => {
  test('to a service that speaks TLS and closes without a word: a hint', async () => {
    const server = createTlsServer(TEST_TLS.server);
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { code, stdout } = await command.run(['ping', `127.0.0.1:${port}`, '-c', '1']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^not reached \([^\n]*if it speaks TLS, say --tls$/m);
  });

  test('to one that answers with a TLS alert: it says so', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(Buffer.from('15030100020246', 'hex')));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { stdout } = await command.run(['ping', `127.0.0.1:${port}`, '-c', '1']);
    expect(stdout).toMatch(/^not reached \([^\n]*; it speaks TLS: say --tls$/m);
  });
});

test('ping says how long a first answer may take, where that is longer than the silence it bears later', async () => {
  const server = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const { port } = server.address() as { port: number };
  const { stdout } = await command.run(['ping', `127.0.0.1:${port}`, '-i', '200ms', '-W', '5s']);
  expect(stdout).toContain('dead after 600 ms of silence (1.4 s before the first answer)\n');
  expect(stdout).toMatch(/^suspect: silent for \d+ ms, dead at 1\.4 s$/m);
  expect(stdout).toMatch(/^dead \(never-answered\): silent for 1\.\d+ s, limit 1\.4 s/m);
});
