/**
 * `wirebeat demo`: an echo server and a few hundred links to it in one process, faults of every kind, and whether each
 * was found, named and in time. Takes about sixteen intervals; exit code 0 only when every link went as expected.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { judgeKind, type Row, TICK_MS } from '../demo/judgement.ts';
import { LagMeter } from '../demo/lag.ts';
import { castOf, KINDS } from '../demo/scenario.ts';
import { Stage } from '../demo/stage.ts';
import { liveLine, liveTable, summaryTable } from '../demo/table.ts';
import { durationOption, formatDuration } from '../durations.ts';
import { BAD, type ExitCode, GOOD } from '../errors.ts';
import { integerBetween } from '../numbers.ts';
import type { Output } from '../output.ts';
import { runCommand, type Shell } from '../run.ts';

interface DemoFlags {
  links: number;
  interval: number;
  json?: boolean;
}

/** The plot, in intervals: all quiet, faults one after the other, then the longest verdict and some air. */
const QUIET_INTERVALS = 2;
const FAULTS_INTERVALS = 6;
const SETTLE_INTERVALS = 2;
const DEAD_AFTER = 3;
/** A peer that never answered gets at least this long: no RTT is known of it. */
const FIRST_ANSWER_MS = 1_000;
const REDRAW_MS = 200;
const LINE_MS = 1_000;
const DRAIN_MS = 2_000;

const EXAMPLES = `
Examples:
  $ wirebeat demo
  $ wirebeat demo --links 1000 --interval 1s
  $ wirebeat demo --json

Exit codes: 0 every link went as expected, 1 one did not or the run was cut short.`;

export function addDemo(program: Command): void {
  program
    .command('demo')
    .summary('200 links and every kind of fault, on this machine')
    .description('Play an echo server, links to it, and faults; show what is found, and how fast.')
    .option('--links <number>', 'how many links', integerBetween(20, 5_000), 200)
    .addOption(durationOption('-i, --interval <duration>', 'heartbeat interval', [100, 5_000], 500))
    .option('--json', 'one JSON object per event, then a summary')
    .addHelpText('after', EXAMPLES)
    .action((flags: DemoFlags) => runCommand(flags, (shell) => demo(shell, flags)));
}

async function demo({ output, interrupted }: Shell, { links, interval }: DemoFlags): Promise<ExitCode> {
  output.report(
    { type: 'start', links, intervalMs: interval, deadAfter: DEAD_AFTER, tickMs: TICK_MS },
    `${links} links over loopback, a beat every ${formatDuration(interval)}, ` +
      `dead after ${formatDuration(DEAD_AFTER * interval)} of silence`,
  );
  const startedMs = performance.now();
  const lag = new LagMeter();
  const stage = new Stage(interval);
  const view = showLive(output, stage, startedMs);
  try {
    await play(stage, links, interval, interrupted);
  } catch (error) {
    if (!interrupted.aborted) {
      await stage.close(0);
      throw error;
    }
  } finally {
    view.stop();
    lag.stop();
  }
  const rows = KINDS.map((kind) =>
    judgeKind(
      kind,
      stage.peers.filter((peer) => peer.kind === kind),
      lag.maxMs,
    ),
  );
  const survivors = stage.peers.filter((peer) => peer.ended === undefined);
  await stage.close(DRAIN_MS);
  const told = survivors.filter((peer) => peer.ended?.cause === 'left').length;
  return sumUp(output, rows, {
    elapsedMs: Math.round(performance.now() - startedMs),
    ownLagMs: Math.round(lag.maxMs),
    survivors: survivors.length,
    told,
    interrupted: interrupted.aborted,
  });
}

