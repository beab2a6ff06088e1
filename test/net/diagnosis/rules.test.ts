/**
 * From findings to a cause: every row of the table decides in a case of its own, the rows stand in the documented
 * order, and whatever the findings, there is one diagnosis with a sentence.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Evidence } from '../../../src/net/diagnosis/evidence.ts';
import { evidenceOf, type Findings, type Occasion } from '../../../src/net/diagnosis/findings.ts';
import { diagnose, RULES } from '../../../src/net/diagnosis/rules.ts';
import { span } from '../../../src/net/diagnosis/sentences.ts';
import type { Knowledge } from '../../../src/session/knowledge.ts';

/** A link of T = 1 s and M = 3 that was heard before, asked 2 s ago, and is silent for D. */
const KNOWLEDGE: Knowledge = {
  heard: true,
  hasLeft: false,
  isPaused: false,
  isHeldByUs: false,
  silentMs: 3_000,
  quietMs: 400,
  suspectMs: 2_000,
  deadMs: 3_000,
  rxIntervalMs: 1_000,
  askedAgeMs: 2_000,
  unansweredMs: 2_000,
  writeProgressAgeMs: undefined,
  queuedBytes: 0,
  business: undefined,
  businessOkAgeMs: undefined,
  rttMs: 5,
  ownLagMs: 0,
};

/** The kernel, asked at that moment: all is acknowledged, the newest acknowledgement came 1.9 s ago. */
const KERNEL: Partial<Evidence> = {
  source: 'tcp-info',
  kernelAgeMs: 0,
  unackedBytes: 0,
  ackAgeMs: 1_900,
  retransmits: 0,
  windowClosed: false,
  zeroWindowProbes: 0,
  unansweredProbes: 0,
  kernelRttMs: 0.2,
};

interface Case {
  occasion?: Occasion;
  errorCode?: string;
  isOpen?: boolean;
  knows?: Partial<Knowledge>;
  kernel?: Partial<Evidence>;
}

function findings({ occasion = 'dead', errorCode, isOpen = true, knows, kernel }: Case): Findings {
  const knowledge = { ...KNOWLEDGE, ...knows };
  const evidence = {
    ...evidenceOf(knowledge, isOpen, undefined, 0),
    ...(kernel && { ...KERNEL, ...kernel }),
  };
  return { occasion, errorCode, isOpen, knowledge, evidence };
}

const ruleOf = (given: Case): string => RULES.find(({ holds }) => holds(findings(given)))!.name;

const NONE = { ackAgeMs: 2_600 };
/** Our newest send was 400 ms before the verdict. */
const BY_PROC = { source: 'proc', ackAgeMs: undefined, unackedBytes: 16 } as const;
/** Connected 300 ms ago, asked at once, and never heard. */
const YOUNG = { heard: false, silentMs: 300, askedAgeMs: 290, unansweredMs: 290 };
const LOST = { ...NONE, unackedBytes: 48, retransmits: 3 };

