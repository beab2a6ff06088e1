/**
 * What the library says of options and milliseconds, in the words of a command line: flags and durations.
 */
import type { Finding } from '../session/coherence.ts';
import { formatDuration } from './durations.ts';

/** Up to ten minutes in seconds: 68 s are not 1.13 min to anybody. */
export const timeOf = (ms: number): string =>
  ms >= 1_000 && ms < 600_000 ? `${Number((ms / 1_000).toFixed(3))} s` : formatDuration(ms);

/** The flag that changes an option. */
const FLAGS: Readonly<Record<string, string>> = {
  'keepAlive.idleMs': '--keepalive-idle',
  'keepAlive.intervalMs': '--keepalive-interval',
  'keepAlive.count': '--keepalive-count',
  keepAlive: '--keepalive-*',
  intervalMs: '--interval',
  deadAfter: '--dead-after',
  userTimeoutMs: '--user-timeout',
  firstLifeMs: '--first-life',
  pathIdleLimitMs: '--path-idle-limit',
};

/** What the library says of values, in the command's words. */
const WORDS: Readonly<Record<string, string>> = {
  'keepAlive false': '--no-keepalive',
  'say false': 'say off, or follow',
  'whole seconds in ms': 'whole seconds',
  suspectAfter: 'suspect after',
  ...FLAGS,
};
const LIBRARY_WORDS = new RegExp(`\\b(${Object.keys(WORDS).join('|').replaceAll('.', '\\.')})\\b`, 'g');

/** Times of the library: with their unit, after "got", or three digits and more; but no counts. */
const COUNT = '(?:--dead-after|suspect after|--keepalive-count|tcp_retries2 =) ';
const LIBRARY_TIMES = new RegExp(
  `(?<!${COUNT})\\b(?:(\\d+) ms|(\\d{3,}|(?<=got )\\d+)(?! x \\d| s\\b))\\b`,
  'g',
);

/** A sentence of the library's, for whoever typed flags and durations. */
export const inFlags = (text: string): string =>
  text
    .replace(LIBRARY_WORDS, (word) => WORDS[word] as string)
    .replace(LIBRARY_TIMES, (_, withUnit, bare) => timeOf(Number(withUnit ?? bare)));

export const flagOf = ({ option }: Finding): string => FLAGS[option] ?? option;
