/**
 * Planted mistakes: does the sim see them? Each is one textual change to a private copy of the sources, so that the
 * product carries no hooks for it. A test holds that every text to be changed occurs exactly once.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'no-drain',
    file: 'src/session/session.ts',
    find: 'return NEEDS_POLL;',
    replace: 'void 0;',
  },
  {
    name: 'unbounded-grace',
    file: 'src/session/silence.ts',
    find: 'if (this.#graces >= MAX_GRACES) return false;',
    replace: '',
  },
  {
    name: 'rearm-later-only',
    file: 'src/net/link-core.ts',
    find: 'if (deadlineMs !== this.#armedMs) this.#armAt(deadlineMs);',
    replace: 'if (deadlineMs > this.#armedMs) this.#armAt(deadlineMs);',
  },
  {
    name: 'window-before-crc',
    file: 'src/wire/splitter.ts',
    find: 'if (failure === 0) {',
    replace: 'if (failure === 0 || failure === BAD_CRC) {',
  },
  {
    name: 'ack-twice',
    file: 'src/session/pings.ts',
    find: 'if (age < 32) this.#near &= ~(1 << age);',
    replace: 'if (age < 32) return true;',
  },
  {
    name: 'sends-are-life',
    file: 'src/session/silence.ts',
    find: 'Math.max(this.#sinceMs, this.#movedMs)',
    replace: 'Math.max(this.#sinceMs, this.#movedMs, this.#transmitter.lastTxMs)',
  },
  {
    name: 'pause-ignored',
    file: 'src/session/session.ts',
    find: 'this.#silence.isPaused = true;',
    replace: '',
  },
  {
    name: 'phase-not-counted',
    file: 'src/session/silence.ts',
    find: 'return this.heard || firstPingMs <= this.lastRxMs + this.#tickMs ? this.lastRxMs : firstPingMs;',
    replace:
      'return this.heard ? this.lastRxMs : Math.min(this.lastRxMs, firstPingMs - this.#limits.rxIntervalMs);',
  },
  {
    name: 'min-rto-interval',
    file: 'src/session/questions.ts',
    find: 'return this.#askedMs + this.rtt.rtoMs;',
    replace: 'return this.#askedMs + Math.min(this.rtt.rtoMs, this.#limits.rxIntervalMs);',
  },
  {
    name: 'beat-in-host-frame',
    file: 'src/net/outbound.ts',
    find: 'return this.#framing?.isOpen === true;',
    replace: 'return false;',
  },
  {
    name: 'duplicate-accepted',
    file: 'src/wire/window.ts',
    find: "if ((this.#recent & mask) !== 0) return 'duplicate';",
    replace: '',
  },
  {
    name: 'sender-slows-at-poll',
    file: 'src/session/negotiation.ts',
    find: 'const tx = Math.min(this.mine.desiredMinTxMs, wish);',
    replace: 'const tx = wish;',
  },
  {
    name: 'receiver-shortens-at-poll',
    file: 'src/session/negotiation.ts',
    find: 'return Math.max(peerTx, this.mine.requiredMinRxMs, wish.requiredMinRxMs);',
    replace: 'return Math.max(peerTx, wish.requiredMinRxMs);',
  },
];

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** How often a mutant's text occurs in its file: must be 1. */
export function occurrences(mutant: Mutant): number {
  return readFileSync(join(ROOT, mutant.file), 'utf8').split(mutant.find).length - 1;
}

/** A private copy of sources and sim with the mutant in it; call `remove` when done. */
export function plant(mutant: Mutant): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'wirebeat-mutant-'));
  for (const part of ['src', 'test/sim', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, mutant.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text.replace(mutant.find, () => mutant.replace),
  );
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
