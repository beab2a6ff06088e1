/**
 * `wirebeat ping`: like the system's ping, but asks the service instead of the kernel, over one connection, and says
 * what died. Every beat is a question here, so each interval gives a round-trip time.
 */
import type { Command } from 'commander';
import { connectHeartbeat } from '../../client/connect.ts';
import type { ClosedDetail } from '../../net/events.ts';
import { HeartbeatHub } from '../../net/hub.ts';
import type { Link } from '../../net/types.ts';
import { MAX_INTERVAL_MS, MIN_INTERVAL_MS } from '../../session/policy.ts';
import { FRAME_BYTES } from '../../wire/constants.ts';
import { type Address, formatAddress, parseAddress } from '../address.ts';
import { durationIn, formatDuration } from '../durations.ts';
import { BAD, type ExitCode, GOOD, messageOf } from '../errors.ts';
import { closedText, deadText, leavingText, recoveredText, suspectText } from '../link-text.ts';
import { integerBetween } from '../numbers.ts';
import type { Output } from '../output.ts';
import { RoundTrips } from '../round-trips.ts';
import { interruption, runCommand, type Shell } from '../run.ts';
import { addClientTlsFlags, clientTls, type TlsFlags } from '../tls-options.ts';

interface PingFlags extends TlsFlags {
  interval: number;
  count?: number;
  wait: number;
  deadAfter: number;
  quiet?: boolean;
  json?: boolean;
}

const MAX_WAIT_MS = 3_600_000;

const EXAMPLES = `
Examples:
  $ wirebeat ping 127.0.0.1:7400
  $ wirebeat ping [::1]:7400 -i 200ms -c 5
  $ wirebeat ping unix:/run/echo.sock --json
  $ wirebeat ping example.org:7443 --tls
  $ wirebeat ping -c 1 -W 2s -q 127.0.0.1:7400    (a health check for orchestrators)

Exit codes: 0 it answered and lives, 1 nothing answered or the link died, 2 the command line cannot be used.`;

export function addPing(program: Command): void {
  const command = program
    .command('ping')
    .summary('measure round trips to a service, and say when and how it dies')
    .description('Ask a service for signs of life until Ctrl-C, -c answers, or its death.')
    .argument('<address>', 'HOST:PORT, [::1]:PORT, PORT or unix:/path', parseAddress)
    .option(
      '-i, --interval <duration>',
      'longest time between questions',
      durationIn(MIN_INTERVAL_MS, MAX_INTERVAL_MS),
      1_000,
    )
    .option('-c, --count <number>', 'stop after this many answers', integerBetween(1, 2 ** 31 - 1))
    .option(
      '-W, --wait <duration>',
      'longest wait for the connection and for an answer owed at the end',
      durationIn(1, MAX_WAIT_MS),
      2_000,
    )
    .option('-q, --quiet', 'only the summary')
    .option('--dead-after <number>', 'dead after this many silent intervals', integerBetween(1, 255), 3)
    .option('--json', 'one JSON object per event, then a summary');
  addClientTlsFlags(command)
    .addHelpText('after', EXAMPLES)
    .action((address: Address, flags: PingFlags) =>
      runCommand(flags, (shell) => new Ping(shell, address, flags).run()),
    );
}

/**
 * How it ended. up: by -c or Ctrl-C, with the link alive; unreachable: closed before it was ever heard; no-answer: an
 * answer was owed for longer than -W; dead: the link's own verdict.
 */
interface Ending extends Partial<ClosedDetail> {
  readonly verdict: 'up' | 'closed' | 'dead' | 'unreachable' | 'no-answer';
  readonly text?: string;
}

class Ping {
  readonly #output: Output;
  readonly #interrupted: AbortSignal;
  readonly #address: Address;
  readonly #target: string;
  readonly #flags: PingFlags;
  readonly #hub = new HeartbeatHub();
  readonly #trips = new RoundTrips();
  readonly #startedMs = performance.now();
  #answered = 0;
  #sent = 0;
  #wasUp = false;
  #patience: NodeJS.Timeout | undefined;
  #end: (ending: Ending) => void = () => {};

  constructor({ output, interrupted }: Shell, address: Address, flags: PingFlags) {
    this.#output = output;
    this.#interrupted = interrupted;
    this.#address = address;
    this.#target = formatAddress(address);
    this.#flags = flags;
  }

