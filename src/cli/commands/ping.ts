/**
 * `wirebeat ping`: like the system's ping, but asks the service instead of the kernel, over one connection, and says
 * what died. Every beat is a question here, so each interval gives a round-trip time.
 */
import type { Command } from 'commander';
import { connectHeartbeat } from '../../client/connect.ts';
import { Returns } from '../../client/returns.ts';
import type { ClosedDetail } from '../../net/events.ts';
import { HeartbeatHub } from '../../net/hub.ts';
import type { Link } from '../../net/types.ts';
import { detectionTime } from '../../session/policy.ts';
import { INITIAL_RTO_MS } from '../../session/rtt.ts';
import { FRAME_BYTES } from '../../wire/constants.ts';
import { type Address, formatAddress, parseAddress } from '../address.ts';
import { diagnosisLines, showMs } from '../diagnosis-text.ts';
import { durationOption, formatDuration } from '../durations.ts';
import { BAD, type ExitCode, GOOD, messageOf } from '../errors.ts';
import { closedText, deadText, leavingText, recoveredText, suspectText } from '../link-text.ts';
import { integerBetween } from '../numbers.ts';
import type { Output } from '../output.ts';
import { addRateFlags, type CliRates, type RateFlags, ratesOf } from '../rate-options.ts';
import { RoundTrips } from '../round-trips.ts';
import { interruption, runCommand, type Shell } from '../run.ts';
import { TlsHint } from '../tls-hint.ts';
import { addClientTlsFlags, clientTls, type TlsFlags } from '../tls-options.ts';

interface PingFlags extends TlsFlags, RateFlags {
  count?: number;
  wait: number;
  return?: boolean;
  diagnose?: boolean;
  quiet?: boolean;
}

const MAX_WAIT_MS = 3_600_000;
/** A person is looking: often, and soon dead. */
const DEFAULTS: CliRates = { intervalMs: 1_000, deadAfter: 3 };

const EXAMPLES = `
Examples:
  $ wirebeat ping 127.0.0.1:7400
  $ wirebeat ping [::1]:7400 -i 200ms -c 5
  $ wirebeat ping unix:/run/echo.sock --json
  $ wirebeat ping example.org:7443 --tls
  $ wirebeat ping 127.0.0.1:7400 --diagnose
  $ wirebeat ping -c 1 -W 2s -q 127.0.0.1:7400    (a health check for orchestrators)

Exit codes: 0 it answered and lives, 1 nothing answered or the link died, 2 the command line cannot be used.`;

