/**
 * Heartbeats in three existing servers: a small RPC, a key-value store with lines and bulk strings that writes in
 * pieces, a broker with packets. Each stands here twice, as it was and with heartbeats; the difference is counted,
 * and both serve the same traffic, byte for byte.
 */
import { readFileSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { HeartbeatHub, Link } from '../../src/index.ts';
import { sized } from '../support/sizes.ts';
import * as brokerClient from './mqtt/client.ts';
import * as beatingBrokerClient from './mqtt/client-with-heartbeats.ts';
import { packetLength } from './mqtt/protocol.ts';
import * as broker from './mqtt/server.ts';
import * as beatingBroker from './mqtt/server-with-heartbeats.ts';
import * as storeClient from './resp/client.ts';
import * as beatingStoreClient from './resp/client-with-heartbeats.ts';
import { elementLength } from './resp/protocol.ts';
import * as store from './resp/server.ts';
import * as beatingStore from './resp/server-with-heartbeats.ts';
import * as rpcClient from './rpc/client.ts';
import * as beatingRpcClient from './rpc/client-with-heartbeats.ts';
import { messageLength } from './rpc/protocol.ts';
import * as rpc from './rpc/server.ts';
import * as beatingRpc from './rpc/server-with-heartbeats.ts';
import { traffic } from './traffic.ts';
import { RealWorld, VirtualWorld, type World } from './worlds.ts';

const CLIENTS = 2;
const REAL_MS = sized(10_000, 2_000);
const VIRTUAL_MS = sized(600_000, 120_000);
const seed = Number(process.env.WIREBEAT_SEED ?? Date.now() % 2 ** 31);

/** One example's server and clients, and traffic over them that proves every answer. Returns the exchanges made. */
type Example = (world: World, durationMs: number, beating: boolean) => Promise<number>;

async function clientsOf<C>(world: World, server: Server, make: (socket: Socket) => C): Promise<C[]> {
  const clients: C[] = [];
  for (let count = 0; count < CLIENTS; count++) clients.push(make(await world.connect(server)));
  return clients;
}

function same(received: Uint8Array, sent: Uint8Array, what: string): void {
  if (Buffer.compare(received, sent) === 0) return;
  throw new Error(`${what}: ${sent.length} bytes were sent, ${received.length} or other ones came back`);
}

const rpcExample: Example = async (world, durationMs, beating) => {
  const reversed = (body: Uint8Array): Uint8Array => Uint8Array.from(body).reverse();
  const server = beating ? beatingRpc.createRpcServer(reversed, world.hub) : rpc.createRpcServer(reversed);
  const clients = await clientsOf(world, server, (socket) =>
    beating ? new beatingRpcClient.RpcClient(socket, world.hub) : new rpcClient.RpcClient(socket),
  );
  return traffic(world, durationMs, async (payload, index) => {
    same(await clients[index % CLIENTS]!.call(payload), reversed(payload), `call ${index}`);
  });
};

/** The payload in parts, with time between for a heartbeat to fall due. */
async function* trickle(world: World, payload: Buffer): AsyncGenerator<Buffer> {
  const middle = world.random.u32() % (payload.length + 1);
  await world.sleep(world.random.u32() % 60);
  yield payload.subarray(0, middle);
  await world.sleep(world.random.u32() % 60);
  yield payload.subarray(middle);
}

const storeExample: Example = async (world, durationMs, beating) => {
  const server = beating ? beatingStore.createStore(world.hub) : store.createStore();
  const clients = await clientsOf(world, server, (socket) =>
    beating ? new beatingStoreClient.StoreClient(socket, world.hub) : new storeClient.StoreClient(socket),
  );
  return traffic(world, durationMs, async (payload, index) => {
    const client = clients[index % CLIENTS]!;
    const key = `key ${index}`;
    const [missing, set, value, deleted, unknown] = await Promise.all([
      client.command('GET', key),
      index % 3 === 0
        ? client.upload(key, payload.length, trickle(world, payload))
        : client.command('SET', key, payload),
      client.command('GET', key),
      client.command('DEL', key),
      client.command('HB'),
    ]);
    expect([missing, set, deleted, unknown]).toEqual([null, 'OK', 1, new Error('ERR no such command')]);
    same(value as Buffer, payload, key);
  });
};

const brokerExample: Example = async (world, durationMs, beating) => {
  const server = beating ? beatingBroker.createBroker(world.hub) : broker.createBroker();
  /** What each client is still to get, by topic, in order. */
  const due = Array.from({ length: CLIENTS }, () => new Map<string, Buffer[]>());
  let made = 0;
  const clients = await clientsOf(world, server, (socket) => {
    const mine = due[made++]!;
    const onMessage = (topic: string, payload: Uint8Array): void => {
      same(payload, mine.get(topic)!.shift()!, `a message on ${topic}`);
    };
    return beating
      ? new beatingBrokerClient.BrokerClient(socket, onMessage, world.hub)
      : new brokerClient.BrokerClient(socket, onMessage);
  });
  const topics = clients.map((_, index) => `topic ${index}`);
  for (const topic of topics) {
    for (const [index, client] of clients.entries()) {
      due[index]!.set(topic, []);
      await client.subscribe(topic);
    }
  }
  const exchanges = await traffic(world, durationMs, async (payload, index) => {
    const topic = topics[index % CLIENTS]!;
    for (const mine of due) mine.get(topic)!.push(payload);
    await clients[index % CLIENTS]!.publish(topic, payload);
    await clients[(index + 1) % CLIENTS]!.ping();
  });
  await world.sleep(500);
  expect(due.flatMap((mine) => [...mine.values()].flat())).toEqual([]);
  return exchanges;
};

const EXAMPLES: [name: string, folder: string, example: Example][] = [
  ['length-prefixed RPC', 'rpc', rpcExample],
  ['key-value store with lines, writing in pieces', 'resp', storeExample],
  ['broker with packets', 'mqtt', brokerExample],
];

/** What went wrong on any link. Suspicion is a fault only in virtual time: this machine may be slow, that one not. */
function watch(world: World): string[] {
  const faults: string[] = [];
  const told =
    world instanceof VirtualWorld ? (['suspect', 'dead', 'one-way'] as const) : (['dead'] as const);
  for (const event of told) world.hub.on(event, (link: Link) => faults.push(`${event} on link ${link.id}`));
  world.hub.on('closed', (link, { cause, code, reason }) => {
    if (cause !== 'local' && cause !== 'left') faults.push(`link ${link.id}: ${cause} ${code} ${reason}`);
  });
  return faults;
}

/** Runs the traffic in this world and closes it; nothing may go wrong on any link. Returns the exchanges made. */
async function serve(world: World, example: Example, durationMs: number, beating: boolean): Promise<number> {
  const faults = watch(world);
  let exchanges = 0;
  const work = example(world, durationMs, beating).then((count) => {
    exchanges = count;
  });
  try {
    await world.run(work, world.now() + durationMs + 30_000);
    if (beating) expectBeats(world.hub, durationMs / 100);
  } catch (error) {
    faults.push(String(error));
  }
  await world.close();
  expect(faults).toEqual([]);
  return exchanges;
}

describe('heartbeats take fewer than ten changed lines', () => {
  test.each([
    ...EXAMPLES.map(([name, folder]) => [`${name}: server`, `${folder}/server`]),
    ...EXAMPLES.map(([name, folder]) => [`${name}: client`, `${folder}/client`]),
  ])('%s', (_, path) => {
    const changed = changedLines(linesOf(`${path}.ts`), linesOf(`${path}-with-heartbeats.ts`));
    expect(changed).toBeGreaterThan(2);
    expect(changed).toBeLessThan(10);
  });

  test('a line changed, added or removed counts once', () => {
    expect(changedLines(['a', 'b', 'c'], ['a', 'b', 'c'])).toBe(0);
    expect(changedLines(['a', 'b', 'c'], ['a', 'x', 'c'])).toBe(1);
    expect(changedLines(['a', 'b', 'c'], ['a', 'c'])).toBe(1);
    expect(changedLines(['a', 'c'], ['a', 'b', 'b', 'c', 'd'])).toBe(3);
    expect(changedLines(['a', 'b', 'c', 'd'], ['x', 'b', 'y', 'z', 'd'])).toBe(3);
  });
});

describe('no host frame of the examples can be a heartbeat', () => {
  test.each([
    ['RPC', messageLength],
    ['store', elementLength],
    ['broker', packetLength],
  ])('%s: 48 42 and 48 are refused by its own framing', (_, frameLength) => {
    expect(frameLength(Buffer.from('HB'), 0, 2)).toBe(-1);
    expect(frameLength(Buffer.from('H'), 0, 1)).toBe(-1);
  });
});

describe(`real connections, cut anew on their way (seed ${seed})`, () => {
  test.concurrent.each(EXAMPLES)(
    'F45: %s, with heartbeats between',
    async (_name, _folder, example) => {
      const exchanges = await serve(new RealWorld(seed), example, REAL_MS, true);
      expect(exchanges).toBeGreaterThan(10);
    },
    60_000,
  );

  test.concurrent.each(EXAMPLES)(
    '%s, as it was',
    async (_name, _folder, example) => {
      expect(await serve(new RealWorld(seed), example, 500, false)).toBeGreaterThan(0);
    },
    60_000,
  );
});

describe(`${VIRTUAL_MS / 60_000} minutes of virtual time (seed ${seed})`, () => {
  test.each(EXAMPLES)(
    'F45 F65: %s, with heartbeats between',
    async (_name, _folder, example) => {
      const exchanges = await serve(new VirtualWorld(seed), example, VIRTUAL_MS, true);
      expect(exchanges).toBeGreaterThan(VIRTUAL_MS / 300);
    },
    60_000,
  );
});

/** Both ends of each connection beat and answered: at least half a frame per interval in all, and pongs. */
function expectBeats(hub: HeartbeatHub, intervals: number): void {
  const stats = hub.stats();
  expect(stats.links).toBe(2 * CLIENTS);
  expect(stats.framesReceived).toBeGreaterThan(intervals);
  expect(stats.pongsMatched).toBeGreaterThan(2 * CLIENTS);
  expect(stats.resyncBytes + stats.duplicates + stats.stale).toBe(0);
}

function linesOf(path: string): string[] {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return text.replace(/^\/\*\*[\s\S]*?\*\/\n/, '').split('\n');
}

/** By the longest common subsequence; where lines were replaced, the longer side of the replacement counts. */
function changedLines(before: string[], after: string[]): number {
  const fewest: number[][] = Array.from({ length: before.length + 1 }, () => []);
  for (let i = before.length; i >= 0; i--) {
    for (let j = after.length; j >= 0; j--) {
      const rest = (a: number, b: number): number => fewest[a]?.[b] ?? Infinity;
      const kept = before[i] === after[j] && i < before.length ? rest(i + 1, j + 1) : Infinity;
      const replaced = 1 + Math.min(rest(i + 1, j), rest(i, j + 1), rest(i + 1, j + 1));
      const isEnd = i === before.length && j === after.length;
      fewest[i]![j] = isEnd ? 0 : Math.min(kept, replaced);
    }
  }
  return fewest[0]![0]!;
}
