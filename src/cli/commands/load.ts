/**
 * `wirebeat load`: many links to one service at a rate for a time, each asking at every interval, and what came of
 * it: was anybody lost, was any verdict false, how long did answers take, did our own beats leave in time.
 */
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { type Command, Option } from 'commander';
import { connectHeartbeat } from '../../client/connect.ts';
import { HeartbeatHub } from '../../net/hub.ts';
import { SESSION_DEFAULTS } from '../../session/policy.ts';
import { type Address, formatAddress, parseAddress } from '../address.ts';
import { durationOption, formatDuration } from '../durations.ts';
import { BAD, type ExitCode, GOOD } from '../errors.ts';
import { checkCapacity, destinationsOf } from '../load/preparation.ts';
import { manyLinks, Progress, summaryOf } from '../load/report.ts';
import { LoadRun } from '../load/run.ts';
import { integerBetween } from '../numbers.ts';
import type { Output } from '../output.ts';
import { addRateFlags, type RateFlags, ratesOf } from '../rate-options.ts';
import { interruption, runCommand, type Shell } from '../run.ts';
import { addClientTlsFlags, clientTls, type TlsFlags } from '../tls-options.ts';

interface LoadFlags extends TlsFlags, RateFlags {
  links: number;
  duration: number;
  rate: number;
  inFlight: number;
  spread: number;
  wait: number;
  end: 'reset' | 'leave';
  return?: boolean;
  quiet?: boolean;
}

const MAX_LINKS = 1_000_000;
const MAX_IN_FLIGHT = 256;
const MAX_SPREAD = 1_024;
const MAX_DURATION_MS = 7 * 86_400_000;
const PROGRESS_MS = 1_000;
const CLEAR_LINE = '\r\u001b[2K';

const EXAMPLES = `
Examples:
  $ wirebeat load 127.0.0.1:7400 --links 1000 --interval 1s --duration 30s
  $ wirebeat load 127.0.0.1:7400 --links 40000 --spread 2    (serve --host 0.0.0.0)
  $ wirebeat load example.org:7443 --tls --links 500 --rate 100 --json

Beyond half the local ports of one address (about 14 000 links) Linux searches ever longer for a free one: --spread.
A beat is late when it leaves more than two ticks (20 ms) after it was due; the warm-up is the first interval, 5 s
at least and half of the duration at most.
A verdict is false when the service answered another link within the last interval.

With --return a link that was told to go is not lost, unless it fails to come back.

Exit codes: 0 all links lived, 1 a link failed, was lost or judged dead, 2 the command line cannot be used.`;

export function addLoad(program: Command): void {
  const command = program
    .command('load')
    .summary('hold many links to a service, and say whether it kept up')
    .description('Open links to a service, ask on each at every interval, and sum up.')
    .argument('<address>', 'HOST:PORT, [::1]:PORT, PORT or unix:/path', parseAddress)
    .option('--links <number>', 'links to hold', integerBetween(1, MAX_LINKS), 100);
  addRateFlags(command, 'longest time between the questions of a link', SESSION_DEFAULTS)
    .addOption(
      durationOption(
        '--duration <duration>',
        'how long to hold them once all are connected',
        [1, MAX_DURATION_MS],
        60_000,
      ),
    )
    .option('--rate <number>', 'connections opened per second at most', integerBetween(1, 1_000_000), 2_000)
    .option(
      '--in-flight <number>',
      'connections under way at once',
      integerBetween(1, MAX_IN_FLIGHT),
      MAX_IN_FLIGHT,
    )
    .option(
      '--spread <number>',
      'go to so many loopback addresses in turn, from the given one on',
      integerBetween(1, MAX_SPREAD),
      1,
    )
    .addOption(durationOption('-W, --wait <duration>', 'longest wait for an answer', [1, 3_600_000], 5_000))
    .option('--return', 'links that are told to go (GOAWAY) come back, when and as fast as they were told')
    .addOption(
      new Option('--end <how>', 'end links by RST after GOAWAY, or politely (FIN)')
        .choices(['reset', 'leave'])
        .default('reset'),
    )
    .option('-q, --quiet', 'only the summary')
    .option('--json', 'one JSON object per event, then a summary');
  addClientTlsFlags(command)
    .addHelpText('after', EXAMPLES)
    .action((address: Address, flags: LoadFlags) =>
      runCommand(flags, (shell) => load(shell, address, flags)),
    );
}

