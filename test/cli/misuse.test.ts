/**
 * What a user can get wrong, as a table: each row must end by itself with the right exit code and one clear line on
 * stderr, without a stack trace. And the help: every command has examples, and the examples parse.
 */
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sized } from '../support/sizes.ts';
import { CommandUnderTest, type Ended } from './command.ts';

const COMMANDS = ['serve', 'ping', 'load', 'decode', 'encode', 'demo', 'doctor'];

const command = new CommandUnderTest();
beforeAll(() => command.build());
afterAll(() => command.dispose());

const MISTAKES: [args: string, message: RegExp][] = [
  ['pnig', /unknown command 'pnig'.*ping/],
  ['--bogus', /unknown option '--bogus'/],
  ['ping', /missing required argument 'address'/],
  ['ping a:1 b:2', /too many arguments/],
  ['ping localhost', /Expected HOST:PORT/],
  ['ping localhost:99999', /port from 1 to 65535/],
  ['ping http://localhost:80', /not a URL/],
  ['ping a:1 -c 0', /whole number, 1 to/],
  ['ping a:1 -i 1', /needs a unit/],
  ['ping a:1 -i -1s', /duration|argument missing/],
  ['ping a:1 -i 99ms', /100 ms to/],
  ['ping a:1 -W 0', /1 ms to 1 h/],
  ['ping a:1 --dead-after 256', /1 to 255/],
  ['ping a:1 --ca x.pem', /--ca needs --tls/],
  ['ping a:1 --tls --cert x.pem', /--cert and --key belong together/],
  ['ping a:1 --tls --ca /nonexistent.pem', /--ca cannot be read: ENOENT/],
  ['ping a:1 --preset wan', /Allowed choices are lan, cross-site, public-client, behind-nat, dense-gateway/],
  ['serve --retry-after 2h', /0 ms to 1\.82 h/],
  ['serve --port 65536', /0 to 65535/],
  ['serve --host a:b', /host name/],
  ['serve --unix /tmp/x --port 1', /--unix excludes/],
  ['serve --mode odd', /Allowed choices are mixed, heartbeat/],
  ['serve --max-links 0', /1 to 1000000/],
  ['serve --tls', /needs --cert and --key/],
  ['demo --links 5', /20 to 5000/],
  ['demo --interval 10s', /100 ms to 5 s/],
  ['doctor -i 99ms', /100 ms to/],
  ['doctor --preset wan', /Allowed choices are lan, /],
  ['doctor --path lan', /Expected nat, balancer-350, .* or a duration/],
  ['doctor --path 5', /needs a unit/],
  ['doctor --user-timeout 99ms', /100 ms to/],
  ['doctor --keepalive-count 128', /1 to 127/],
  ['doctor --keepalive-idle 10h', /0 ms to 9\.1 h/],
  ['doctor --no-keepalive --keepalive-idle 5s', /--no-keepalive excludes/],
  ['doctor --server-min 0', /1 ms to/],
  ['doctor --links 0', /1 to 10000000/],
  ['doctor extra', /too many arguments/],
  ['decode zz', /not hexadecimal: "z" at character 1/],
  ['decode 484', /half a byte/],
  ['decode --file /nonexistent', /cannot be read: ENOENT/],
  ['decode --file / --raw', /cannot be read: EISDIR/],
  ['decode --raw 48', /--raw is for/],
  ['decode 48 --file x', /exclude each other/],
  ['decode', /nothing to decode/],
  ['encode', /say which frame/],
  ['encode --flags odd', /Expected beat, ping/],
  ['encode --flags ping,pong', /no such frame: flags/],
  ['encode --flags ping --seq 4294967296', /0 to 4294967295/],
  ['encode --param detect-mult=3 --timestamp 1', /exclude each other/],
  ['encode --flags ping --param detect-mult=3', /no such frame/],
];

/** Each costs the start of a process: a sample, where not everything must run. */
const USAGE = sized(
  MISTAKES,
  MISTAKES.filter((_, index) => index % 3 === 0),
);

