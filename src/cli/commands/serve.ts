/**
 * `wirebeat serve`: the reference echo server, with a line for each thing that happens to a link. On the first signal
 * it says GOAWAY on every link, lets them drain, and exits 0.
 */
import type { Socket } from 'node:net';
import { type Command, Option } from 'commander';
import type { HeartbeatHub } from '../../net/hub.ts';
import type { Link } from '../../net/types.ts';
import { createEchoServer, type EchoServer } from '../../server/echo-server.ts';
import { ECHO_SERVER_DEFAULTS } from '../../server/options.ts';
import { MAX_INTERVAL_MS, MIN_INTERVAL_MS, SESSION_DEFAULTS } from '../../session/policy.ts';
import { type Address, formatAddress, parseHost, parsePath } from '../address.ts';
import { durationIn, formatDuration } from '../durations.ts';
import { type ExitCode, GOOD, UsageError } from '../errors.ts';
import { addLimitFlags, type LimitFlags, limitsOf } from '../limit-options.ts';
import { closedText, deadText, leavingText, recoveredText, suspectText } from '../link-text.ts';
import { integerBetween } from '../numbers.ts';
import type { Output } from '../output.ts';
import { interruption, runCommand, type Shell } from '../run.ts';
import { addServerTlsFlags, serverTls, type TlsFlags } from '../tls-options.ts';

