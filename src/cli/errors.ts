/**
 * How a command ends. The exit code is a contract with scripts: 0 the verdict is good, 1 it is bad or the work could
 * not be done, 2 the command line (or a file it names) cannot be used. Whatever happens, people get one line on
 * stderr; the stack behind it only with WIREBEAT_DEBUG=1.
 */
import { CommanderError } from 'commander';

export type ExitCode = 0 | 1 | 2;

export const GOOD: ExitCode = 0;
export const BAD: ExitCode = 1;
const UNUSABLE: ExitCode = 2;

/** What was asked for cannot be understood or used. */
export class UsageError extends Error {}

function onOneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}

/** The message of anything thrown, on one line. */
export function messageOf(error: unknown): string {
  return onOneLine(error instanceof Error ? error.message || error.name : String(error));
}

/** What the parser of the command line says, without its own prefix. */
export function parserMessage({ message }: { readonly message: string }): string {
  return onOneLine(message.replace(/^error: /, ''));
}

/** Say what went wrong, unless the parser of the command line has said it already; returns the exit code. */
export function reportFailure(error: unknown, wantsJson = false): ExitCode {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return GOOD;
    if (wantsJson)
      process.stdout.write(`${JSON.stringify({ type: 'error', message: parserMessage(error) })}\n`);
    return UNUSABLE;
  }
  const shown = process.env.WIREBEAT_DEBUG === '1' && error instanceof Error ? error.stack : messageOf(error);
  process.stderr.write(`wirebeat: ${shown}\n`);
  return error instanceof UsageError ? UNUSABLE : BAD;
}
