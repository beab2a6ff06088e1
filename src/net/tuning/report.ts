/** What tuning came to: asked, in force, and how that is known. Nothing is called set that was only asked for. */
import { keepAliveGivesUpMs } from '../../session/kernel-patience.ts';

/** One setting. */
export interface TunedSetting {
  readonly asked: number | boolean;
  /** What holds now; undefined: not known. */
  readonly inForce: number | boolean | undefined;
  /**
   * set: as asked. different: something else holds. emulated: this process does it as well as it can. pending: it will
   * be set when the socket is connected, or the server listens. unsupported: out of reach, see `note`. unknown: nobody
   * can tell.
   */
  readonly status: 'set' | 'different' | 'emulated' | 'pending' | 'unsupported' | 'unknown';
  /** kernel: read back from it. node: by the word of Node, which takes values without reading them back. */
  readonly knownFrom?: 'kernel' | 'node';
  readonly note?: string;
}

export type TunedName =
  | 'noDelay'
  | 'keepAlive'
  | 'keepAliveIdleMs'
  | 'keepAliveIntervalMs'
  | 'keepAliveCount'
  | 'userTimeoutMs';

export type TunedSettings = Readonly<Partial<Record<TunedName, TunedSetting>>>;

export interface TuneReport {
  /** Where it was set. What a listener has, the sockets it accepts have from the start. */
  readonly appliedTo: 'socket' | 'listener' | 'each accepted socket';
  readonly settings: TunedSettings;
  /**
   * A dead path of an idle connection is found by the kernel after this long; Infinity when it does not look, NaN when
   * that is not known yet.
   */
  readonly idleDetectionMs: number;
  /** What follows from the settings together, one clause each. */
  readonly notes: readonly string[];
  /** The same, as it is now: read anew from the kernel. */
  read(): TuneReport;
}

const number = (setting: TunedSetting | undefined): number | undefined =>
  typeof setting?.inForce === 'number' ? setting.inForce : undefined;

/** What the settings that are in force mean together. */
export function summarise(settings: TunedSettings): Pick<TuneReport, 'idleDetectionMs' | 'notes'> {
  if (settings.keepAlive?.inForce === false) return { idleDetectionMs: Infinity, notes: [] };
  const idleMs = number(settings.keepAliveIdleMs);
  const intervalMs = number(settings.keepAliveIntervalMs);
  const count = number(settings.keepAliveCount);
  if (idleMs === undefined || intervalMs === undefined || count === undefined) {
    return { idleDetectionMs: Number.NaN, notes: [] };
  }
  const byKernel = settings.userTimeoutMs?.knownFrom === 'kernel';
  const userTimeoutMs = byKernel ? number(settings.userTimeoutMs) : undefined;
  const detectionMs = keepAliveGivesUpMs({ idleMs, intervalMs, count }, userTimeoutMs);
  const byCountMs = keepAliveGivesUpMs({ idleMs, intervalMs, count });
  const notes =
    detectionMs === byCountMs
      ? []
      : [
          `userTimeoutMs ${userTimeoutMs} replaces keepAliveCount ${count}: ` +
            `idle connections are given up after ${detectionMs} ms instead of ${byCountMs}`,
        ];
  return { idleDetectionMs: detectionMs, notes };
}