  async run(): Promise<ExitCode> {
    const { interval, deadAfter } = this.#flags;
    const tls = clientTls(this.#flags);
    this.#output.report(
      { type: 'start', target: this.#target, intervalMs: interval, deadAfter },
      `PING ${this.#target}: ${FRAME_BYTES} bytes, every ${formatDuration(interval)} at most, ` +
        `dead after ${formatDuration(interval * deadAfter)} of silence`,
    );
    const ended = new Promise<Ending>((resolve) => {
      this.#end = resolve;
    });
    this.#listen();
    void interruption(this.#interrupted).then(() => this.#end({ verdict: this.#wasUp ? 'up' : 'no-answer' }));
    this.#awaitAnswer(0);
    void this.#connect(tls);
    const ending = await ended;
    clearTimeout(this.#patience);
    for (const link of this.#hub.links()) {
      this.#sent = link.stats().pingsSent;
      if (ending.verdict !== 'up') link.destroy(); // a peer that says nothing need not be waited for
    }
    await this.#hub.close();
    return this.#sumUp(ending);
  }

  async #connect(tls: ReturnType<typeof clientTls>): Promise<void> {
    const { interval, deadAfter } = this.#flags;
    try {
      await connectHeartbeat({
        ...this.#address,
        ...(tls !== undefined && { tls }),
        hub: this.#hub,
        timeoutMs: Infinity, // -W covers connection and answer together
        waitFor: 'connect',
        intervalMs: interval,
        deadAfter,
        ask: 'always',
        preciseRtt: true,
        onPong: (link, _seq, rttMs) => this.#onPong(link, rttMs),
      });
    } catch (error) {
      // A link that closed while it opened has told why by its event, and that came first.
      this.#end({ verdict: 'unreachable', text: messageOf(error) });
    }
  }

  #onPong(link: Link, rttMs: number): void {
    const { count, interval } = this.#flags;
    if (this.#answered === count) return; // the end is under way
    this.#answered++;
    this.#trips.add(rttMs);
    // Answers come in order on a stream, so the pings still waiting are the newer ones.
    const { pingsSent, unanswered } = link.stats();
    const seq = pingsSent - unanswered;
    this.#output.report(
      { type: 'pong', seq, rttMs },
      `${FRAME_BYTES} bytes from ${this.#target}: seq=${seq} rtt=${showMs(rttMs)} ms`,
    );
    clearTimeout(this.#patience);
    if (this.#answered === count) this.#end({ verdict: 'up' });
    else if (count !== undefined) this.#awaitAnswer(interval, link);
  }

  /** Give up -W after an answer is owed: the first one, and with -c the last ones. In between the link judges. */
  #awaitAnswer(owedInMs: number, link?: Link): void {
    const { wait, count } = this.#flags;
    this.#patience = setTimeout(() => {
      if (link !== undefined && link.stats().pingsSent < (count as number)) return;
      this.#end({ verdict: 'no-answer', text: `no answer within ${formatDuration(wait)}` });
    }, owedInMs + wait);
  }

  #listen(): void {
    const hub = this.#hub;
    const report = (type: string, detail: object, text: string) =>
      this.#output.report({ type, ...detail }, text);
    let verdict: Ending | undefined;
    hub.on('up', () => {
      this.#wasUp = true;
    });
    hub.on('suspect', (_link, detail) => report('suspect', detail, suspectText(detail)));
    hub.on('recovered', (_link, detail) => report('recovered', detail, recoveredText(detail)));
    hub.on('degraded', (_link, detail) =>
      report('degraded', detail, detail.degraded ? 'degraded: alive, but not well' : 'no longer degraded'),
    );
    hub.on('one-way', (_link, detail) =>
      report('one-way', detail, `heard, but not answered for ${formatDuration(detail.unansweredMs)}`),
    );
    hub.on('leaving', (_link, detail) => {
      if (detail.by === 'peer') report('leaving', detail, leavingText(detail));
    });
    hub.on('dead', (_link, detail) => {
      verdict = { verdict: 'dead', cause: detail.cause, text: deadText(detail) };
      this.#output.report({ type: 'dead', ...detail });
    });
    hub.on('closed', (link, detail) => {
      this.#sent = link.stats().pingsSent;
      verdict ??= this.#wasUp
        ? { verdict: 'closed', ...detail, text: closedText(detail) }
        : { verdict: 'unreachable', ...detail, text: closedText(detail).replace('closed', 'not reached') };
      this.#output.report({ type: 'closed', ...detail });
      this.#end(verdict);
    });
  }

  #sumUp({ verdict, text, cause, code, reason }: Ending): ExitCode {
    const sent = Math.max(this.#sent, this.#answered);
    const { minMs, meanMs, maxMs, mdevMs, count } = this.#trips;
    const elapsedMs = Math.round(performance.now() - this.#startedMs);
    const lossPercent = Math.round((1_000 * (sent - this.#answered)) / sent) / 10; // NaN when nothing was sent
    const lines = [
      `--- ${this.#target} ---`,
      ...(text === undefined ? [] : [text]),
      `${sent} sent, ${this.#answered} answered, ${sent === 0 ? '' : `${lossPercent} % loss, `}time ${elapsedMs} ms`,
      ...(count === 0
        ? []
        : [`rtt min/avg/max/mdev = ${[minMs, meanMs, maxMs, mdevMs].map(showMs).join('/')} ms`]),
    ];
    this.#output.summary(
      {
        ...{ target: this.#target, verdict, cause: cause ?? null, code: code ?? null },
        ...{ reason: reason ?? text ?? null, sent, answered: this.#answered, lossPercent, elapsedMs },
        ...{ rttMinMs: minMs, rttAvgMs: meanMs, rttMaxMs: maxMs, rttMdevMs: mdevMs },
      },
      lines.join('\n'),
    );
    return this.#answered > 0 && verdict === 'up' ? GOOD : BAD;
  }
}

/** Microseconds are real here: the session keeps fractional send times. */
function showMs(ms: number): string {
  return Number.isNaN(ms) ? '?' : ms.toFixed(3);
}