/** Rejects with the signal's abort when cut short. */
async function play(stage: Stage, links: number, intervalMs: number, signal: AbortSignal): Promise<void> {
  const sleep = (ms: number): Promise<void> => delay(ms, undefined, { signal });
  await stage.connect(castOf(links), signal);
  await sleep(QUIET_INTERVALS * intervalMs);
  const victims = stage.peers.filter((peer) => peer.kind.name !== 'healthy' && peer.kind.name !== 'mute');
  for (const victim of victims) {
    stage.strike(victim);
    await sleep((FAULTS_INTERVALS * intervalMs) / victims.length);
  }
  const longestMs = Math.max(DEAD_AFTER * intervalMs, 2 * intervalMs + FIRST_ANSWER_MS);
  await sleep(longestMs + SETTLE_INTERVALS * intervalMs);
}

/** A table that is redrawn in place on a terminal; elsewhere a line per second, and each event as JSON. */
function showLive(output: Output, stage: Stage, startedMs: number): { stop(): void } {
  let drawnLines = 0;
  const draw = (): void => {
    const elapsedMs = performance.now() - startedMs;
    const text = `${liveLine(stage.peers, elapsedMs)}\n\n${liveTable(stage.peers)}\n`;
    const up = drawnLines === 0 ? '' : `\u001b[${drawnLines}A`;
    output.draw(`${up}\u001b[J${text}`);
    drawnLines = text.split('\n').length - 1;
  };
  const say = (): void => {
    const elapsedMs = performance.now() - startedMs;
    const { states, dead } = stage.hub.stats();
    output.report(
      { type: 'progress', elapsedMs: Math.round(elapsedMs), states, dead },
      liveLine(stage.peers, elapsedMs),
    );
  };
  const timer = output.isTerminal ? setInterval(draw, REDRAW_MS) : setInterval(say, LINE_MS);
  const kindOf = (id: number): string | null =>
    stage.peers.find(({ link }) => link.id === id)?.kind.name ?? null;
  stage.hub.on('suspect', ({ id }, detail) =>
    output.report({ type: 'suspect', link: id, kind: kindOf(id), ...detail }),
  );
  stage.hub.on('recovered', ({ id }, detail) =>
    output.report({ type: 'recovered', link: id, kind: kindOf(id), ...detail }),
  );
  stage.hub.on('dead', ({ id }, detail) =>
    output.report({ type: 'dead', link: id, kind: kindOf(id), ...detail }),
  );
  stage.hub.on('closed', ({ id }, detail) =>
    output.report({ type: 'closed', link: id, kind: kindOf(id), ...detail }),
  );
  return {
    stop() {
      clearInterval(timer);
      if (drawnLines > 0) output.draw(`\u001b[${drawnLines}A\u001b[J`); // the summary takes its place
    },
  };
}

interface Run {
  readonly elapsedMs: number;
  readonly ownLagMs: number;
  readonly survivors: number;
  /** Survivors that heard the server's GOAWAY. */
  readonly told: number;
  readonly interrupted: boolean;
}

function sumUp(output: Output, rows: readonly Row[], run: Run): ExitCode {
  const wrong = rows.reduce((sum, row) => sum + row.links - row.right, 0) + run.survivors - run.told;
  const passed = wrong === 0 && !run.interrupted;
  const kinds = rows.map(({ kind, links, right, seen, minAfterMs, maxAfterMs, maxSilentMs, boundMs }) => ({
    ...{ kind: kind.name, links, right, expected: kind.ends ?? 'up', seen },
    ...{ minAfterMs, maxAfterMs, maxSilentMs, boundMs },
  }));
  const verdict = passed ? 'PASS' : `FAIL: ${wrong} links did not go as expected`;
  const took = formatDuration(run.elapsedMs);
  const text = run.interrupted
    ? `cut short after ${took}`
    : `\n${summaryTable(rows)}\n\n` +
      'after: from the blow to the end of the link. silence: at the verdict, at most detectionTimeMs + one tick.\n' +
      `Both limits include ${run.ownLagMs} ms, the most this process itself was late.\n` +
      `Then the server said GOAWAY: ${run.told} of ${run.survivors} survivors left in order.\n` +
      `${verdict} after ${took}`;
  output.summary({ passed, wrong, ...run, kinds }, text);
  return passed ? GOOD : BAD;
}