/** Rule, cause and confidence, what of it must be in the sentence, and the findings that make it so. */
const CASES: readonly [string, string, string, RegExp, Case][] = [
  ['goaway', 'left', 'certain', /GOAWAY/, { knows: { hasLeft: true }, kernel: LOST }],
  [
    'business',
    'business-hung',
    'certain',
    /application does not come back .* last well 70 s ago/,
    { occasion: 'business', knows: { business: 'hung', businessOkAgeMs: 70_000, silentMs: 10 } },
  ],
  [
    'business',
    'business-hung',
    'certain',
    /says that it is not well\.$/,
    { occasion: 'asked', knows: { business: 'failed', silentMs: 1_999 }, kernel: {} },
  ],
  [
    'unreachable',
    'peer-unreachable',
    'certain',
    /was reset.*\(ECONNRESET\)/,
    { occasion: 'failed', errorCode: 'ECONNRESET', kernel: LOST },
  ],
  [
    'unreachable',
    'peer-unreachable',
    'certain',
    /nothing listens at that port \(ECONNREFUSED\)/,
    { occasion: 'failed', errorCode: 'ECONNREFUSED', isOpen: false },
  ],
  [
    'unreachable',
    'peer-unreachable',
    'certain',
    /router says .* \(EHOSTUNREACH\)/,
    { errorCode: 'EHOSTUNREACH', kernel: LOST },
  ],
  ['tls', 'protocol-error', 'certain', /TLS \(EPROTO\)/, { occasion: 'failed', errorCode: 'EPROTO' }],
  [
    'unresolved',
    'name-unresolved',
    'certain',
    /ENOTFOUND/,
    { occasion: 'failed', errorCode: 'ENOTFOUND', isOpen: false },
  ],
  [
    'untrusted',
    'untrusted',
    'certain',
    /certificate/,
    { occasion: 'failed', errorCode: 'SELF_SIGNED_CERT_IN_CHAIN' },
  ],
  ['other-error', 'unknown', 'guess', /EWHAT/, { occasion: 'failed', errorCode: 'EWHAT', isOpen: false }],
  ['other-error', 'unknown', 'guess', /without a code/, { occasion: 'failed' }],
  [
    'one-way-end',
    'link-dead',
    'likely',
    /answered nothing for 3 s and then closed/,
    { occasion: 'ended', knows: { silentMs: 10, unansweredMs: 3_000 } },
  ],
  [
    'fin',
    'peer-closed',
    'certain',
    /without a GOAWAY.*10 ms before/,
    { occasion: 'ended', knows: { silentMs: 10 } },
  ],
  // Unanswered, but acknowledged: what we send arrives.
  ['fin', 'peer-closed', 'certain', /./, { occasion: 'ended', knows: { unansweredMs: 3_000 }, kernel: {} }],
  ['fin', 'peer-closed', 'certain', /./, { occasion: 'ended', knows: { unansweredMs: 2_999 } }],
  ['connecting', 'unknown', 'guess', /still being established/, { occasion: 'asked', isOpen: false }],
  [
    'not-connected',
    'link-dead',
    'likely',
    /never established/,
    { occasion: 'failed', errorCode: 'ETIMEDOUT', isOpen: false },
  ],
  ['paused', 'local', 'certain', /stopped reading/, { occasion: 'asked', knows: { isPaused: true } }],
  ['paused', 'local', 'certain', /./, { occasion: 'asked', knows: { ...YOUNG, isPaused: true } }],
  ['held', 'local', 'certain', /own host/, { knows: { isHeldByUs: true, askedAgeMs: undefined } }],
  [
    'well',
    'unknown',
    'certain',
    /heard 2 s ago/,
    { occasion: 'asked', knows: { silentMs: 1_999 }, kernel: LOST },
  ],
  [
    'window-lost',
    'link-dead',
    'certain',
    /3 probes in a row/,
    { kernel: { unackedBytes: 5_000, windowClosed: true, unansweredProbes: 3 } },
  ],
  [
    'window-closed',
    'peer-not-reading',
    'certain',
    /kernel is full .* 17 MB wait here/,
    {
      knows: { queuedBytes: 16e6, writeProgressAgeMs: 3_100, askedAgeMs: undefined },
      kernel: { unackedBytes: 1e6, windowClosed: true, unansweredProbes: 2 },
    },
  ],
  [
    'window-closed',
    'peer-not-reading',
    'likely',
    /./,
    {
      occasion: 'failed',
      errorCode: 'ETIMEDOUT',
      kernel: { unackedBytes: 9, windowClosed: true, kernelAgeMs: 1_001 },
    },
  ],
  ['retransmitting', 'link-dead', 'certain', /48 bytes were sent again 3 times .* 3 s\.$/, { kernel: LOST }],
  // A machine that died after it had acknowledged our first question: nothing came since.
  ['retransmitting', 'link-dead', 'certain', /./, { kernel: { ...LOST, ackAgeMs: 1_900 } }],
  ['retransmitting', 'link-dead', 'likely', /./, { kernel: { ...LOST, kernelAgeMs: 1_001 } }],
  // An acknowledgement that is as old as the silence came with the last life: the path may have died behind it.
  ...[undefined, 2_980, 3_000, 9_000].map(
    (ackAgeMs) =>
      [
        'window-unheard',
        'peer-not-reading',
        'likely',
        /seems not to read: its kernel was full and 9 bytes wait here.* path may be dead/,
        { kernel: { unackedBytes: 9, windowClosed: true, ackAgeMs } },
      ] as [string, string, string, RegExp, Case],
  ),
  [
    'window-closed',
    'peer-not-reading',
    'certain',
    /./,
    { kernel: { unackedBytes: 9, windowClosed: true, ackAgeMs: 2_979 } },
  ],
  [
    'retransmitting',
    'link-dead',
    'likely',
    /./,
    { occasion: 'suspect', kernel: LOST, knows: { ownLagMs: 900 } },
  ],
  [
    'kernel-timeout',
    'link-dead',
    'certain',
    /gave up .* \(ETIMEDOUT\)/,
    { occasion: 'failed', errorCode: 'ETIMEDOUT' },
  ],
  [
    'timeout-unread',
    'peer-not-reading',
    'likely',
    /had not moved for 5 s .* heard 2 s before/,
    {
      occasion: 'failed',
      errorCode: 'ETIMEDOUT',
      knows: { silentMs: 1_999, writeProgressAgeMs: 5_000, queuedBytes: 9 },
    },
  ],
  // Silent too long, never heard, or nothing of ours waits: nothing speaks for the path.
  ...[
    { silentMs: 2_000, writeProgressAgeMs: 5_000 },
    { silentMs: 1_999, writeProgressAgeMs: 5_000, heard: false },
    { silentMs: 1_999 },
    { silentMs: 1_999, writeProgressAgeMs: 3_998, queuedBytes: 9 }, // heard last when our last byte left
  ].map(
    (knows) =>
      [
        'kernel-timeout',
        'link-dead',
        'certain',
        /gave up/,
        { occasion: 'failed', errorCode: 'ETIMEDOUT', knows },
      ] as [string, string, string, RegExp, Case],
  ),
  [
    'own-lateness',
    'we-were-late',
    'likely',
    /did not run for 501 ms of the 2 s of silence/,
    { occasion: 'suspect', knows: { ownLagMs: 501, silentMs: 2_000 }, kernel: {} },
  ],
  [
    'turned-away',
    'peer-not-reading',
    'likely',
    /66 kB wait here, though/,
    { kernel: { unackedBytes: 65_536, retransmits: 3, ackAgeMs: 300 } },
  ],
  [
    'outbound-lost',
    'link-dead',
    'likely',
    /arrive, but ours do not: 65 kB/,
    { kernel: { unackedBytes: 65_000, retransmits: 3, ackAgeMs: 300 } },
  ],
  [
    'accepted-only',
    'never-answered',
    'certain',
    /nobody ever answered in 3 s/,
    { knows: { heard: false }, kernel: {} },
  ],
  // Asked about before it is suspect, a peer that was never heard is not well; it may still answer.
  [
    'accepted-only',
    'never-answered',
    'likely',
    /nobody ever answered in 300 ms/,
    { occasion: 'asked', knows: YOUNG, kernel: { ackAgeMs: 250 } },
  ],
  [
    'accepted-only',
    'never-answered',
    'certain',
    /./,
    { occasion: 'asked', knows: { heard: false, silentMs: 2_000 }, kernel: {} },
  ],
  ['kernel-answers', 'process-hung', 'certain', /process hangs: .* for 3 s/, { kernel: {} }],
  ['kernel-answers', 'process-hung', 'likely', /./, { occasion: 'suspect', kernel: {} }],
  // The newest question is still on its way, an older one was acknowledged.
  ['kernel-answers', 'process-hung', 'certain', /./, { kernel: { unackedBytes: 16, ackAgeMs: 1_900 } }],
  // Died for our lateness? Nobody does: at the verdict the kernel decides.
  ['kernel-answers', 'process-hung', 'certain', /./, { knows: { ownLagMs: 900 }, kernel: {} }],
  [
    'unacknowledged',
    'link-dead',
    'likely',
    /16 bytes are not acknowledged/,
    { kernel: { ...NONE, unackedBytes: 16 }, knows: { askedAgeMs: 200 } },
  ],
  [
    'queue-stuck',
    'peer-not-reading',
    'guess',
    /100 bytes wait here and have not moved for 3\.1 s/,
    { knows: { queuedBytes: 100, writeProgressAgeMs: 3_100 } },
  ],
  [
    'queue-stuck',
    'peer-not-reading',
    'guess',
    /./,
    { occasion: 'suspect', knows: { queuedBytes: 9, writeProgressAgeMs: 1_500, askedAgeMs: undefined } },
  ],
  ['never-heard', 'never-answered', 'guess', /nothing valid was ever heard/, { knows: { heard: false } }],
  ['never-heard', 'never-answered', 'guess', /heard in 300 ms/, { occasion: 'asked', knows: YOUNG }],
  // The application of a peer that was never heard cannot be judged.
  [
    'never-heard',
    'never-answered',
    'guess',
    /./,
    { occasion: 'asked', knows: { ...YOUNG, business: 'hung' } },
  ],
  ['silent', 'link-dead', 'guess', /path is dead, or the process hangs/, {}],
  // Figures from before we asked say nothing of our question.
  ['silent', 'link-dead', 'guess', /./, { kernel: { kernelAgeMs: 2_001, ackAgeMs: 2_001 } }],
  [
    'silent',
    'link-dead',
    'guess',
    /./,
    { kernel: { ...NONE, unackedBytes: 16 }, knows: { askedAgeMs: 199 } },
  ],
  // By /proc the bytes may be our newest question, sent a moment before, and the older ones acknowledged.
  ['silent', 'link-dead', 'guess', /./, { kernel: { ...BY_PROC, kernelAgeMs: 201 } }],
  ['unacknowledged', 'link-dead', 'likely', /./, { kernel: { ...BY_PROC, kernelAgeMs: 200 } }],
];

