/**
 * `wirebeat serve`: the reference echo server, with a line for each thing that happens to a link. On the first signal
 * it says GOAWAY on every link, lets them drain, and exits 0.
 */
import type { Socket } from 'node:net';
import { type Command, Option } from 'commander';
import type { HeartbeatHub } from '../../net/hub.ts';
import { TUNE_DEFAULTS } from '../../net/index.ts';
import type { Link } from '../../net/types.ts';
import { createEchoServer, type EchoServer } from '../../server/echo-server.ts';
import { ECHO_SERVER_DEFAULTS } from '../../server/options.ts';
import { SESSION_DEFAULTS } from '../../session/policy.ts';
import { type Address, formatAddress, parseHost, parsePath } from '../address.ts';
import { durationIn, durationOption, formatDuration } from '../durations.ts';
import { type ExitCode, GOOD, UsageError } from '../errors.ts';
import { addLimitFlags, type LimitFlags, limitsOf } from '../limit-options.ts';
import { deadText, endText, leavingText, recoveredText, suspectText } from '../link-text.ts';
import { counted, integerBetween } from '../numbers.ts';
import type { Output } from '../output.ts';
import { addRateFlags, type RateFlags, ratesOf } from '../rate-options.ts';
import { interruption, runCommand, type Shell } from '../run.ts';
import { addServerTlsFlags, serverTls, type TlsFlags } from '../tls-options.ts';

interface ServeFlags extends TlsFlags, LimitFlags, RateFlags {
  host?: string;
  port?: number;
  unix?: string;
  mode: 'mixed' | 'heartbeat';
  reserved: 'strict' | 'ignore';
  drain: number;
  retryAfter?: number;
  quiet?: boolean;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7400;
/** Below the ten seconds that supervisors commonly grant between SIGTERM and SIGKILL. */
const DEFAULT_DRAIN_MS = 5_000;
const MAX_DRAIN_MS = 300_000;
/** The most that GOAWAY can say. */
const MAX_RETRY_AFTER_MS = 6_553_400;

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
    .option('--unix <path>', 'listen on this unix socket instead', parsePath);
  addRateFlags(command, 'longest time between our beats', SESSION_DEFAULTS)
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
    .addOption(
      durationOption(
        '--drain <duration>',
        'longest wait for links to end after a signal',
        [0, MAX_DRAIN_MS],
        DEFAULT_DRAIN_MS,
      ),
    )
    .option(
      '--retry-after <duration>',
      'how long clients shall stay away then (default: 1s, and 1s more for every thousand links)',
      durationIn(0, MAX_RETRY_AFTER_MS),
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
  const rates = ratesOf(flags, SESSION_DEFAULTS, { firstLifeMs: flags.firstLife, keepAlive: TUNE_DEFAULTS });
  const server = createEchoServer({
    ...(tls !== undefined && { tls }),
    mode: flags.mode,
    reserved: flags.reserved,
    ...rates,
    ...limitsOf(flags),
  });
  if (flags.quiet !== true) logLinks(server.hub, output);
  const startedMs = performance.now();
  const address = await listen(server, flags);
  const service = flags.mode === 'mixed' ? 'heartbeats and echo' : 'heartbeats';
  const what = tls === undefined ? service : `${service} over TLS`;
  output.report(
    { type: 'listening', address, mode: flags.mode, tls: tls !== undefined, intervalMs: rates.intervalMs },
    `listening on ${address}: ${what}, every ${formatDuration(rates.intervalMs)}`,
  );
  await interruption(interrupted);
  const links = server.links;
  output.report(
    { type: 'draining', links, reason: String(interrupted.reason) },
    `${interrupted.reason}: GOAWAY to ${counted(links, 'link')}, up to ${formatDuration(flags.drain)} to drain`,
  );
  const { drain, retryAfter } = flags;
  await server.close({ drainMs: drain, ...(retryAfter !== undefined && { retryAfterMs: retryAfter }) });
  const { dead, closed } = server.hub.stats();
  const served = Object.values(closed).reduce((sum, count) => sum + count, 0);
  output.summary(
    { served, dead, closed, refused: server.refused, upMs: Math.round(performance.now() - startedMs) },
    `${counted(served, 'link')} served, ${dead} found dead`,
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
  hub.on('suspect', (link, detail) => say(link, 'suspect', detail, suspectText(detail, link)));
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
  hub.on('dead', (link, detail) => say(link, 'dead', detail, deadText(detail, link)));
  hub.on('closed', (link, detail) => say(link, 'closed', detail, endText(detail)));
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  if (remoteAddress === undefined || remotePort === undefined) return 'an address unknown';
  return formatAddress({ host: remoteAddress, port: remotePort });
}
