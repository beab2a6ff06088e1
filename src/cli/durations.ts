/**
 * Durations on the command line: `500ms`, `2s`, `1.5s`, `1m`, `1h`. A bare number is refused rather than guessed: it
 * would be seconds to everyone who knows the system's ping and milliseconds to everyone who knows Node.
 */
import { InvalidArgumentError, Option } from 'commander';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Whole milliseconds. Throws what commander reports, saying what is expected. */
export function parseDurationMs(text: string): number {
  if (text === '0') return 0;
  const parts = /^(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(text);
  if (parts === null) {
    const hint = /^\d+(\.\d+)?$/.test(text) ? ' It needs a unit.' : '';
    throw new InvalidArgumentError(`Expected a duration such as 500ms, 2s, 1m or 1h.${hint}`);
  }
  const ms = Number(parts[1]) * (UNIT_MS[parts[2]!] as number);
  const wholeMs = Math.round(ms);
  if (Math.abs(ms - wholeMs) > 1e-6) throw new InvalidArgumentError('Expected whole milliseconds.');
  return wholeMs;
}

/** A parser for an option whose duration must lie in [minMs, maxMs]. */
export function durationIn(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const ms = parseDurationMs(text);
    if (ms < minMs || ms > maxMs) {
      throw new InvalidArgumentError(`Expected ${formatDuration(minMs)} to ${formatDuration(maxMs)}.`);
    }
    return ms;
  };
}

/** As it is typed: `1500ms`, `2s`, `1m`. `parseDurationMs` reads it back. */
export function typedDuration(ms: number): string {
  const [size, unit] = [[3_600_000, 'h'] as const, [60_000, 'm'] as const, [1_000, 's'] as const].find(
    ([unitMs]) => ms >= unitMs && ms % unitMs === 0,
  ) ?? [1, 'ms'];
  return `${ms / size}${unit}`;
}

/** An option for a duration in [minMs, maxMs]; `--help` shows the default as it would be typed. */
export function durationOption(
  flags: string,
  description: string,
  [minMs, maxMs]: readonly [number, number],
  defaultMs: number,
): Option {
  return new Option(flags, description)
    .argParser(durationIn(minMs, maxMs))
    .default(defaultMs, typedDuration(defaultMs));
}

/** For people, at most two decimals: `500 ms`, `1.5 s`, `2 min`, `4.66 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const [value, unit] =
    ms < 60_000 ? [ms / 1_000, 's'] : ms < 3_600_000 ? [ms / 60_000, 'min'] : [ms / 3_600_000, 'h'];
  return `${Number(value.toFixed(2))} ${unit}`;
}
