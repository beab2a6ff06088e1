/** Runs a system command to its end and gives back what it printed; what it complained about becomes the error. */
import { execFile } from 'node:child_process';

const LIMIT_MS = 20_000;

export function command(program: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { timeout: LIMIT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
    child.stdin?.on('error', () => {}); // it ended without reading all: its status tells
    child.stdin?.end(input);
  });
}