export function addPing(program: Command): void {
  const command = program
    .command('ping')
    .summary('measure round trips to a service, and say when and how it dies')
    .description('Ask a service for signs of life until Ctrl-C, -c answers, or its death.')
    .argument('<address>', 'HOST:PORT, [::1]:PORT, PORT or unix:/path', parseAddress);
  addRateFlags(command, 'longest time between questions', DEFAULTS)
    .option('-c, --count <number>', 'stop after this many answers', integerBetween(1, 2 ** 31 - 1))
    .addOption(
      durationOption(
        '-W, --wait <duration>',
        'longest wait for the connection and for an answer owed at the end',
        [1, MAX_WAIT_MS],
        2_000,
      ),
    )
    .option('--return', 'when told to go (GOAWAY), stay away as long as told, and go on')
    .option('--diagnose', 'say at the end why, and what is known of the connection')
    .option('-q, --quiet', 'only the summary')
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
  readonly #rates: CliRates;
  readonly #returns: Returns | undefined;
  readonly #hub = new HeartbeatHub();
  readonly #trips = new RoundTrips();
  readonly #startedMs = performance.now();
  #answered = 0;
  /** On the link that is or was last; and on those before it. */
  #sent = 0;
  #sentBefore = 0;
  #wasUp = false;
  /** The peer said GOAWAY; until we are connected again. */
  #wasTold = false;
  /** The link it said so on. */
  #toldLink: Link | undefined;
  #attempts = 0;
  readonly #tlsHint = new TlsHint();
  #patience: NodeJS.Timeout | undefined;
  #end: (ending: Ending) => void = () => {};

  constructor({ output, interrupted }: Shell, address: Address, flags: PingFlags) {
    this.#output = output;
    this.#interrupted = interrupted;
    this.#address = address;
    this.#target = formatAddress(address);
    this.#flags = flags;
    this.#rates = ratesOf(flags, DEFAULTS);
    if (flags.return === true) this.#returns = this.#returning();
  }

  async run(): Promise<ExitCode> {
    const tls = clientTls(this.#flags);
    this.#output.report(
      { type: 'start', target: this.#target, ...this.#rates },
      `PING ${this.#target}: ${FRAME_BYTES} bytes, every ${formatDuration(this.#rates.intervalMs)} at most, ` +
        `dead after ${deathText(this.#rates)}`,
    );
    const ended = new Promise<Ending>((resolve) => {
      this.#end = resolve;
    });
    this.#listen(tls);
    void interruption(this.#interrupted).then(() => this.#end({ verdict: this.#verdictNow }));
    this.#awaitAnswer(0);
    void this.#connect(tls);
    let ending = await ended;
    clearTimeout(this.#patience);
    for (const link of this.#hub.links()) {
      this.#sent = this.#sentBefore + link.stats().pingsSent;
      if (this.#flags.diagnose === true) ending = { diagnosis: link.diagnose(), ...ending };
      if (ending.verdict !== 'up') link.destroy(); // a peer that says nothing need not be waited for
    }
    await this.#hub.close();
    return this.#sumUp(ending);
  }

  async #connect(tls: ReturnType<typeof clientTls>): Promise<void> {
    const attempt = ++this.#attempts;
    try {
      const link = await connectHeartbeat({
        ...this.#address,
        ...(tls !== undefined && { tls }),
        ...(this.#returns !== undefined && { returns: this.#returns }),
        hub: this.#hub,
        signal: this.#interrupted,
        timeoutMs: Infinity, // -W covers connection and answer together
        waitFor: 'connect',
        ...this.#rates,
        ask: 'always',
        preciseRtt: true,
        onPong: (link, _seq, rttMs) => this.#onPong(link, rttMs),
      });
      this.#wasTold = false;
      this.#tlsHint.watch(link.socket);
    } catch (error) {
      if (this.#interrupted.aborted || attempt !== this.#attempts) return; // told to go: the next is under way
      // A link that closed while it opened has told why by its event, and that came first.
      this.#end({ verdict: 'unreachable', text: messageOf(error) });
    }
  }

  #onPong(link: Link, rttMs: number): void {
    const { count } = this.#flags;
    if (this.#answered === count) return; // the end is under way
    this.#answered++;
    this.#trips.add(rttMs);
    // Answers come in order on a stream, so the pings still waiting are the newer ones.
    const { pingsSent, unanswered } = link.stats();
    const seq = this.#sentBefore + pingsSent - unanswered;
    this.#output.report(
      { type: 'pong', seq, rttMs },
      `${FRAME_BYTES} bytes from ${this.#target}: seq=${seq} rtt=${showMs(rttMs)} ms`,
    );
    if (this.#answered === count) this.#end({ verdict: 'up' });
    else if (count === undefined) clearTimeout(this.#patience);
    else this.#awaitAnswer(this.#rates.intervalMs, link);
  }

  /** How it stands when we are interrupted. */
  get #verdictNow(): Ending['verdict'] {
    if (this.#wasTold) return 'closed';
    return this.#wasUp ? 'up' : 'no-answer';
  }

  /** For --return: says that it waits, and lets -W begin when that is over. */
  #returning(): Returns {
    return new Returns({
      onAlert: () => this.#output.report({ type: 'alert' }, `${this.#target} told us not to return`),
      onWait: ({ waitMs, intervalMs }) => {
        const pace = intervalMs > this.#rates.intervalMs ? `, then every ${formatDuration(intervalMs)}` : '';
        this.#output.report(
          { type: 'waiting', waitMs, intervalMs },
          `staying away for ${formatDuration(waitMs)}${pace}`,
        );
        this.#awaitAnswer(waitMs);
      },
    });
  }

  /** Give up -W after an answer is owed: the first one, and with -c the last ones. In between the link judges. */
  #awaitAnswer(owedInMs: number, link?: Link): void {
    const { wait, count } = this.#flags;
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => {
      if (link !== undefined && this.#sentBefore + link.stats().pingsSent < (count as number)) return;
      this.#end({ verdict: 'no-answer', text: `no answer within ${formatDuration(wait)}` });
    }, owedInMs + wait);
  }

  #listen(tls: ReturnType<typeof clientTls>): void {
    const hub = this.#hub;
    const report = (type: string, detail: object, text: string) =>
      this.#output.report({ type, ...detail }, text);
    let verdict: Ending | undefined;
    hub.on('up', () => {
      this.#wasUp = true;
    });
    hub.on('suspect', (link, detail) => report('suspect', detail, suspectText(detail, link)));
    hub.on('recovered', (_link, detail) => report('recovered', detail, recoveredText(detail)));
    hub.on('degraded', (_link, detail) =>
      report('degraded', detail, detail.degraded ? 'degraded: alive, but not well' : 'no longer degraded'),
    );
    hub.on('one-way', (_link, detail) =>
      report('one-way', detail, `heard, but not answered for ${formatDuration(detail.unansweredMs)}`),
    );
    hub.on('leaving', (link, detail) => {
      if (detail.by !== 'peer') return;
      this.#wasTold = true;
      this.#toldLink = link;
      report('leaving', detail, leavingText(detail));
    });
    hub.on('dead', (link, detail) => {
      const { cause, diagnosis } = detail;
      verdict = { verdict: 'dead', cause, ...(diagnosis && { diagnosis }), text: deadText(detail, link) };
      this.#output.report({ type: 'dead', ...detail });
    });
    hub.on('closed', (link, detail) => {
      this.#sent = this.#sentBefore + link.stats().pingsSent;
      this.#output.report({ type: 'closed', ...detail });
      // Only whoever was told goes back: a return that fails has its own cause to tell.
      if (link === this.#toldLink && this.#returns !== undefined) {
        this.#sentBefore = this.#sent;
        this.#wasUp = false;
        verdict = undefined;
        this.#awaitAnswer(0);
        void this.#connect(tls);
        return;
      }
      const isGuessing = tls === undefined && this.#toldLink === undefined; // we have been understood before
      const hint = isGuessing ? this.#tlsHint.text(link.stats().bytesReceived, detail) : '';
      verdict ??= this.#wasUp
        ? { verdict: 'closed', ...detail, text: closedText(detail) }
        : {
            verdict: 'unreachable',
            ...detail,
            text: closedText(detail).replace('closed', 'not reached') + hint,
          };
      const isUntold = this.#flags.diagnose === true && verdict.diagnosis === undefined;
      this.#end(isUntold ? { ...verdict, diagnosis: link.diagnose() } : verdict);
    });
  }

  #sumUp({ verdict, text, cause, code, reason, diagnosis }: Ending): ExitCode {
    const shown = this.#flags.diagnose === true ? diagnosis : undefined;
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
      ...(shown === undefined ? [] : diagnosisLines(shown)),
    ];
    this.#output.summary(
      {
        ...{ target: this.#target, verdict, cause: cause ?? null, code: code ?? null },
        ...{ reason: reason ?? text ?? null, sent, answered: this.#answered, lossPercent, elapsedMs },
        ...(shown && { diagnosis: shown }),
        ...{ rttMinMs: minMs, rttAvgMs: meanMs, rttMaxMs: maxMs, rttMdevMs: mdevMs },
      },
      lines.join('\n'),
    );
    return this.#answered > 0 && verdict === 'up' ? GOOD : BAD;
  }
}

/** While no round trip is known a peer gets longer than it has later. */
function deathText({ intervalMs, deadAfter }: CliRates): string {
  const deadMs = intervalMs * deadAfter;
  const firstMs = detectionTime(intervalMs, deadAfter, INITIAL_RTO_MS);
  const first = firstMs > deadMs ? ` (${formatDuration(firstMs)} before the first answer)` : '';
  return `${formatDuration(deadMs)} of silence${first}`;
}
