/**
 * Cuts a failing history down to what it needs: fewer connections, faults and traffic, plainer numbers, a shorter
 * run. A cut stays when the same rule still breaks first.
 */
import { runHistory } from './history.ts';
import type { ConnectionPlan, Plan } from './plan.ts';

/** Each try is a whole history; enough for a few rounds of cuts. */
const MOST_TRIES = 300;

const PLAINER: Partial<ConnectionPlan> = {
  isSplit: false,
  isShared: false,
  jitterMs: 0,
  rttMs: 0,
  ask: 'when-silent',
  natIdleMs: Number.POSITIVE_INFINITY,
  bufferBytes: 2 ** 18,
  nearPhase: 0,
  farPhase: 0,
};

function without<T>(list: readonly T[], index: number): T[] {
  return list.filter((_, at) => at !== index);
}

function withoutConnection(plan: Plan, index: number): Plan {
  const faults = plan.faults
    .filter((fault) => fault.connection !== index)
    .map((fault) => ({ ...fault, connection: fault.connection - (fault.connection > index ? 1 : 0) }));
  return { ...plan, connections: without(plan.connections, index), faults };
}

function withConnection(plan: Plan, index: number, change: Partial<ConnectionPlan>): Plan {
  const connections = plan.connections.map((old, at) => (at === index ? { ...old, ...change } : old));
  return { ...plan, connections };
}

/** Every plan that is one cut smaller, the largest cuts first. */
function* cuts(plan: Plan): Generator<Plan> {
  for (let at = 0; plan.connections.length > 1 && at < plan.connections.length; at++)
    yield withoutConnection(plan, at);
  for (let at = 0; at < plan.faults.length; at++) yield { ...plan, faults: without(plan.faults, at) };
  for (const share of [0.5, 0.8]) yield { ...plan, lengthMs: Math.floor(plan.lengthMs * share) };
  for (const [index, connection] of plan.connections.entries()) {
    for (let at = 0; at < connection.traffic.length; at++) {
      yield withConnection(plan, index, { traffic: without(connection.traffic, at) });
    }
    const { negotiation, ...others } = connection;
    if (negotiation !== undefined) {
      yield { ...plan, connections: plan.connections.map((old, at) => (at === index ? others : old)) };
      for (let at = 0; at < negotiation.changes.length; at++) {
        const changes = without(negotiation.changes, at);
        yield withConnection(plan, index, { negotiation: { ...negotiation, changes } });
      }
    }
    for (const [key, value] of Object.entries(PLAINER)) {
      const isPlain = connection[key as keyof ConnectionPlan] === value;
      const isNeeded = key === 'isShared' && connection.traffic.length > 0;
      if (!isPlain && !isNeeded) yield withConnection(plan, index, { [key]: value });
    }
  }
}

/** The smallest plan found that breaks the same rule as `plan` does. Returns `plan` when it breaks none. */
export async function shrinkPlan(plan: Plan): Promise<Plan> {
  const invariant = (await runHistory(plan)).violations[0]?.invariant;
  if (invariant === undefined) return plan;
  let smallest = plan;
  let tries = 0;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of cuts(smallest)) {
      if (++tries > MOST_TRIES) return smallest;
      if ((await runHistory(candidate)).violations[0]?.invariant !== invariant) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}
