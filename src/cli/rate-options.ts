/**
 * How often to beat and when to give up, as flags: by name (--preset), by number, or both, the number winning. What
 * does not fit is refused, what is doubtful is said on stderr, by the library's own validator.
 */
import { type Command, Option } from 'commander';
import { type CoherenceInput, checkCoherence, type Finding } from '../session/coherence.ts';
import { MAX_INTERVAL_MS, MIN_INTERVAL_MS, SESSION_DEFAULTS } from '../session/policy.ts';
import { PRESET_NAMES, PRESETS, type PresetName } from '../session/presets.ts';
import { durationIn, typedDuration } from './durations.ts';
import { UsageError } from './errors.ts';
import { flagOf, inFlags } from './flag-words.ts';
import { integerBetween } from './numbers.ts';

export interface RateFlags {
  preset?: PresetName;
  interval?: number;
  deadAfter?: number;
  pathIdleLimit?: number;
  json?: boolean;
}

export interface CliRates {
  readonly intervalMs: number;
  readonly deadAfter: number;
}

/** `what` an interval is here. */
export function addRateFlags(command: Command, what: string, defaults: CliRates): Command {
  return command
    .addOption(
      new Option('--preset <name>', 'interval and dead-after for a kind of path').choices(PRESET_NAMES),
    )
    .option(
      '-i, --interval <duration>',
      `${what} (default: ${typedDuration(defaults.intervalMs)}, or the preset's)`,
      durationIn(MIN_INTERVAL_MS, MAX_INTERVAL_MS),
    )
    .option(
      '--dead-after <number>',
      `dead after this many silent intervals (default: ${defaults.deadAfter}, or the preset's)`,
      integerBetween(1, 255),
    )
    .option(
      '--path-idle-limit <duration>',
      'the path forgets what is idle for so long: refuse an interval that does not keep it open',
      durationIn(1, 7 * 86_400_000),
    );
}

/** What the flags come to. UsageError when settings contradict each other; warnings are written to stderr. */
export function ratesOf(
  flags: RateFlags,
  defaults: CliRates,
  besides: Omit<Partial<CoherenceInput>, keyof CliRates> = {},
): CliRates {
  const base = flags.preset === undefined ? defaults : PRESETS[flags.preset];
  const rates = {
    intervalMs: flags.interval ?? base.intervalMs,
    deadAfter: flags.deadAfter ?? base.deadAfter,
  };
  const findings = checkCoherence({
    ...rates,
    tickMs: SESSION_DEFAULTS.tickMs,
    ...(flags.pathIdleLimit !== undefined && { pathIdleLimitMs: flags.pathIdleLimit }),
    ...besides,
  });
  for (const finding of findings) {
    if (finding.severity === 'error') throw new UsageError(inFlags(finding.message));
    warn(finding, flags.json === true);
  }
  return rates;
}

function warn(finding: Finding, json: boolean): void {
  const { code } = finding;
  const message = inFlags(finding.message);
  const event = { type: 'warning', code, option: flagOf(finding), message };
  process.stderr.write(json ? `${JSON.stringify(event)}\n` : `wirebeat: warning: ${message}\n`);
}