interface ServeFlags extends TlsFlags, LimitFlags {
  host?: string;
  port?: number;
  unix?: string;
  interval: number;
  deadAfter: number;
  mode: 'mixed' | 'heartbeat';
  reserved: 'strict' | 'ignore';
  drain: number;
  quiet?: boolean;
  json?: boolean;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7400;
/** Below the ten seconds that supervisors commonly grant between SIGTERM and SIGKILL. */
const DEFAULT_DRAIN_MS = 5_000;
const MAX_DRAIN_MS = 300_000;

const EXAMPLES = `
Examples:
  $ wirebeat serve
  $ wirebeat serve --port 0 --interval 1s --dead-after 3 --json
  $ wirebeat serve --host ::1 --port 7400
  $ wirebeat serve --unix /run/echo.sock --mode heartbeat
  $ wirebeat serve --port 7443 --tls --cert server.pem --key server.key

SIGTERM or Ctrl-C: GOAWAY on every link, drain, exit 0; a second one: at once.`;

export function addServe(program: Command): void {
  const command = program
    .command('serve')
    .summary('run the reference echo server')
    .description('Answer heartbeats and echo length-prefixed frames, until a signal comes.')
    .option('--host <host>', `address to listen on (default: ${DEFAULT_HOST})`, parseHost)
    .option(
      '--port <number>',
      `port to listen on, 0 for any free one (default: ${DEFAULT_PORT})`,
      integerBetween(0, 65_535),
    )
    .option('--unix <path>', 'listen on this unix socket instead', parsePath)
    .option(
      '-i, --interval <duration>',
      'longest time between our beats',
      durationIn(MIN_INTERVAL_MS, MAX_INTERVAL_MS),
      SESSION_DEFAULTS.intervalMs,
    )
    .option(
      '--dead-after <number>',
      'dead after this many silent intervals',
      integerBetween(1, 255),
      SESSION_DEFAULTS.deadAfter,
    )
    .addOption(
      new Option('--mode <mode>', 'share links with the echo protocol, or not')
        .choices(['mixed', 'heartbeat'])
        .default(ECHO_SERVER_DEFAULTS.mode),
    )
    .addOption(
      new Option('--reserved <rule>', 'what to do about reserved bytes in use')
        .choices(['strict', 'ignore'])
        .default(ECHO_SERVER_DEFAULTS.reserved),
    )
    .option(
      '--drain <duration>',
      'longest wait for links to end after a signal',
      durationIn(0, MAX_DRAIN_MS),
      DEFAULT_DRAIN_MS,
    )
    .option('-q, --quiet', 'only the listening line and the summary')
    .option('--json', 'one JSON object per event, then a summary');
  addServerTlsFlags(addLimitFlags(command))
    .addHelpText('after', EXAMPLES)
    .action((flags: ServeFlags) => runCommand({ json: flags.json }, (shell) => serve(shell, flags)));
}

async function serve({ output, interrupted }: Shell, flags: ServeFlags): Promise<ExitCode> {
  if (flags.unix !== undefined && (flags.host !== undefined || flags.port !== undefined)) {
    throw new UsageError('--unix excludes --host and --port');
  }
  const tls = serverTls(flags);
  const server = createEchoServer({
    ...(tls !== undefined && { tls }),
    mode: flags.mode,
    reserved: flags.reserved,
    intervalMs: flags.interval,
    deadAfter: flags.deadAfter,
    ...limitsOf(flags),
  });
  if (flags.quiet !== true) logLinks(server.hub, output);
  const startedMs = performance.now();
  const address = await listen(server, flags);
  const service = flags.mode === 'mixed' ? 'heartbeats and echo' : 'heartbeats';
  const what = tls === undefined ? service : `${service} over TLS`;
  output.report(
    { type: 'listening', address, mode: flags.mode, tls: tls !== undefined, intervalMs: flags.interval },
    `listening on ${address}: ${what}, every ${formatDuration(flags.interval)}`,
  );
  await interruption(interrupted);
  const links = server.links;
  output.report(
    { type: 'draining', links, reason: String(interrupted.reason) },
    `${interrupted.reason}: GOAWAY to ${links} links, up to ${formatDuration(flags.drain)} to drain`,
  );
  await server.close({ drainMs: flags.drain });
  const { dead, closed } = server.hub.stats();
  const served = Object.values(closed).reduce((sum, count) => sum + count, 0);
  output.summary(
    { served, dead, closed, refused: server.refused, upMs: Math.round(performance.now() - startedMs) },
    `${served} links served, ${dead} found dead`,
  );
  return GOOD;
}

async function listen(
  server: EchoServer,
  { host = DEFAULT_HOST, port = DEFAULT_PORT, unix }: ServeFlags,
): Promise<string> {
  const bound = await server.listen(unix === undefined ? { host, port } : { path: unix });
  const address: Address =
    typeof bound === 'string' ? { path: bound } : { host: bound.address, port: bound.port };
  return formatAddress(address);
}

function logLinks(hub: HeartbeatHub, output: Output): void {
  const say = (link: Link, type: string, detail: object, text: string): void =>
    output.report({ type, link: link.id, ...detail }, `link ${link.id} ${text}`);
  hub.on('up', (link) => {
    const from = peerOf(link.socket);
    say(link, 'up', { from }, `up from ${from}`);
  });
  hub.on('suspect', (link, detail) => say(link, 'suspect', detail, suspectText(detail)));
  hub.on('recovered', (link, detail) => say(link, 'recovered', detail, recoveredText(detail)));
  hub.on('degraded', (link, detail) =>
    say(link, 'degraded', detail, detail.degraded ? 'degraded: alive, but not well' : 'no longer degraded'),
  );
  hub.on('one-way', (link, detail) =>
    say(link, 'one-way', detail, `heard, but not answering for ${formatDuration(detail.unansweredMs)}`),
  );
  hub.on('write-stall', (link, detail) =>
    say(link, 'write-stall', detail, `takes no bytes for ${formatDuration(detail.stalledMs)}`),
  );
  hub.on('leaving', (link, detail) => {
    if (detail.by === 'peer') say(link, 'leaving', detail, leavingText(detail));
  });
  hub.on('dead', (link, detail) => say(link, 'dead', detail, deadText(detail)));
  hub.on('closed', (link, detail) => say(link, 'closed', detail, closedText(detail)));
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  if (remoteAddress === undefined || remotePort === undefined) return 'an address unknown';
  return formatAddress({ host: remoteAddress, port: remotePort });
}
