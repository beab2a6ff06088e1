/**
 * Real faults on loopback, the same for both sources of evidence: a test file that wants the kernel's table instead of
 * TCP_INFO sets WIREBEAT_NATIVE=0 before it calls this, and has a process of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import type { ClosedDetail, DeadDetail, SuspectDetail } from '../../../src/net/events.ts';
import type { AttachOptions, Link } from '../../../src/net/types.ts';
import { lengthPrefixedFrame } from '../../../src/server/length-prefix.ts';
import { recordingHost } from '../../support/hosts.ts';
import { HubLog } from '../../support/hub-log.ts';
import { programFrom, removePrograms } from '../../support/programs.ts';
import { closeAll, later, listening, socketPair, tame } from '../../support/sockets.ts';

/** Long enough that the table is read twice between suspicion and verdict, on a busy machine too. */
const OPTIONS: AttachOptions = { intervalMs: 1_200, firstPhase: 0 };

/** A process that answers every ping until it is stopped. */
async function responder(): Promise<{ child: ChildProcess; port: number }> {
  const script = await programFrom('test/support/responders.ts');
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  later(() => child.kill('SIGKILL'));
  const [text] = (await once(child.stdout!, 'data')) as [Buffer];
  return { child, port: Number(text.toString()) };
}

/** A listener whose connections are only accepted. */
async function listenerThat(does: (socket: Socket) => void, kind: 'tcp' | 'tcp6' = 'tcp'): Promise<number> {
  const server = createServer({ pauseOnConnect: true }, (socket) => does(tame(socket)));
  return ((await listening(server, kind)) as { port: number }).port;
}

/** The one death of this link. */
async function deathOf(log: HubLog, link: Link): Promise<DeadDetail> {
  const { detail } = await log.next('dead', link);
  return detail as unknown as DeadDetail;
}

export function describeRealLinks(source: 'tcp-info' | 'proc'): void {
  afterAll(closeAll);
  afterAll(removePrograms);
  const watch = (log: HubLog, port: number, options = OPTIONS, host = '127.0.0.1'): Link =>
    log.hub.attach(tame(connect(port, host)), options);

  // They mostly wait: all at once.
  describe.skipIf(process.platform !== 'linux').concurrent(`causes on real sockets, by ${source}`, () => {
    test('F17: a process stopped by SIGSTOP is process-hung: its kernel goes on acknowledging', async () => {
      const { child, port } = await responder();
      const log = new HubLog();
      const link = watch(log, port);
      await log.next('up', link);
      child.kill('SIGSTOP');
      const { diagnosis, cause } = await deathOf(log, link);
      expect(diagnosis).toMatchObject({ cause: 'process-hung', confidence: 'certain' });
      expect(diagnosis!.evidence).toMatchObject({ source, unackedBytes: 0, retransmits: 0, queuedBytes: 0 });
      expect(diagnosis!.evidence.kernelAgeMs).toBeLessThan(1_000);
      expect(diagnosis!.evidence.silentMs).toBeGreaterThanOrEqual(3 * 1_200);
      expect(diagnosis!.sentence).toMatch(/process hangs: its machine acknowledges .* for \d\.\d s\.$/);
      const closed = (await log.closed(link)) as ClosedDetail;
      expect([cause, closed.cause]).toEqual(['process-hung', 'process-hung']);
      expect(closed.diagnosis).toBe(diagnosis);
      expect(log.hub.stats().closed).toEqual({ 'process-hung': 1 });
      const suspect = log.of('suspect', link)[0]!.detail as unknown as SuspectDetail;
      expect(suspect.diagnosis!.confidence).not.toBe('certain');
      expect(log.hub.examiner.size).toBe(0);
    });

    test('a process that goes on is recovered, and no longer under watch', async () => {
      const { child, port } = await responder();
      const log = new HubLog();
      const link = watch(log, port);
      await log.next('up', link);
      expect(log.hub.examiner.size).toBe(0); // a healthy link costs nothing
      child.kill('SIGSTOP');
      await log.next('suspect', link);
      expect(log.hub.examiner.size).toBe(1);
      child.kill('SIGCONT');
      await log.next('recovered', link);
      expect(log.hub.examiner.size).toBe(0);
      expect(link.diagnose()).toMatchObject({ cause: 'unknown', confidence: 'certain' });
    });

    test('F20: accepted and never answered, IPv4 and IPv6: never-answered', async () => {
      const log = new HubLog();
      const links = [
        watch(log, await listenerThat(() => {})),
        watch(log, await listenerThat(() => {}, 'tcp6'), OPTIONS, '::1'),
      ];
      for (const link of links) {
        const { diagnosis } = await deathOf(log, link);
        expect(diagnosis).toMatchObject({ cause: 'never-answered', confidence: 'certain' });
        expect(diagnosis!.evidence).toMatchObject({ source, unackedBytes: 0 });
      }
    });

    test('F11: a process that reads nothing while we write is peer-not-reading: its window is closed', async () => {
      const log = new HubLog();
      const { host } = recordingHost();
      const link = watch(log, await listenerThat(() => {}), { ...OPTIONS, host });
      await once(link.socket, 'connect');
      for (let at = 0; at < 16; at++) link.write(lengthPrefixedFrame(Buffer.alloc(1_000_000)));
      const { diagnosis } = await deathOf(log, link);
      // The table does not tell when the peer's kernel answered last.
      const confidence = source === 'proc' ? 'likely' : 'certain';
      expect(diagnosis).toMatchObject({ cause: 'peer-not-reading', confidence });
      expect(diagnosis!.evidence).toMatchObject({ source, windowClosed: true });
      expect(diagnosis!.sentence).toMatch(/(does not|seems not to) read: .* \d+ MB wait here/);
    });

    test('a reset is peer-unreachable, with the words of the system', async () => {
      const log = new HubLog();
      const accepted: Socket[] = [];
      const link = watch(log, await listenerThat((socket) => void accepted.push(socket)));
      await once(link.socket, 'connect');
      while (accepted.length === 0) await new Promise((resolve) => setImmediate(resolve));
      accepted[0]!.resetAndDestroy();
      const closed = await log.closed(link);
      expect(closed).toMatchObject({
        cause: 'peer-unreachable',
        code: 'ECONNRESET',
        reason: expect.stringMatching(/^(read|write) ECONNRESET$/), // whichever meets it first
      });
      expect(closed.diagnosis).toMatchObject({
        confidence: 'certain',
        sentence: expect.stringMatching(/was reset|is gone/),
      });
    });

    test('over TLS the connection below is the one that is asked', async () => {
      const log = new HubLog();
      const { connected } = await socketPair('tls');
      const link = log.hub.attach(connected, OPTIONS);
      const { diagnosis } = await deathOf(log, link);
      expect(diagnosis).toMatchObject({
        cause: 'never-answered',
        confidence: 'certain',
        evidence: { source },
      });
    });
  });
}
