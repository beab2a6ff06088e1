/** `serve` and `ping` as a user runs them, against each other and against peers that misbehave. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommandUnderTest, objectsOf } from './command.ts';
import { tlsFiles } from './tls-files.ts';

const command = new CommandUnderTest();
const listeners: Server[] = [];
const sockets = new Set<Socket>();
beforeAll(() => command.build());
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const listener of listeners) listener.close();
  await command.dispose();
});

/** A service that is none: what `greet` does is all it does. */
async function listenWith(greet: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    greet(socket);
  });
  listeners.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function stop({ child }: { child: { kill(signal: NodeJS.Signals): boolean } }): void {
  child.kill('SIGTERM');
}

describe.concurrent('serve and ping', () => {
  test('five RTT lines with fractions of a millisecond, 0 % loss, exit 0; SIGTERM ends serve with 0', async () => {
    const { server, address } = await command.serve();
    const { code, stdout, stderr } = await command.run(['ping', address, '-i', '400ms', '-c', '5']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^PING 127\.0\.0\.1:\d+: 16 bytes/);
    for (let seq = 1; seq <= 5; seq++) {
      expect(lines[seq]).toMatch(new RegExp(`^16 bytes from ${address}: seq=${seq} rtt=\\d+\\.\\d{3} ms$`));
    }
    expect(stdout).toMatch(/^5 sent, 5 answered, 0 % loss, time \d+ ms$/m);
    expect(stdout).toMatch(/^rtt min\/avg\/max\/mdev = [\d.]+\/[\d.]+\/[\d.]+\/[\d.]+ ms$/m);
    stop(server);
    const ended = await server.ended;
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.stdout).toMatch(
      /link 1 up from .*\nlink 1 GOAWAY from the peer: leaving\nlink 1 closed \(left\)/,
    );
    expect(ended.stdout).toMatch(/1 link served, 0 found dead\n$/);
  });

  test.each([
    ['IPv6', ['--host', '::1']],
    ['a unix socket', ['--unix', 'SOCKET']],
    ['heartbeats only', ['--mode', 'heartbeat']],
  ])('over %s', async (_what, args) => {
    const path = join(command.folder, 'echo.sock');
    const { server, address } = await command.serve(...args.map((arg) => (arg === 'SOCKET' ? path : arg)));
    const { code, stdout } = await command.run(['ping', address, '-c', '1', '-q']);
    expect(`${code} ${stdout}`).toMatch(/^0 --- .* ---\n1 sent, 1 answered, 0 % loss/);
    stop(server);
    expect((await server.ended).code).toBe(0);
  });

  test('over TLS, mutual; refused without our certificate, and by whom does not trust the server', async () => {
    const { ca, own } = tlsFiles(command.folder, 'mutual');
    const { server, address } = await command.serve(...ca, ...own);
    const ping = ['ping', address, '-c', '1', '-q'];
    const [mutual, misnamed, stranger, distrustful] = await Promise.all([
      command.run([...ping, ...ca, ...own]),
      command.run([...ping, ...ca, ...own, '--servername', 'elsewhere.example']),
      command.run([...ping, ...ca]),
      command.run([...ping, '--tls', ...own]),
    ]);
    expect(mutual).toMatchObject({ code: 0, stderr: '' });
    expect([misnamed.code, stranger.code, distrustful.code]).toEqual([1, 1, 1]);
    expect(misnamed.stdout).toMatch(
      /not reached .*ERR_TLS_CERT_ALTNAME_INVALID|not reached .*does not match/i,
    );
    expect(distrustful.stdout).toMatch(/not reached .*(certificate|issuer|SELF_SIGNED)/i);
    stop(server);
    expect((await server.ended).code).toBe(0);
  });

  test('--json on both ends: start, pong, summary; listening, up, draining, summary', async () => {
    const server = command.start(['serve', '--port', '0', '--json']);
    const [, address] = await server.saying(/"address":"([^"]+)"/);
    const ping = objectsOf((await command.run(['ping', address!, '-c', '1', '--json'])).stdout);
    expect(ping.map(({ type }) => type)).toEqual(['start', 'pong', 'closed', 'summary']);
    expect(ping.at(-1)).toMatchObject({ verdict: 'up', sent: 1, answered: 1, lossPercent: 0 });
    expect(ping.at(-1)!.rttMinMs).toBeGreaterThan(0);
    stop(server);
    const served = objectsOf((await server.ended).stdout);
    expect(served.map(({ type }) => type)).toEqual([
      'listening',
      'up',
      'leaving',
      'closed',
      'draining',
      'summary',
    ]);
    expect(served.at(-1)).toMatchObject({ served: 1, dead: 0, closed: { left: 1 } });
  });

  test('Ctrl-C on ping prints the statistics and exits by the verdict', async () => {
    const { server, address } = await command.serve();
    const ping = command.start(['ping', address]);
    await ping.saying(/seq=1/);
    ping.child.kill('SIGINT');
    expect(await ping.ended).toMatchObject({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(/ sent, /),
    });
    stop(server);
    await server.ended;
  });

  test('ping | head ends both quietly', async () => {
    const { server, address } = await command.serve();
    const { stdout, stderr } = await command.shell(
      `wirebeat ping ${address} -i 500ms | head -2; echo "status \${PIPESTATUS[0]}"`,
    );
    expect(stdout).toMatch(/^PING .*\n16 bytes .*\nstatus 0\n$/);
    expect(stderr).toBe('');
    stop(server);
    await server.ended;
  });

  test('ping says when the service leaves, and when its process freezes: suspect, dead, cause, exit 1', async () => {
    const [first, second] = await Promise.all([command.serve(), command.serve()]);
    const left = command.start(['ping', first.address, '-i', '500ms', '--diagnose']);
    await left.saying(/seq=1/);
    stop(first.server);
    const told = await left.ended;
    expect(told.code).toBe(1);
    expect(told.stdout).toMatch(
      /^GOAWAY from the peer: leaving, return after 1\.1 s\n(.*\n)*closed \(left\)\n(.*\n)*cause: left \(certain\)$/m,
    );
    const frozen = command.start(['ping', second.address, '-i', '300ms', '--dead-after', '3']);
    await frozen.saying(/seq=2/);
    second.server.child.kill('SIGSTOP');
    const dead = await frozen.ended;
    second.server.child.kill('SIGKILL');
    expect(dead.code).toBe(1);
    expect(dead.stdout).toMatch(
      /^suspect: silent for \d+ ms, dead at 900 ms\n(.*\n)*dead \(process-hung\): silent for/m,
    );
  });

  test('serve: the first signal drains though twice delivered, a later one ends it at once', async () => {
    const { server, address } = await command.serve('--drain', '10s');
    const [host, port] = address.split(':');
    const socket = connect(Number(port), host).on('error', () => {});
    sockets.add(socket);
    // An echo frame makes it a link in use; we never react to GOAWAY, so that the drain lasts.
    socket.write(Buffer.from([0, 0, 0, 1, 7]));
    await server.saying(/link 1 up/);
    server.child.kill('SIGINT');
    await server.saying(/SIGINT: GOAWAY to 1 link/);
    server.child.kill('SIGINT');
    await delay(1_800); // longer than a connection lingers that is not drained
    expect([server.child.exitCode, server.child.signalCode]).toEqual([null, null]);
    server.child.kill('SIGINT');
    expect(await server.ended).toMatchObject({ signal: 'SIGINT', stderr: '' });
  });

  test('serve ends within its bound although a connection never gets through its TLS handshake', async () => {
    const { ca, own } = tlsFiles(command.folder, 'handshake');
    const { server, address } = await command.serve('--drain', '0', ...ca, ...own);
    const [host, port] = address.split(':');
    const socket = connect(Number(port), host).on('error', () => {});
    sockets.add(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
    server.child.kill('SIGHUP');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  });

  test('serve -q says where it listens and what it served, nothing of links', async () => {
    const { server, address } = await command.serve('-q');
    await command.run(['ping', address, '-c', '1']);
    stop(server);
    expect((await server.ended).stdout).not.toMatch(/^link /m);
  });
});

