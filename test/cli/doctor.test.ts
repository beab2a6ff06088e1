/** `doctor`: what it says for people and as JSON, when it exits 1, and what each flag changes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommandUnderTest, objectsOf } from './command.ts';

const command = new CommandUnderTest();
beforeAll(() => command.build());
afterAll(() => command.dispose());

/** The command alone in its folder: koffi is not to be had there. */
async function doctor(line: string, env: NodeJS.ProcessEnv = process.env) {
  const args = line.split(' ').filter((word) => word !== '');
  const { code, stdout, stderr } = await command.run(['doctor', ...args, '--json'], '', { env });
  const said = objectsOf(stdout);
  const of = (type: string) => said.filter((one) => one.type === type);
  return { code, stderr, said, of, codes: of('finding').map((finding) => finding.code) };
}

describe.concurrent('doctor', () => {
  test('for people: who finds what and when, the paths, and that it fits', async () => {
    const { code, stdout, stderr } = await command.run(['doctor']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Node ${process.version}, ${process.platform} `));
    expect(stdout).toContain('\na beat every 15 s, dead after 3: 45 s of silence; keepalive 300 s + ');
    expect(stdout).toContain(
      '\nprocess hung or stopped: found by our verdict\n  verdict  45 s (+10 ms): 3 x 15 s',
    );
    expect(stdout).toContain("\n  kernel   never: the peer's kernel answers for its process\n");
    expect(stdout).toContain('\npath nat forgets after 300 s: kept open\n');
    expect(stdout).toMatch(/\n0 errors, 0 warnings\n$/);
  });

  test('as JSON: a statement per line, the summary last; never and not known are null', async () => {
    const { code, said, of } = await doctor('');
    expect(code).toBe(0);
    expect(said.map(({ type }) => type).filter((type) => type !== 'missing')).toEqual([
      ...['environment', 'settings', 'failure', 'failure', 'failure', 'without-heartbeats'],
      ...['path', 'path', 'path', 'path', 'code', 'code', 'code', 'summary'],
    ]);
    expect(of('failure').map(({ failure }) => failure)).toEqual(['idle', 'dataInFlight', 'hung']);
    expect(of('failure')[2]).toMatchObject({ kernel: { ms: null }, foundBy: 'verdict', withinMs: 45_010 });
    expect(said.at(-1)).toMatchObject({ type: 'summary', errors: 0, warnings: 0, detectionTimeMs: 45_000 });
  });

  test('what this process lacks, and how to get it', async () => {
    for (const [env, absence] of [
      [process.env, /koffi is not installed \(npm install koffi\)/],
      [{ ...process.env, WIREBEAT_NATIVE: '0' }, /WIREBEAT_NATIVE=0/],
    ] as const) {
      const { of, said } = await doctor('--user-timeout 90s', env);
      expect(of('environment')[0]).toMatchObject({ native: false, absence: expect.stringMatching(absence) });
      expect(of('missing')[0]?.message).toMatch(absence);
      expect(of('missing').at(-1)?.message).toMatch(/^--user-timeout 90 s: kept by this process/);
      expect(said.at(-1)?.missing).toBe(of('missing').length);
    }
  });

  test.each([
    ['-i 5s --dead-after 4', { intervalMs: 5_000, deadAfter: 4, detectionTimeMs: 20_000 }],
    ['--preset dense-gateway', { intervalMs: 45_000, deadAfter: 2 }],
    ['--preset lan --interval 12s', { intervalMs: 12_000, deadAfter: 3 }],
    ['--keepalive-idle 60s', { keepAlive: { idleMs: 60_000 } }],
    ['--no-keepalive', { keepAlive: false }],
    ['--user-timeout follow', { userTimeoutMs: 68_010 }],
    ['--user-timeout off', { userTimeoutMs: false }],
    ['--user-timeout 2m', { userTimeoutMs: 120_000 }],
  ])('%s', async (flags, expected) => {
    const { code, of } = await doctor(flags);
    expect(code).toBe(0);
    expect(of('settings')[0]).toMatchObject(expected);
  });

  test('interval and count of keepalive, where they can be had', async () => {
    const flags = '--keepalive-interval 7s --keepalive-count 3';
    const { of } = await doctor(flags);
    const isHad = of('environment')[0]?.takesIntervalAndCount === true;
    const expected = isHad ? { intervalMs: 7_000, count: 3 } : { intervalMs: 1_000, count: 10 };
    expect(of('settings')[0]?.keepAlive).toMatchObject(expected);
    expect(of('missing').some(({ message }) => /7 s and count 3/.test(String(message)))).toBe(!isHad);
  });

  test.each([
    ['--path 20s', 0, ['path-idle-limit']],
    ['--path 15s', 1, ['path-forgets']],
    ['-i 4m --path 3m --dead-after 1', 1, ['path-forgets']],
    ['--keepalive-idle 500ms', 1, ['keepalive-seconds']],
    ['--keepalive-interval 0', 1, ['keepalive-seconds']],
    ['--user-timeout 0', 1, ['user-timeout-zero']],
    ['--user-timeout 30s', 0, ['user-timeout-first']],
    ['--server-min 15s', 0, []],
    ['--server-min 16s', 1, ['server-minimum']],
    ['-i 100s', 0, []],
    ['-i 101s', 1, ['detection-too-long']],
  ])('%s: exit %i, %j', async (flags, exit, expected) => {
    const { code, codes, said, of } = await doctor(flags);
    expect(codes).toEqual(expect.arrayContaining(expected));
    expect(code).toBe(exit);
    const errors = of('finding').filter(({ severity }) => severity === 'error').length;
    expect(errors).toBe(exit);
    expect(said.at(-1)).toMatchObject({ errors, warnings: codes.length - errors });
  });

  test('a finding names the flag to change', async () => {
    const { stdout } = await command.run(['doctor', '--keepalive-idle', '500ms']);
    expect(stdout).toMatch(
      /\nerror: --keepalive-idle must be whole seconds, 1 s..9.1 h .*, got 500 ms \(keepalive-seconds\)\n/,
    );
  });

  test.each([
    ['--keepalive-idle 0', /0 does not switch it off, --no-keepalive does/],
    ['--keepalive-interval 0', /error: --keepalive-interval must be .*--no-keepalive does/],
    ['--user-timeout 0', /error: --user-timeout 0 is the kernel's own rule, not none: say off, or follow/],
    ['--user-timeout 30s', /warning: --user-timeout 30 s is below --dead-after 3 \+ 1 intervals \(60 s\)/],
    ['-i 101s', /error: --interval 101 s x --dead-after 3 is 303 s: .* more than 300 s/],
    [
      '-i 20s --keepalive-idle 1s',
      /--keepalive-\* gives up after 1 s \+ \d+ x \d+ s = \d+ s, before our next beat|0 warnings/,
    ],
  ])('%s: advice in the words of the command', async (flags, advice) => {
    const { stdout } = await command.run(['doctor', ...flags.split(' ')]);
    expect(stdout).toMatch(advice);
    const told = stdout.split('\n').filter((line) => /^(error|warning|missing)/.test(line));
    expect(told.join('\n')).not.toMatch(
      /\d{3,}(?! s\b)|keepAlive|userTimeoutMs|intervalMs|deadAfter|\bfalse\b/,
    );
  });

  test('what cannot be a user time-out is answered with what can', async () => {
    const { code, stderr } = await command.run(['doctor', '--user-timeout', 'false']);
    expect(code).toBe(2);
    expect(stderr).toContain('Expected follow, off or a duration.');
  });

  test('says where the settings go, in code that can be run, unless they conflict', async () => {
    const flags = '--preset lan --keepalive-idle 60s --keepalive-count 4';
    const { of } = await doctor(flags);
    expect(of('code').map(({ code }) => code)).toEqual([
      'hub.attach(socket, { intervalMs: 10000, deadAfter: 3, userTimeout: false })',
      'tuneSocket(link.socket, { keepAlive: { idleMs: 60000, intervalMs: 30000, count: 4 } })',
      'tuneServer(server, { keepAlive: { idleMs: 60000, intervalMs: 30000, count: 4 } })',
    ]);
    const followed = await doctor('--preset lan --user-timeout follow');
    expect(followed.of('code').map(({ code }) => code)).toEqual([
      "hub.attach(socket, { intervalMs: 10000, deadAfter: 3, userTimeout: 'follow' })",
      'tuneSocket(link.socket, { keepAlive: { idleMs: 300000, intervalMs: 30000 } })',
      'tuneServer(server, { keepAlive: { idleMs: 300000, intervalMs: 30000 }, userTimeoutMs: 48010 })',
    ]);
    const without = await doctor('--no-keepalive --user-timeout off');
    expect(without.of('code').map(({ code }) => code)).toEqual([
      'hub.attach(socket, { intervalMs: 15000, deadAfter: 3, userTimeout: false })',
      'tuneServer(server, { keepAlive: false, userTimeoutMs: false })',
    ]);
    expect((await doctor('--user-timeout 0')).of('code')).toEqual([]);
  });

  test('a connection without heartbeats beside the link', async () => {
    const { stdout } = await command.run(['doctor', '--user-timeout', '30s']);
    expect(stdout).toMatch(/\n {2}kernel +15\.41 min to 15\.66 min .*from our next beat on \(within 15 s\)/);
    expect(stdout).toMatch(
      /\nthe same without heartbeats: found by nobody but the kernel\n {2}kernel +\d+ s .*only while we send nothing\n/,
    );
  });

  test('--links: what so many cost, from a measurement made here', async () => {
    const { code, stdout } = await command.run(['doctor', '--links', '10000']);
    expect(code).toBe(0);
    const line =
      /\n10000 idle links: (\d+) frames\/s, at most \d+ packets\/s and \d+ kB\/s, [\d.]+ % of a core (.*)\n/;
    const [, frames, basis] = line.exec(stdout) as RegExpExecArray;
    expect(Number(frames)).toBe(1_820);
    expect(basis).toMatch(/^\([\d.]+ us a frame, measured here, over \d{3,} frames on 200 links\)$/);
  });
});
