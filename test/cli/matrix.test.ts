/**
 * What can go wrong around the commands, as one table: each row is run, must end by itself in time with the right exit
 * code, one clear line and no stack trace, and leave no process behind. The table is printed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Flag } from '../../src/wire/constants.ts';
import { encodeFrame } from '../../src/wire/frame.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { sized } from '../support/sizes.ts';
import { hasTool } from '../support/tools.ts';
import { CommandUnderTest, type Ended, type Running } from './command.ts';

const command = new CommandUnderTest();
const listeners: Server[] = [];
const sockets = new Set<Socket>();
beforeAll(async () => {
  await command.build();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const listener of listeners) listener.close();
  await command.dispose();
});

interface Row {
  readonly what: string;
  run(): Promise<Ended>;
  /** How it may end: an exit code, or the signal it died of. */
  readonly ends: readonly (number | NodeJS.Signals)[];
  /** The one line; on stderr, or else the last on stdout that matches. Absent: stderr must be empty. */
  readonly says?: RegExp;
  /** Why the row says nothing here. */
  readonly skip?: string | undefined;
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const words = (line: string): string[] => line.split(' ');
const run = (line: string) => (): Promise<Ended> => command.run(words(line));
const shell = (line: string) => (): Promise<Ended> => command.shell(line);

/** A service that is none: what `greet` does is all it does. Its address takes the place of ADDRESS. */
function against(
  greet: (socket: Socket) => void,
  line: string,
  server: Server = createServer(),
): () => Promise<Ended> {
  return async () => {
    listeners.push(server);
    server.on('tlsClientError', () => {});
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      greet(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return command.run(words(line.replace('ADDRESS', `127.0.0.1:${port}`)));
  };
}

/** `serve`, to which `visit` does something; then it must end by SIGTERM as always. */
function visited(
  visit: (port: number, host: string, server: Running) => Promise<void>,
  flags = '',
): () => Promise<Ended> {
  return async () => {
    const { server, address } = await command.serve(
      '--first-life',
      '500ms',
      '--drain',
      '0',
      ...words(flags).filter(Boolean),
    );
    const [host = '', port] = address.split(':');
    await visit(Number(port), host, server);
    server.child.kill('SIGTERM');
    return server.ended;
  };
}

function open(port: number, host: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(socket));
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
  });
}

/** Send it, and wait for the server to be done with us. */
async function say(port: number, host: string, bytes: Uint8Array | string): Promise<void> {
  const socket = await open(port, host);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  if (bytes.length > 0) socket.write(bytes);
  await closed;
}

const ping = (seq: number): Buffer => encodeFrame({ flags: Flag.AckRequest, seq, timestamp: 0 });
const TWO_FRAMES = Buffer.concat([ping(1), ping(2)]);
const POLL = { timeout: 10_000 };
const CUTS = Array.from({ length: TWO_FRAMES.length + 1 }, (_, at) => at);