async function load(shell: Shell, address: Address, flags: LoadFlags): Promise<ExitCode> {
  const { output, interrupted } = shell;
  const { links, duration: durationMs, rate, inFlight, wait } = flags;
  const { intervalMs, deadAfter } = ratesOf(flags, SESSION_DEFAULTS);
  const tls = tlsFor(address, flags);
  const asked = destinationsOf(address, flags.spread);
  checkCapacity(links, asked);
  const destinations = await Promise.all(asked.map((where) => reach(where, tls, wait, interrupted)));
  output.report(
    {
      type: 'start',
      target: formatAddress(address),
      destinations: destinations.length,
      ...{ links, intervalMs },
    },
    `LOAD ${formatAddress(address)}: ${manyLinks(links)}, a question every ${formatDuration(intervalMs)} ` +
      `at most on each, for ${formatDuration(durationMs)}`,
  );
  const canReset = tls === undefined && !('path' in address);
  const run = new LoadRun({
    ...{ destinations, tls, links, intervalMs, deadAfter, durationMs, inFlight },
    perSecond: rate,
    waitMs: wait,
    end: canReset ? flags.end : 'leave',
    comesBack: flags.return === true,
  });
  const stopShowing = showProgress(run, output);
  await run.carryOut(interruption(interrupted));
  stopShowing();
  const { fields, text } = summaryOf(run, links);
  const by = interrupted.aborted ? String(interrupted.reason) : null;
  output.summary(
    { target: formatAddress(address), intervalMs, durationMs, ...fields, interrupted: by },
    by === null ? text : `${text}\ninterrupted by ${by}`,
  );
  const { connected, failures, losses } = run.tally;
  return connected > 0 && failures === 0 && losses === 0 ? GOOD : BAD;
}

/** One context for all connections; and the name, as they go to the address it was found at. */
function tlsFor(address: Address, flags: TlsFlags): ConnectionOptions | undefined {
  const given = clientTls(flags);
  if (given === undefined) return undefined;
  const { servername, ...credentials } = given;
  const name = servername ?? ('host' in address && isIP(address.host) === 0 ? address.host : undefined);
  return { secureContext: createSecureContext(credentials), ...(name !== undefined && { servername: name }) };
}

/** Ask once whether somebody answers there; the address that did, so that no name is looked up thousands of times. */
async function reach(
  where: Address,
  tls: ConnectionOptions | undefined,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Address> {
  const hub = new HeartbeatHub();
  try {
    const link = await connectHeartbeat({
      ...where,
      ...(tls !== undefined && { tls }),
      hub,
      timeoutMs,
      signal,
    });
    const { remoteAddress } = link.socket;
    return 'path' in where || remoteAddress === undefined ? where : { ...where, host: remoteAddress };
  } catch (error) {
    throw signal.aborted ? new Error(`${signal.reason} before the service answered`) : error;
  } finally {
    await hub.close();
  }
}

/** A line per second, redrawn in place on a terminal. */
function showProgress(run: LoadRun, output: Output): () => void {
  const progress = new Progress(run);
  const startMs = performance.now();
  const timer = setInterval(() => {
    const { fields, text } = progress.look();
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    const line = `${String(seconds).padStart(4)} s: ${text}`;
    output.report({ type: 'progress', seconds, ...fields }, output.isTerminal ? undefined : line);
    output.draw(`${CLEAR_LINE}${line}`);
  }, PROGRESS_MS);
  return () => {
    clearInterval(timer);
    output.draw(CLEAR_LINE);
  };
}
