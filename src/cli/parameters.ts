/**
 * Parameter words for people: `goaway-info=too-fast:30s` to the word, and a word to `GOAWAY_INFO reason 2 (too fast)`.
 */
import { InvalidArgumentError } from 'commander';
import { goAwayRetryAfterMs, goAwayWord } from '../session/goaway.ts';
import { GoAwayReason, PARAM_VALUE_MAX, Param, RefuseCode } from '../wire/constants.ts';
import {
  goAwayReason,
  makeFinal,
  makeParam,
  makePoll,
  makeRefuse,
  paramId,
  paramToken,
  paramValue,
  pollDigest,
  refuseCode,
} from '../wire/param.ts';
import { parseDurationMs } from './durations.ts';
import { integerOf } from './numbers.ts';
import { parameterName, reasonName, refusalName, typedWords, valueOfWord } from './words.ts';

const FORMS = `Expected NAME=VALUE, where NAME is one of ${typedWords(Param).join(', ')} or a number.`;

/** The word of `NAME=VALUE`. Throws what commander reports. */
export function parseParameter(text: string): number {
  const equals = text.indexOf('=');
  const name = text.slice(0, Math.max(0, equals));
  const id = valueOfWord(Param, name) ?? integerOf(name);
  if (id === undefined || id > 0xff) throw new InvalidArgumentError(FORMS);
  const [first = '', second, ...rest] = text.slice(equals + 1).split(':');
  const needsTwo = id === Param.Poll || id === Param.Final || id === Param.Refuse;
  if (needsTwo !== (second !== undefined) && !(id === Param.GoAwayInfo && !needsTwo)) {
    throw new InvalidArgumentError(needsTwo ? 'Expected two values, TOKEN:VALUE.' : 'Expected one value.');
  }
  if (rest.length > 0) throw new InvalidArgumentError('Expected at most two values.');
  switch (id) {
    case Param.DesiredMinTx:
    case Param.RequiredMinRx:
    case Param.LoopLag:
      return makeParam(id, inRange('ms', parseDurationMs(first), PARAM_VALUE_MAX));
    case Param.Poll:
    case Param.Final: {
      const poll = makePoll(wordOrNumber('token', first, 0xff), wordOrNumber('digest', second!, 0xffff));
      return id === Param.Poll ? poll : makeFinal(poll);
    }
    case Param.GoAwayInfo:
      return goAwayWord(wordOrNumber('reason', first, 0xff, GoAwayReason), retryAfterMs(second));
    case Param.Refuse:
      return makeRefuse(wordOrNumber('token', first, 0xff), wordOrNumber('code', second!, 0xff, RefuseCode));
    default:
      return makeParam(id, wordOrNumber('value', first, PARAM_VALUE_MAX));
  }
}

function retryAfterMs(text: string | undefined): number {
  if (text === undefined) return 0;
  return text === 'never' ? Infinity : parseDurationMs(text);
}

function wordOrNumber(what: string, text: string, max: number, words: Record<string, number> = {}): number {
  const value = valueOfWord(words, text) ?? integerOf(text);
  if (value === undefined) {
    const choice = Object.keys(words).length > 0 ? ` or one of ${typedWords(words).join(', ')}` : '';
    throw new InvalidArgumentError(`Expected the ${what} as a number${choice}.`);
  }
  return inRange(what, value, max);
}

function inRange(what: string, value: number, max: number): number {
  if (value > max) throw new InvalidArgumentError(`Expected a ${what} of at most ${max}.`);
  return value;
}

/** What a word says: `fields` for programs, `text` for people. */
export function describeParameter(word: number): { fields: Record<string, unknown>; text: string } {
  const id = paramId(word);
  const value = paramValue(word);
  const name = parameterName(id);
  const describe = (fields: Record<string, unknown>, text: string) => ({
    fields: { id, name: name ?? null, value, ...fields },
    text: `${name ?? `parameter ${id}`} ${text}`,
  });
  const token = paramToken(word);
  switch (id) {
    case Param.DesiredMinTx:
    case Param.RequiredMinRx:
    case Param.LoopLag:
      return describe({}, `${value} ms`);
    case Param.Poll:
    case Param.Final: {
      const digest = pollDigest(word);
      return describe({ token, digest }, `token ${token} digest 0x${digest.toString(16).padStart(4, '0')}`);
    }
    case Param.GoAwayInfo: {
      const reason = goAwayReason(word);
      const waitMs = goAwayRetryAfterMs(word);
      const wait =
        waitMs === 0 ? 'own backoff' : waitMs === Infinity ? 'never' : `${(waitMs / 1_000).toFixed(1)} s`;
      return describe(
        { reason, retryAfterMs: waitMs },
        `reason ${reason}${inBrackets(reasonName(reason))}, retry after: ${wait}`,
      );
    }
    case Param.Refuse: {
      const code = refuseCode(word);
      return describe({ token, code }, `token ${token} code ${code}${inBrackets(refusalName(code))}`);
    }
    case Param.DetectMult:
      return describe({}, String(value));
    default:
      return describe({}, `value ${value}${inBrackets(id >= 128 ? 'private' : 'unassigned')}`);
  }
}

function inBrackets(text: string | undefined): string {
  return text === undefined ? '' : ` (${text})`;
}
