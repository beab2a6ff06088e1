/** One frame, as a line for people and as fields for programs; the same in `decode` and `encode`. */
import { Flag } from '../wire/constants.ts';
import { type FrameName, frameName } from '../wire/flags.ts';
import type { Frame } from '../wire/frame.ts';
import { describeParameter } from './parameters.ts';
import { flagNames } from './words.ts';

export interface FrameText {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** `frame` has legal flags. */
export function describeFrame({ flags, seq, timestamp }: Frame): FrameText {
  const name = frameName(flags) as FrameName;
  const words = flagNames(flags);
  const shared = { name, flags, flagNames: words, seq };
  const tail = words.length === 0 ? 'no flags' : `flags=${words.join(',')}`;
  if ((flags & Flag.Param) === 0) {
    return { fields: { ...shared, timestamp }, text: `${name} seq=${seq} timestamp=${timestamp} ${tail}` };
  }
  const parameter = describeParameter(timestamp);
  return {
    fields: { ...shared, parameter: parameter.fields },
    text: `${name} seq=${seq} ${parameter.text}; ${tail}`,
  };
}
