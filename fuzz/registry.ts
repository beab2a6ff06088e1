/**
 * The fuzz targets: what each is about (its invariant opens its file), the function, and how build-then-damage mode
 * makes its inputs. The functions have the signature that coverage-guided fuzzers such as jazzer.js call.
 */
import type fc from 'fast-check';
import { decodeInputs, frameInputs, plainStreams, streamInputs, windowInputs } from './arbitraries.ts';
import { fuzz as canary } from './targets/canary.ts';
import { fuzz as decodeInput } from './targets/decode-input.ts';
import { fuzz as frame } from './targets/frame.ts';
import { fuzz as splitter } from './targets/splitter.ts';
import { fuzz as splitterShared } from './targets/splitter-shared.ts';
import { fuzz as window } from './targets/window.ts';

export interface Target {
  readonly name: string;
  /** One line for the list. */
  readonly about: string;
  /** Returns when the invariant holds for `data`, throws when it does not. Must not write to `data`. */
  fuzz(data: Buffer): void;
  readonly built: fc.Arbitrary<Uint8Array>;
}

export const TARGETS: readonly Target[] = [
  { name: 'frame', about: 'codec against the naive codec', fuzz: frame, built: frameInputs() },
  { name: 'splitter', about: 'heartbeat-only streams, any cuts', fuzz: splitter, built: streamInputs(false) },
  {
    name: 'splitter-shared',
    about: 'streams shared with a host protocol, any cuts',
    fuzz: splitterShared,
    built: streamInputs(true),
  },
  { name: 'window', about: 'duplicate window against a model', fuzz: window, built: windowInputs() },
  {
    name: 'decode-input',
    about: 'what `wirebeat decode` may be given',
    fuzz: decodeInput,
    built: decodeInputs(),
  },
  {
    name: 'canary',
    about: 'must fail at once: shows that a broken invariant is seen',
    fuzz: canary,
    built: plainStreams(),
  },
];
