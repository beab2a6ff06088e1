/**
 * Tests that need something beyond Node say so by name. Where the tool is missing the test becomes a skip that
 * carries the tool's name in its title; with WIREBEAT_REQUIRE_ALL=1 the reporter turns every skip into a failure.
 */
import { spawnSync } from 'node:child_process';

const found = new Map<string, boolean>();

/** True when `tool` can be started from PATH. The answer is kept for the life of the process. */
export function hasTool(tool: string, versionArgument = '--version'): boolean {
  let known = found.get(tool);
  if (known === undefined) {
    known = spawnSync(tool, [versionArgument], { stdio: 'ignore' }).error === undefined;
    found.set(tool, known);
  }
  return known;
}

/** Title suffix for a test that needs `tool`: empty when present, otherwise names what is missing. */
export function needs(tool: string): string {
  return hasTool(tool) ? '' : ` [needs ${tool}: not installed here]`;
}