/** The connection ends behind each byte of two frames: once by FIN, once by RST. */
async function cutOff(socket: Socket, index: number): Promise<void> {
  const at = index >> 1;
  if (at > 0) await new Promise((resolve) => socket.write(TWO_FRAMES.subarray(0, at), resolve));
  if (index % 2 === 0) socket.end();
  else socket.resetAndDestroy();
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const refused = (line: string) => async (): Promise<Ended> =>
  command.run(words(line.replace('ADDRESS', `127.0.0.1:${await closedPort()}`)));

async function portInUse(): Promise<Ended> {
  const { server, address } = await command.serve();
  const ended = await command.run(['serve', '--port', address.split(':')[1]!]);
  server.child.kill('SIGTERM');
  await server.ended;
  return ended;
}

const isRoot = process.getuid?.() === 0;

/** Root may open any port: it is run without that one privilege. */
function portOne(): Promise<Ended> {
  return isRoot
    ? command.shell('setpriv --bounding-set=-net_bind_service "$NODE" "$SCRIPT" serve --port 1')
    : command.run(['serve', '--port', '1']);
}

function unprivilegedPorts(): string | undefined {
  if (isRoot && !hasTool('setpriv')) return 'needs setpriv: not installed here';
  try {
    const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
    return first > 1 ? undefined : 'port 1 is open to everybody on this machine';
  } catch {
    return 'not Linux';
  }
}

let serving: Promise<{ server: Running; address: string }> | undefined;

/** The address of one `serve` for all rows that need one. */
async function service(): Promise<string> {
  serving ??= command.serve('-q');
  return (await serving).address;
}

/** A command and a signal: so many ms after its start, or after it said that it is at work. */
function signalled(
  line: string,
  signal: NodeJS.Signals,
  afterMs: number,
  atWork?: RegExp,
): () => Promise<Ended> {
  return async () => {
    const running = command.start(words(line.replace('ADDRESS', await service())));
    if (atWork !== undefined) await running.saying(atWork);
    await delay(afterMs);
    running.child.kill(signal);
    return running.ended;
  };
}

/** Commands that go on until they are stopped: when they are at work, and the last word each must have. */
const LASTING: [name: string, line: string, atWork: RegExp, says: RegExp][] = [
  ['serve', 'serve --port 0', /listening on/, /^0 links served, 0 found dead/],
  ['ping', 'ping ADDRESS -i 200ms', /^PING /, /^\d+ sent, \d+ answered/],
  ['load', 'load ADDRESS --links 60 --rate 100 -i 200ms', /^LOAD /, /^connected \d+ of 60/],
];

const HTTP = 'HTTP/1.1 400 Bad Request\r\n\r\n';
const CLIENT_HELLO = Buffer.concat([Buffer.from('1603010200010001fc0303', 'hex'), Buffer.alloc(505, 7)]);
const PEER_ROWS: [what: string, greet: (socket: Socket) => void, pinged: RegExp, loaded: RegExp][] = [
  ['speaks HTTP', (socket) => void socket.resume().end(HTTP), /not reached \(peer-closed\)/, /peer-closed/],
  [
    'says nothing',
    (socket) => void socket.resume(),
    /no answer within 1 s/,
    /gave no sign of life within 1000 ms/,
  ],
  ['closes at once', (socket) => void socket.resume().end(), /not reached \(peer-closed\)/, /peer-closed/],
  [
    'resets at once',
    (socket) => void socket.resetAndDestroy(),
    /not reached \(peer-unreachable\)/,
    /ECONNRESET/,
  ],
  [
    'floods with noise',
    (socket) => void socket.resume().write(Buffer.alloc(9_000, 88)),
    /HB_ERR_RESYNC/,
    /HB_ERR_RESYNC/,
  ],
];

const ROWS: Row[] = [
  { what: 'an unknown command', run: run('lod'), ends: [2], says: /unknown command 'lod'/ },
  { what: 'an unknown option', run: run('load a:1 --lnks 5'), ends: [2], says: /unknown option '--lnks'/ },
  { what: 'bad hex', run: run('decode 48zz'), ends: [2], says: /not hexadecimal: "z" at character 3/ },
  { what: 'a negative number', run: run('load a:1 --links -5'), ends: [2], says: /--links/ },
  {
    what: 'a negative number, with =',
    run: run('load a:1 --links=-5'),
    ends: [2],
    says: /whole number, 1 to 1000000/,
  },
  { what: 'a fraction', run: run('load a:1 --links 1.5'), ends: [2], says: /whole number/ },
  {
    what: 'an absurd number',
    run: run('load a:1 --links 99999999999'),
    ends: [2],
    says: /whole number, 1 to/,
  },
  { what: 'no number', run: run('load a:1 --links many'), ends: [2], says: /whole number/ },
  { what: 'more in flight than allowed', run: run('load a:1 --in-flight 257'), ends: [2], says: /1 to 256/ },
  { what: 'an interval too short', run: run('load a:1 -i 99ms'), ends: [2], says: /100 ms to/ },
  { what: 'an interval too long', run: run('load a:1 -i 999h'), ends: [2], says: /100 ms to/ },
  { what: 'a duration of nothing', run: run('load a:1 --duration 0'), ends: [2], says: /1 ms to/ },
  { what: 'a port too high', run: run('ping localhost:65536'), ends: [2], says: /port from 1 to 65535/ },
  {
    what: 'more links than descriptors',
    run: run('load 127.0.0.1:1 --links 999999 --spread 99'),
    ends: [2],
    says: /need 1 000 099 descriptors, limit/,
  },
  {
    what: '--spread without loopback',
    run: run('load 192.0.2.1:1 --spread 2'),
    ends: [2],
    says: /--spread needs a loopback/,
  },
  {
    what: 'proxies that are none',
    run: run('serve --trusted-proxies 10.0.0.0/99'),
    ends: [2],
    says: /trustedProxies must be/,
  },
  {
    what: 'PROXY from nobody',
    run: run('serve --proxy-protocol'),
    ends: [2],
    says: /needs --trusted-proxies/,
  },
  { what: 'a port in use', run: portInUse, ends: [1], says: /the address is in use/ },
  {
    what: 'no permission (port 1)',
    run: portOne,
    ends: [1],
    says: /no permission/,
    skip: unprivilegedPorts(),
  },
  {
    what: 'serve: host does not resolve',
    run: run('serve --host no.invalid'),
    ends: [1],
    says: /cannot listen on no\.invalid/,
  },
  ...['ping -c 1 -q', 'load'].flatMap((line): Row[] => {
    const where = line === 'load' ? /^wirebeat: / : /^not reached /;
    const says = (text: string) => new RegExp(`${where.source}.*(${text})`);
    return [
      {
        what: `${line}: host does not resolve`,
        run: run(`${line} no.invalid:80`),
        ends: [1],
        says: says('ENOTFOUND|EAI_AGAIN'),
      },
      {
        what: `${line}: host refuses`,
        run: refused(`${line} ADDRESS`),
        ends: [1],
        says: says('ECONNREFUSED'),
      },
    ];
  }),
  ...PEER_ROWS.flatMap(([what, greet, pinged, loaded]): Row[] => [
    {
      what: `ping: a peer that ${what}`,
      run: against(greet, 'ping ADDRESS -c 1 -W 1s -q'),
      ends: [1],
      says: pinged,
    },
    {
      what: `load: a peer that ${what}`,
      run: against(greet, 'load ADDRESS -W 1s -q'),
      ends: [1],
      says: loaded,
    },
  ]),
  {
    what: 'ping: a peer that speaks TLS',
    run: against(() => {}, 'ping ADDRESS -c 1 -W 1s -q', createTlsServer(TEST_TLS.server)),
    ends: [1],
    says: /not reached|no answer/,
  },
  {
    what: 'load --tls: a peer that does not',
    run: against((socket) => void socket.resume().end(HTTP), 'load ADDRESS --tls -W 1s -q'),
    ends: [1],
    says: /wirebeat: .*(SSL|wrong version|closed)/i,
  },
  {
    what: 'serve: a client that speaks HTTP',
    run: visited((port, host) => say(port, host, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')),
    ends: [0],
    says: /link 1 closed \(protocol-error\): HB_ERR_DESYNC/,
  },
  {
    what: 'serve: a client that speaks TLS',
    run: visited((port, host) => say(port, host, CLIENT_HELLO)),
    ends: [0],
    says: /link 1 closed \(protocol-error\): HB_ERR_DESYNC/,
  },
  {
    what: 'serve: a client that says nothing',
    run: visited((port, host) => say(port, host, '')),
    ends: [0],
    says: /link 1 closed \(policy\): HB_ERR_SILENT/,
  },
  {
    what: 'serve: a client without a PROXY header',
    run: visited((port, host) => say(port, host, ping(1)), '--proxy-protocol --trusted-proxies 127.0.0.1'),
    ends: [0],
    says: /^0 links served/,
  },
  {
    what: 'serve: cut behind each of 32 bytes, FIN and RST',
    run: visited(async (port, host, server) => {
      for (const index of CUTS.flatMap((at) => [2 * at, 2 * at + 1])) {
        await cutOff(await open(port, host), index);
      }
      await say(port, host, ''); // accepted after all of them, and cut for its silence
      await server.saying(/HB_ERR_SILENT/);
      const highest = () =>
        Math.max(...[...server.stdout.matchAll(/^link (\d+) /gm)].map(([, id]) => Number(id)));
      expect(highest()).toBeGreaterThan(CUTS.length);
      await expect.poll(() => server.stdout.split(' closed (').length - 1 - highest(), POLL).toBe(0);
    }),
    ends: [0],
    says: /SIGTERM: GOAWAY to 0 links/,
  },
  {
    what: 'load: cut behind each of 32 bytes, FIN and RST',
    run: (() => {
      let index = -1; // the first connection only asks whether somebody is there
      const greet = (socket: Socket): void => {
        if (index < 0) new RawPeer(socket);
        else void cutOff(socket.resume(), index);
        index++;
      };
      return against(
        greet,
        `load ADDRESS --links ${2 * CUTS.length} --in-flight 1 --duration 300ms -W 1s -q`,
      );
    })(),
    ends: [1],
    says: /^(failed|lost) .*(HB_ERR_CLOSED|peer-closed|ECONNRESET)/,
  },
  ...SIGNALS.flatMap((signal) =>
    LASTING.flatMap(([name, line, atWork, says]): Row[] => [
      { what: `${signal} to ${name} at its start`, run: signalled(line, signal, 40), ends: [0, 1, signal] },
      ...[0, 300].map((ms) => ({
        what: `${signal} to ${name} at work for ${ms} ms`,
        run: signalled(line, signal, ms, atWork),
        ends: name === 'serve' ? [0] : [0, 1],
        says,
      })),
    ]),
  ),
  {
    what: 'SIGINT to demo after 900 ms',
    run: signalled('demo --links 20', 'SIGINT', 900),
    ends: [0, 1, 'SIGINT'],
  },
  {
    what: 'decode | head -1',
    run: shell(`wirebeat decode ${ping(1).toString('hex').repeat(500)} | head -1`),
    ends: [0],
    says: /^byte 0: PING/,
  },
  {
    what: 'serve | head -1, at its next word',
    run: shell(
      `(wirebeat serve --port 0; echo "status $?" >&2) |
       (read -r _ _ where _; exec <&-; wirebeat ping "$(sed 's/:$//' <<<"$where")" -c 1 -q)`,
    ),
    ends: [0],
    says: /status 0/,
  },
  { what: 'stdout full', run: shell('wirebeat encode --flags ping > /dev/full'), ends: [1], says: /ENOSPC/ },
  { what: 'stdout closed from the start', run: shell('wirebeat encode --flags ping >&-'), ends: [0] },
  { what: 'stderr closed', run: shell('wirebeat decode zz 2>&-'), ends: [2] },
  { what: 'stdin closed', run: shell('wirebeat decode <&-'), ends: [2], says: /nothing to decode/ },
];

/** A row that did not even come to its end. */
const unended = (error: unknown): Ended => ({ code: null, signal: null, stdout: '', stderr: String(error) });

/** What is wrong with how it ended; undefined when all is right. */
function fault(row: Row, { code, signal, stdout, stderr }: Ended): string | undefined {
  const end = signal ?? code;
  if (end === 'SIGKILL') return 'hung';
  if (!row.ends.some((expected) => expected === end)) return `ended with ${end}: ${stderr || stdout}`;
  if (['\r', '\u001b'].some((control) => (stdout + stderr).includes(control)))
    return 'control characters without a terminal';
  if (/^ {2,}at /m.test(stdout + stderr)) return `a stack trace: ${stdout}${stderr}`;
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('status '));
  if (lines.length > 1) return `${lines.length} lines on stderr: ${stderr}`;
  if (row.says === undefined) return stderr === '' ? undefined : `stderr: ${stderr}`;
  return new RegExp(row.says.source, `${row.says.flags}m`).test(`${stderr}${stdout}`)
    ? undefined
    : `said: ${stderr}${stdout}`;
}

/** The line a row is about, for the table. */
function lineOf(row: Row, { stdout, stderr }: Ended): string {
  const lines = `${stderr}${stdout}`.split('\n');
  const line = (row.says !== undefined && lines.find((text) => row.says!.test(text))) || (lines.at(-2) ?? '');
  return line.slice(0, 90);
}

/** Processes that still run this test's script. */
function survivors(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(command.script);
      } catch {
        return false;
      }
    });
}