describe('the rules', () => {
  test.each(CASES)('%s: %s, %s', (name, cause, confidence, sentence, given) => {
    expect(ruleOf(given)).toBe(name);
    const diagnosis = diagnose(findings(given));
    expect(diagnosis).toMatchObject({ cause, confidence, evidence: findings(given).evidence });
    expect(diagnosis.sentence).toMatch(sentence);
    expect(diagnosis.sentence).toMatch(/^[A-Z].*[^.]\.$/);
  });

  test('every row has a case', () => {
    const tried = new Set(CASES.map(([name]) => name));
    expect(RULES.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
  });

  test('the table in spec/DIAGNOSIS.md is this table', () => {
    const text = readFileSync(new URL('../../../spec/DIAGNOSIS.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `([\w-]+)` \| .+ \| `([\w-]+)` \| (\w+) \|$/gm)].map((row) =>
      row.slice(1),
    );
    expect(rows).toEqual(RULES.map(({ name, cause, confidence }) => [name, cause, confidence]));
  });

  test('whatever the findings, there is a cause, a sentence without holes, and nobody dies of our lateness', () => {
    const age = fc.option(fc.nat(10_000), { nil: undefined });
    const any = fc.record({
      occasion: fc.constantFrom<Occasion>('suspect', 'dead', 'ended', 'failed', 'business', 'asked'),
      errorCode: fc.constantFrom(
        undefined,
        'ETIMEDOUT',
        'ECONNRESET',
        'EPIPE',
        'ENETDOWN',
        'ERR_SSL_X',
        'EWHAT',
      ),
      isOpen: fc.boolean(),
      knows: fc.record({
        ...{ heard: fc.boolean(), isPaused: fc.boolean(), isHeldByUs: fc.boolean() },
        ...{ silentMs: fc.nat(10_000), ownLagMs: fc.nat(3_000), queuedBytes: fc.nat(1e9) },
        ...{ askedAgeMs: age, unansweredMs: age, writeProgressAgeMs: age },
        business: fc.constantFrom(
          undefined,
          'ok' as const,
          'failed' as const,
          'unknown' as const,
          'hung' as const,
        ),
      }),
      kernel: fc.option(
        fc.record({
          ...{
            kernelAgeMs: fc.nat(5_000),
            ackAgeMs: age,
            unackedBytes: fc.nat(1e6),
            retransmits: fc.nat(15),
          },
          ...{ windowClosed: fc.boolean(), unansweredProbes: fc.nat(10) },
        }),
        { nil: undefined },
      ),
    });
    fc.assert(
      fc.property(any, (given) => {
        const { cause, confidence, sentence } = diagnose(findings(given as Case));
        if (given.occasion === 'suspect') expect(confidence).not.toBe('certain');
        expect(sentence).toMatch(/^[A-Z].*\.$/);
        expect(sentence).not.toMatch(/undefined|NaN|null/);
        if (given.knows.heard === false) expect(sentence).not.toMatch(/Nothing is wrong/);
        if (given.occasion === 'dead') expect(cause).not.toBe('we-were-late');
      }),
    );
  });

  test.each([
    [0.4, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [4_460, '4.5 s'],
    [119_999, '120 s'],
    [120_000, '2 min'],
  ])('%d ms is said as %s', (ms, text) => {
    expect(span(ms)).toBe(text);
  });
});

describe('evidence', () => {
  test('ages of the kernel grow with the age of its figures; a link that never opened has no silence', () => {
    const figures = { ...(KERNEL as Record<string, unknown>), ackAgeMs: 30, rttMs: 7 };
    const sample = { figures: figures as never, takenMs: 900 };
    expect(evidenceOf(KNOWLEDGE, true, sample, 1_000)).toMatchObject({
      stood: true,
      source: 'tcp-info',
      kernelAgeMs: 100,
      ackAgeMs: 130,
      silentMs: 3_000,
      kernelRttMs: 7,
      rttMs: 5,
    });
    expect(evidenceOf(KNOWLEDGE, false, undefined, 1_000)).toMatchObject({
      stood: false,
      source: 'clocks',
      silentMs: 0,
      quietMs: 0,
    });
  });
});