describe.concurrent('ping against no heartbeat service: one verdict, exit 1, no hang', () => {
  const HTTP = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n';
  test.each<[string, (socket: Socket) => void, RegExp]>([
    ['accepts and says nothing', () => {}, /no answer within 1\.5 s/],
    ['closes at once', (socket) => void socket.resume().end(), /not reached \(peer-closed\)/],
    [
      'resets at once',
      (socket) => void socket.resetAndDestroy(),
      /not reached \(peer-unreachable\).*ECONNRESET/,
    ],
    ['speaks HTTP', (socket) => void socket.resume().end(HTTP), /not reached \(peer-closed\)/],
    [
      'floods with noise',
      (socket) => void socket.resume().write(Buffer.alloc(4_096, 0x58)),
      /protocol-error.*HB_ERR_RESYNC/,
    ],
  ])('a peer that %s', async (_what, greet, reason) => {
    const address = await listenWith(greet);
    const { code, stdout, stderr } = await command.run(['ping', address, '-c', '1', '-W', '1500ms', '-q']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(reason);
  });

  test('a port nobody listens on, a name that does not resolve, a socket that is not there', async () => {
    const address = await listenWith(() => {});
    const listener = listeners.pop() as Server;
    await new Promise((resolve) => listener.close(resolve));
    const runs = await Promise.all(
      [address, 'no-such-host.invalid:80', `unix:${join(command.folder, 'none')}`].map((target) =>
        command.run(['ping', target, '-c', '1', '-q']),
      ),
    );
    const reasons = runs.map(({ code, stdout, stderr }) => `${code} ${stderr}${stdout.split('\n')[1]}`);
    expect(reasons[0]).toMatch(/^1 not reached \(peer-unreachable\): connect ECONNREFUSED/);
    expect(reasons[1]).toMatch(/^1 not reached .*(ENOTFOUND|EAI_AGAIN)/);
    expect(reasons[2]).toMatch(/^1 not reached .*ENOENT/);
  });
});