test('everything that can go wrong ends in time, with the right code and one clear line', {
  timeout: 300_000,
}, async () => {
  const table: string[] = [];
  const faults: string[] = [];
  // Each costs a process or two: a sample, where not everything must run.
  const every = sized(1, 2);
  const waiting = [...ROWS.entries()].filter(([at, row]) => row.skip === undefined && at % every === 0);
  const lines = new Map<number, string>();
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, row] = next;
      const ended = await row.run().catch((error) => unended(error));
      const wrong = fault(row, ended);
      if (wrong !== undefined) faults.push(`${row.what}: ${wrong}`);
      const verdict = wrong === undefined ? 'ok   ' : 'WRONG';
      lines.set(
        index,
        `${verdict} ${row.what.padEnd(50)} ${String(ended.signal ?? ended.code).padEnd(8)} ${lineOf(row, ended)}`,
      );
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  (await serving)?.server.child.kill('SIGTERM');
  await (await serving)?.server.ended;
  for (const [index, row] of ROWS.entries())
    table.push(lines.get(index) ?? `-     ${row.what}: ${row.skip ?? 'where everything must run'}`);
  console.log(`\n      what${' '.repeat(47)}ends     says\n${table.join('\n')}\n`);
  expect(faults).toEqual([]);
  expect(survivors()).toEqual([]);
});
