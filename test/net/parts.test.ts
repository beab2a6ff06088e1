/** The small parts of `net` by themselves: the probe budget, scratch memory, causes of socket errors, the one hub. */
import { describe, expect, test } from 'vitest';
import { FrameBuffer } from '../../src/net/frame-buffer.ts';
import { defaultHub } from '../../src/net/hub.ts';
import type { SocketLink } from '../../src/net/link.ts';
import { addTo, emptyTotals } from '../../src/net/link-stats.ts';
import { causeOfSocketError, textOfSocketError } from '../../src/net/socket-errors.ts';
import { ProbeBudget } from '../../src/session/probe-budget.ts';
import { SessionStats } from '../../src/session/stats.ts';
import { encodeFrame } from '../../src/wire/frame.ts';

test('totals of links have every counter of every link', () => {
  const stats = new SessionStats();
  const counters = Object.keys(stats) as (keyof SessionStats)[];
  for (const [index, name] of counters.entries()) stats[name] = index + 1;
  const link = { session: { stats }, bytesReceived: 100, resyncBytes: 200 } as SocketLink;
  const totals = emptyTotals();
  for (let round = 0; round < 2; round++) addTo(totals, link);
  const expected = counters.map((name, index) => [name, 2 * (index + 1)]);
  expect(totals).toEqual({ ...Object.fromEntries(expected), bytesReceived: 200, resyncBytes: 400 });
});

describe('ProbeBudget', () => {
  const used = (budget: ProbeBudget, index: number, nowMs: number): number => {
    let count = 0;
    while (budget.allow(index, nowMs)) count++;
    return count;
  };

  test('two thousand first questions in a burst, then none for a second', () => {
    const budget = new ProbeBudget();
    expect(used(budget, 0, 1_000)).toBe(2_000);
    expect(used(budget, 0, 1_001)).toBe(0);
    expect(used(budget, 0, 2_049)).toBe(0);
    expect(used(budget, 0, 2_050)).toBe(2_000);
    expect(used(budget, 0, 999_999)).toBe(2_000);
  });

  test('repeated questions may use one half only', () => {
    const budget = new ProbeBudget();
    expect(used(budget, 1, 1_000)).toBe(1_000);
    expect(used(budget, 4, 1_000)).toBe(0);
    expect(used(budget, 0, 1_000)).toBe(1_000);
  });

  test('a clock that stands or goes back gives nothing', () => {
    const budget = new ProbeBudget();
    used(budget, 0, 1_000);
    expect(used(budget, 0, 1_000)).toBe(0);
    expect(used(budget, 0, 500)).toBe(0);
  });
});

describe('FrameBuffer', () => {
  test('the same memory serves again and again, until it is given up', () => {
    const scratch = new FrameBuffer();
    const frame = { flags: 1, seq: 7, timestamp: 9 };
    scratch.put(0, 1, 7, 9);
    scratch.put(1, 4, 8, 10);
    const view = scratch.view(2);
    expect(view.subarray(0, 16)).toEqual(encodeFrame(frame));
    expect(view.subarray(16)).toEqual(encodeFrame({ flags: 4, seq: 8, timestamp: 10 }));
    expect(scratch.view(2)).toBe(view);
    const kept = Buffer.from(view);
    scratch.giveUp();
    scratch.put(0, 0, 0, 0);
    expect(view).toEqual(kept);
    expect(scratch.view(2)).not.toBe(view);
  });
});

describe('socket errors', () => {
  test.each([
    ['ECONNRESET', 'peer-unreachable'],
    ['EPIPE', 'peer-unreachable'],
    ['ECONNREFUSED', 'peer-unreachable'],
    ['EHOSTUNREACH', 'peer-unreachable'],
    ['ETIMEDOUT', 'link-dead'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'protocol-error'],
    ['EPROTO', 'protocol-error'],
    ['ENOENT', 'peer-unreachable'],
    ['ENOTFOUND', 'name-unresolved'],
    ['EAI_AGAIN', 'name-unresolved'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'untrusted'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'untrusted'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'untrusted'],
    ['CERT_HAS_EXPIRED', 'untrusted'],
    ['EMFILE', 'unknown'],
    [undefined, 'unknown'],
  ])('%s is %s', (code, cause) => {
    expect(causeOfSocketError(code)).toBe(cause);
  });
});

test.each<[error: object, text: string]>([
  [
    {
      code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      message:
        '809C88A3637F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../a.c:1:x\n',
    },
    'TLS: alert certificate required',
  ],
  [
    {
      code: 'EPROTO',
      message: 'write EPROTO 80:error:0A00010B:SSL routines:get_record:wrong version number:../a.c:3:\n',
    },
    'the other side does not speak TLS',
  ],
  [{ code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND a.b', hostname: 'a.b' }, 'no host is named a.b'],
  [
    { code: 'EAI_AGAIN', message: 'getaddrinfo EAI_AGAIN a.b', hostname: 'a.b' },
    'no name server answers about a.b',
  ],
  [{ code: 'ENOENT', message: 'connect ENOENT /s', address: '/s' }, 'there is no socket /s'],
  [{ code: 'ECONNRESET', message: 'read ECONNRESET' }, 'read ECONNRESET'],
])('%j reads: %s', (error, text) => {
  expect(textOfSocketError(error as NodeJS.ErrnoException)).toBe(text);
});

test('defaultHub is one per process', () => {
  expect(defaultHub()).toBe(defaultHub());
  expect(defaultHub().stats().links).toBe(0);
});
