/** The limits of a server as flags: each with its default, so that `--help` is the list of them. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { PAYLOAD_LIMIT_BYTES } from '../server/length-prefix.ts';
import { ECHO_SERVER_DEFAULTS, type EchoServerOptions } from '../server/options.ts';
import { TrustedProxies } from '../server/trusted-proxies.ts';
import { MAX_INTERVAL_MS } from '../session/policy.ts';
import { durationOption } from './durations.ts';
import { messageOf, UsageError } from './errors.ts';
import { integerBetween } from './numbers.ts';

export interface LimitFlags {
  maxLinks: number;
  maxLinksPerAddress: number;
  trustedProxies: string[];
  proxyProtocol?: boolean;
  maxPayload: number;
  maxQueued: number;
  maxFramesPerSecond: number;
  firstLife: number;
}

export function addLimitFlags(command: Command): Command {
  const { maxLinks, maxLinksPerAddress, maxPayloadBytes, maxQueuedBytes, maxFramesPerSecond, firstLifeMs } =
    ECHO_SERVER_DEFAULTS;
  const million = integerBetween(1, 1_000_000);
  return command
    .option('--max-links <number>', 'links at once', million, maxLinks)
    .option(
      '--max-links-per-address <number>',
      'links at once from one address, loopback exempt',
      million,
      maxLinksPerAddress,
    )
    .addOption(
      new Option(
        '--trusted-proxies <addresses>',
        'load balancers in front, exempt: addresses and blocks (10.0.0.0/8), commas between',
      )
        .argParser(parseProxies)
        .default([], 'none'),
    )
    .option('--proxy-protocol', 'they must send a PROXY header, and the client it names is what counts')
    .option(
      '--max-payload <bytes>',
      'largest payload echoed',
      integerBetween(0, PAYLOAD_LIMIT_BYTES - 1),
      maxPayloadBytes,
    )
    .option(
      '--max-queued <bytes>',
      'echoes kept for a peer that does not read, before we stop reading it',
      integerBetween(1, 2 ** 30),
      maxQueuedBytes,
    )
    .option(
      '--max-frames-per-second <number>',
      'heartbeats accepted on a link, twice as many at once',
      million,
      maxFramesPerSecond,
    )
    .addOption(
      durationOption(
        '--first-life <duration>',
        'close what says nothing valid for this long',
        [1, MAX_INTERVAL_MS],
        firstLifeMs,
      ),
    );
}

/** UsageError for flags that do not fit together. */
export function limitsOf(flags: LimitFlags): EchoServerOptions {
  if (flags.proxyProtocol === true && flags.trustedProxies.length === 0) {
    throw new UsageError('--proxy-protocol needs --trusted-proxies');
  }
  return {
    maxLinks: flags.maxLinks,
    maxLinksPerAddress: flags.maxLinksPerAddress,
    trustedProxies: flags.trustedProxies,
    proxyProtocol: flags.proxyProtocol === true,
    maxPayloadBytes: flags.maxPayload,
    maxQueuedBytes: flags.maxQueued,
    maxFramesPerSecond: flags.maxFramesPerSecond,
    firstLifeMs: flags.firstLife,
  };
}

/** Refused here as the server would refuse them. */
function parseProxies(text: string): string[] {
  const addresses = text.split(',');
  try {
    new TrustedProxies(addresses);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
  return addresses;
}
