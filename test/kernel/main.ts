/**
 * `npm run test:kernel`: what sends links to their end on real kernels, and what wirebeat says about it. Hosts are
 * network namespaces; the faults are the packet filter's, signals, a load balancer, an address translator. Prints a
 * table and `N passed, N failed`; exit status 1 when a cause was wrong or late, or with WIREBEAT_REQUIRE_ALL=1 when
 * the lab cannot run here, 2 for arguments that are none.
 * `--help` tells the options.
 *
 * Whatever it makes carries its process id and is removed at the end, on a signal too; what a killed run left
 * behind is removed at the next start.
 */
import { nativeSockets } from '../../src/net/native/native.ts';
import { type LabArguments, labArguments, labHelp } from './arguments.ts';
import { type Bundle, bundlePrograms } from './bundle.ts';
import { removeOrphans } from './leftovers.ts';
import { crashed, judged, type Outcome } from './outcome.ts';
import { inParallel } from './pool.ts';
import { type Facts, gatherFacts, missingParts } from './requirements.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { Stage, type Tools } from './stage.ts';
import { resultTable, story } from './table.ts';

const NAMES = SCENARIOS.map(({ name }) => name);

function understood(): LabArguments {
  try {
    return labArguments(process.argv.slice(2), NAMES);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

const options = understood();
if (options.help) {
  console.log(labHelp(NAMES));
  process.exit(0);
}
const stages = new Set<Stage>();
const outcomes: Outcome[] = [];
let bundling: Promise<Bundle> | undefined;
let isOver = false;

const failures = (): number => outcomes.filter(({ wrong }) => wrong !== undefined).length;

function summarise(failed: number): void {
  const passed = outcomes.length - failures();
  console.log(options.json ? JSON.stringify({ passed, failed }) : `${passed} passed, ${failed} failed`);
}

async function perform(scenario: Scenario, tools: Tools): Promise<void> {
  if (isOver) return;
  const stage = new Stage(tools);
  stages.add(stage);
  let outcome: Outcome;
  try {
    outcome = judged(scenario, tools.isNative, await scenario.run(stage));
  } catch (error) {
    outcome = crashed(scenario, tools.isNative, error);
  } finally {
    await stage.clear();
    stages.delete(stage);
  }
  if (isOver) return;
  outcomes.push(outcome);
  if (options.json) console.log(JSON.stringify(outcome));
  if (outcome.wrong !== undefined)
    console.error(`${scenario.name}: ${outcome.wrong}\n${story(stage.children)}`);
}

async function runLab({ iptables }: Facts): Promise<void> {
  const orphans = await removeOrphans();
  if (orphans > 0) console.error(`removed ${orphans} namespaces that a killed run left behind`);
  const isNative = !options.withoutNative && nativeSockets() !== undefined;
  bundling = bundlePrograms();
  const bundle = await bundling;
  try {
    const tools = { ...bundle, iptables: iptables!, isNative };
    const chosen = SCENARIOS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
    const jobs = Array.from({ length: options.runs }, () => chosen).flat();
    if (!options.json)
      console.log(`kernel lab: ${jobs.length} runs, native calls ${isNative ? 'on' : 'off'}`);
    await inParallel(jobs, options.parallel, (scenario) => perform(scenario, tools));
  } finally {
    await bundle.remove();
  }
  if (isOver) return;
  if (!options.json) console.log(resultTable(outcomes, NAMES));
  summarise(failures());
  process.exitCode = failures() > 0 ? 1 : 0;
}

function skip(missing: readonly string[]): void {
  const isRequired = process.env.WIREBEAT_REQUIRE_ALL === '1';
  const line = `kernel lab skipped: this machine lacks ${missing.join(', ')}`;
  console.log(options.json ? JSON.stringify({ skipped: missing }) : line);
  summarise(isRequired ? 1 : 0);
  process.exitCode = isRequired ? 1 : 0;
}

/** Leave nothing behind, whatever the reason; what was under way came to nothing. */
async function giveUp(status: number): Promise<never> {
  isOver = true;
  await Promise.allSettled([...stages].map((stage) => stage.clear()));
  await (await bundling)?.remove();
  summarise(failures());
  process.exit(status);
}

process.once('SIGINT', () => void giveUp(130));
process.once('SIGTERM', () => void giveUp(143));
process.once('uncaughtException', (error) => {
  console.error(error);
  void giveUp(1);
});

const facts = await gatherFacts();
const missing = missingParts(facts);
if (missing.length > 0) skip(missing);
else await runLab(facts);