describe.concurrent('bad input: exit 2, one line', () => {
  test.each(USAGE)('%s', async (args, message) => {
    const { code, signal, stdout, stderr } = await command.run(args.split(' '));
    expect({ code, signal, stdout }).toEqual({ code: 2, signal: null, stdout: '' });
    expect(stderr).toMatch(/^wirebeat: (?!error)[^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  test.each([
    ['load 127.0.0.1:1 --json', 1, 'ECONNREFUSED'],
    ['serve --host 203.0.113.1 --json', 1, 'EADDRNOTAVAIL'],
    ['serve --unix /no/such/folder/socket --json', 1, 'EACCES'],
    ['load 127.0.0.1:1 --links 1000000 --json', 2, undefined],
    ['ping --bogus --json', 2, undefined],
    ['encode --flags ping --raw --json', 2, undefined],
  ])('%s: the failure is an object, too', async (args, code, why) => {
    const { stdout, stderr, ...ended } = await command.run(args.split(' '));
    expect(ended.code).toBe(code);
    const said = JSON.parse(stdout);
    expect({ type: said.type, code: said.code }).toEqual({ type: 'error', code: why });
    if (why === 'EACCES') expect(said.message).toContain('there is no folder /no/such/folder');
    expect(stderr).toBe(`wirebeat: ${said.message}\n`);
  });

  test('no command at all: the help, on stderr', async () => {
    const { code, stdout, stderr } = await command.run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: wirebeat /);
  });

  test('a certificate that is none', async () => {
    const pem = join(command.folder, 'none.pem');
    writeFileSync(pem, 'nothing');
    const { code, stderr } = await command.run([
      'serve',
      '--port',
      '0',
      '--tls',
      '--cert',
      pem,
      '--key',
      pem,
    ]);
    expect(`${code} ${stderr}`).toMatch(/^2 wirebeat: the TLS files do not fit: [^\n]+\n$/);
  });
});

describe.concurrent('what the machine refuses: exit 1, one line', () => {
  test('a port in use', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    const { code, stdout, stderr } = await command.run(['serve', '--port', String(port)]);
    holder.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`wirebeat: cannot listen on 127.0.0.1:${port}: the address is in use\n`);
  });

  test.each([
    [
      'an address of another machine',
      ['--host', '192.0.2.1'],
      /192\.0\.2\.1:\d+: this machine does not have/,
    ],
    ['a host that does not resolve', ['--host', 'no-such-host.invalid'], /does not resolve|EAI_AGAIN/],
    ['a socket in a folder that is not there', ['--unix', '/nonexistent/a.sock'], /\/nonexistent\/a\.sock: /],
  ])('%s', async (_what, args, message) => {
    const where = args.includes('--unix') ? args : ['--port', '0', ...args];
    const { code, stdout, stderr } = await command.run(['serve', ...where]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^wirebeat: cannot listen on [^\n]+\n$/);
    expect(stderr.replace(':0:', ':1:')).toMatch(message);
  });

  test('WIREBEAT_DEBUG=1 shows where it came from', async () => {
    const env = { ...process.env, WIREBEAT_DEBUG: '1' };
    const { code, stderr } = await command.run(['decode', 'zz'], '', { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ {4}at /m);
  });
});

describe.concurrent('help', () => {
  const asked = new Map<string, Promise<Ended>>();
  /** The help of a command; asked for once. */
  function helpOf(name: string): Promise<Ended> {
    const known = asked.get(name) ?? command.run([name, '--help']);
    asked.set(name, known);
    return known;
  }

  test('names every command and the exit codes', async () => {
    const { code, stdout } = await command.run(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(stdout).toContain('Exit codes: 0');
  });

  test.each(COMMANDS)('%s: durations are shown as they are typed', async (name) => {
    const { stdout } = await helpOf(name);
    for (const [, value] of stdout.matchAll(/<duration>[^<]*?\(default:\s+([^\s,)]+)/g)) {
      expect(value).toMatch(/^[\d.]+(ms|s|m|h)$/);
    }
  });

  test('decode: every frame among the examples is good', async () => {
    const { stdout } = await helpOf('decode');
    const frames = [...stdout.matchAll(/\$ wirebeat decode ([0-9a-f ]{32,})$/gm)].map(
      ([, hex]) => hex as string,
    );
    expect(frames.length).toBeGreaterThanOrEqual(2);
    for (const hex of frames) {
      const { code, stdout: told } = await command.run(['decode', ...hex.split(' ')]);
      expect({ code, told }).toEqual({ code: 0, told: expect.stringMatching(/^byte 0: PING /) });
    }
  });

  test.each(COMMANDS)('%s: --json, and examples of itself', async (name) => {
    const { code, stdout, stderr } = await helpOf(name);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('--json');
    expect(stdout).not.toMatch(/default:\s+[[{]/); // how JavaScript writes a value says nothing here
    expect(stdout).toMatch(new RegExp(`^  \\$ wirebeat ${name}`, 'm'));
  });

  test('the examples of encode and decode say what they should', async () => {
    const help = (await helpOf('encode')).stdout + (await helpOf('decode')).stdout;
    const lines = [...help.matchAll(/^ {2}\$ (wirebeat (?:en|de)code .*)$/gm)].map((match) => match[1]!);
    const runnable = lines.filter((line) => !/[<>]|--file/.test(line));
    expect(runnable.length).toBeGreaterThan(6);
    const codes = await Promise.all(runnable.map(async (line) => (await command.shell(line)).code));
    expect(codes.every((code) => code === 0)).toBe(true);
  });
});
