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
      '\nprocess hung or stopped: found by our verdict\n  verdict  45 s (+10 ms): 3 x 15000 ms',
    );
    expect(stdout).toContain("\n  kernel   never: the peer's kernel answers for its process\n");
    expect(stdout).toContain('\npath nat forgets after 300 s: kept open\n');
    expect(stdout).toMatch(/\n0 errors, 0 warnings\n$/);
  });

  test('as JSON: a statement per line, the summary last; never and not known are null', async () => {
    const { code, said, of } = await doctor('');
    expect(code).toBe(0);
    expect(said.map(({ type }) => type).filter((type) => type !== 'missing')).toEqual([
      ...['environment', 'settings', 'failure', 'failure', 'failure'],
      ...['path', 'path', 'path', 'path', 'summary'],
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
      expect(of('missing').at(-1)?.message).toMatch(/^userTimeoutMs 90000: kept by this process/);
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
    expect(of('missing').some(({ message }) => /7000 and count 3/.test(String(message)))).toBe(!isHad);
  });

  test.each([
    ['--path 20s', 0, ['path-idle-limit']],
    ['--path 15s', 1, ['path-forgets']],
    ['-i 6m --path balancer-350 --dead-after 1', 1, ['path-forgets']],
    ['--keepalive-idle 500ms', 1, ['keepalive-seconds']],
    ['--keepalive-interval 0', 1, ['keepalive-seconds']],
    ['--user-timeout 0', 1, ['user-timeout-zero']],
    ['--user-timeout 30s', 0, ['user-timeout-first']],
    ['--server-min 20s', 0, ['server-minimum']],
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
      /\nerror: keepAlive\.idleMs must be whole seconds .* \(--keepalive-idle, keepalive-seconds\)\n/,
    );
  });

  test('--links: what so many cost, from a measurement made here', async () => {
    const { code, stdout } = await command.run(['doctor', '--links', '10000']);
    expect(code).toBe(0);
    const line =
      /\n10000 idle links: (\d+) frames\/s, at most \d+ packets\/s and \d+ kB\/s, [\d.]+ % of a core (.*)\n/;
    const [, frames, basis] = line.exec(stdout) as RegExpExecArray;
    expect(Number(frames)).toBe(1_970);
    expect(basis).toMatch(/^\([\d.]+ us a frame, measured here, over \d{3,} frames on 200 links\)$/);
  });
});
