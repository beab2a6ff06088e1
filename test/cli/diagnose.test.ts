/**
 * `ping --diagnose` and the log of `serve`: what is said of a link that failed, and why. The command under test finds
 * no koffi, so what the kernel knows comes from its table.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diagnosisLines } from '../../src/cli/diagnosis-text.ts';
import { endText } from '../../src/cli/link-text.ts';
import type { Diagnosis } from '../../src/net/diagnosis/evidence.ts';
import { CommandUnderTest, objectsOf } from './command.ts';

const onLinux = process.platform === 'linux';

const HUNG: Diagnosis = {
  cause: 'process-hung',
  confidence: 'certain',
  sentence: "The peer's process hangs.",
  evidence: {
    source: 'tcp-info',
    stood: true,
    kernelAgeMs: 0,
    silentMs: 1_500,
    quietMs: 100,
    writeProgressAgeMs: undefined,
    businessOkAgeMs: undefined,
    askedAgeMs: 900,
    unansweredMs: 900,
    queuedBytes: 0,
    unackedBytes: 0,
    ackAgeMs: 860,
    retransmits: 0,
    windowClosed: false,
    zeroWindowProbes: 0,
    unansweredProbes: 0,
    rttMs: 0.4,
    kernelRttMs: 0.05,
    ownLagMs: 0,
  },
};

describe('a diagnosis as text', () => {
  test('cause, sentence, clocks, kernel, both round trips', () => {
    expect(diagnosisLines(HUNG)).toEqual([
      'cause: process-hung (certain)',
      "The peer's process hangs.",
      '  silent for 1.5 s, sent 100 ms ago, unanswered for 900 ms, late ourselves by 0 ms',
      '  kernel (tcp-info, 0 ms old): 0 bytes unacknowledged, 0 retransmits',
      '  round trip: 0.400 ms to the process, 0.050 ms to its kernel',
    ]);
  });

  test('what waits and a closed window are told, and that nothing was asked', () => {
    const { evidence } = HUNG;
    const stuck = {
      ...evidence,
      queuedBytes: 9,
      writeProgressAgeMs: 40,
      windowClosed: true,
      zeroWindowProbes: 4,
    };
    expect(diagnosisLines({ ...HUNG, evidence: stuck }).join('\n')).toMatch(
      /9 bytes queued, unmoved for 40 ms.*\n.*window closed, 4 zero-window probes/,
    );
    const { kernelAgeMs, kernelRttMs, ...blind } = evidence;
    const lines = diagnosisLines({
      ...HUNG,
      evidence: { ...blind, kernelAgeMs: undefined, kernelRttMs: undefined },
    });
    expect(lines.slice(3)).toEqual(['  kernel: not asked', '  round trip: 0.400 ms to the process']);
  });

  test('of a connection that never stood there is no evidence to tell', () => {
    const evidence = { ...HUNG.evidence, stood: false };
    expect(diagnosisLines({ ...HUNG, cause: 'peer-unreachable', evidence })).toEqual([
      'cause: peer-unreachable (certain)',
      "The peer's process hangs.",
    ]);
  });

  test('a link that is well has no cause', () => {
    expect(diagnosisLines({ ...HUNG, cause: 'unknown' })[0]).toBe("The peer's process hangs.");
  });

  test('the end of a link is followed by the sentence, if there is one', () => {
    expect(endText({ cause: 'left' })).toBe('closed (left)');
    expect(endText({ cause: 'process-hung', diagnosis: HUNG })).toBe(
      "closed (process-hung): The peer's process hangs.",
    );
    const reset = { cause: 'peer-unreachable', code: 'ECONNRESET', reason: 'read ECONNRESET' } as const;
    expect(endText({ ...reset, diagnosis: HUNG })).toBe(
      "closed (peer-unreachable): read ECONNRESET. The peer's process hangs.",
    );
  });
});

describe.concurrent('commands', () => {
  const command = new CommandUnderTest();
  const sockets: Socket[] = [];
  const swallowing = createServer({ pauseOnConnect: true }, (socket) => void sockets.push(socket));
  let swallower = '';
  beforeAll(async () => {
    await command.build();
    await new Promise<void>((resolve) => swallowing.listen(0, '127.0.0.1', resolve));
    swallower = `127.0.0.1:${(swallowing.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    swallowing.close();
    await command.dispose();
  });

  test.skipIf(!onLinux)(
    'F17: a stopped service is a process that hangs; the exit code is as ever',
    async () => {
      const { server, address } = await command.serve('-i', '300ms');
      const ping = command.start(['ping', address, '-i', '600ms', '--diagnose']);
      await ping.saying(/seq=2/);
      server.child.kill('SIGSTOP');
      const { code, stdout, stderr } = await ping.ended;
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).toMatch(/^dead \(process-hung\): silent for/m);
      expect(stdout).toMatch(
        /^cause: process-hung \(certain\)\nThe peer's process hangs: .*\.\n {2}silent for/m,
      );
      expect(stdout).toMatch(/^ {2}kernel \(proc, \d+ ms old\): 0 bytes unacknowledged, 0 retransmits$/m);
    },
  );

  test('a service that swallows, as JSON: a diagnosis in the events, and in the summary if wished', async () => {
    const args = ['ping', swallower, '-i', '600ms', '-W', '5s', '--json'];
    const [plain, diagnosed] = await Promise.all([command.run(args), command.run([...args, '--diagnose'])]);
    expect([plain.code, diagnosed.code]).toEqual([1, 1]);
    const dead = objectsOf(plain.stdout).find(({ type }) => type === 'dead');
    const wanted = { cause: 'never-answered', confidence: onLinux ? 'certain' : 'guess' };
    expect(dead).toMatchObject({ cause: 'never-answered', diagnosis: wanted });
    expect(objectsOf(plain.stdout).at(-1)).not.toHaveProperty('diagnosis');
    expect(objectsOf(diagnosed.stdout).at(-1)).toMatchObject({ cause: 'never-answered', diagnosis: wanted });
  });

  test('no answer within -W is explained, too; a healthy service has nothing wrong, exit 0', async () => {
    const { server, address } = await command.serve();
    const [silent, well] = await Promise.all([
      command.run(['ping', swallower, '-c', '1', '-W', '700ms', '-q', '--diagnose']),
      command.run(['ping', address, '-c', '1', '-q', '--diagnose']),
    ]);
    expect([silent.code, well.code]).toEqual([1, 0]);
    expect(silent.stdout).toMatch(/^no answer within 700 ms\n(.*\n)+ {2}silent for/m);
    expect(well.stdout).toMatch(/^Nothing is wrong: the peer was heard \d+ ms ago\.$/m);
    expect(well.stdout).not.toMatch(/cause:/);
    server.child.kill('SIGTERM');
    await server.ended;
  });

  test('a refused connection names what is there and what is not', async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const { stdout } = await command.run(['ping', `127.0.0.1:${port}`, '-c', '1', '--diagnose']);
    expect(stdout).toMatch(
      /\ncause: peer-unreachable \(certain\)\nThe host is there, but nothing listens .*\.\n$/,
    );
  });

  test('serve logs cause and sentence of each link that fails, and no sentence for one that leaves', async () => {
    const { server, address } = await command.serve('-i', '300ms');
    const ping = command.start(['ping', address, '-i', '300ms']);
    await ping.saying(/seq=2/);
    ping.child.kill('SIGKILL');
    await server.saying(/link 1 closed \(peer-closed\): The peer closed the connection without a GOAWAY/);
    await command.run(['ping', address, '-c', '1']);
    await server.saying(/link 2 closed \(left\)\n/);
    server.child.kill('SIGTERM');
    await server.ended;
  });
});
