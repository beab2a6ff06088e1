/**
 * Seeded traffic for the examples: bursts of exchanges between pauses, payloads of every size, many of which hold
 * whole heartbeats as data, and meanwhile real heartbeats in both directions at moments of chance: the level
 * DEGRADED of random links is turned on and off, which is told at once, on a busy link too.
 */
import type { Random } from '../../src/base/random.ts';
import { encodeFrame, Flag, type HeartbeatHub } from '../../src/index.ts';
import type { World } from './worlds.ts';

/** Every size up to this is sent again and again, larger ones by chance. */
const SWEPT_BYTES = 300;
const LARGEST_BYTES = 70_000;

class Payloads {
  readonly #random: Random;
  #swept = 0;
  made = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): Buffer {
    this.made++;
    const isLarge = this.#random.next() < 0.02;
    const bytes = isLarge ? this.#random.u32() % LARGEST_BYTES : this.#swept++ % (SWEPT_BYTES + 1);
    const payload = Buffer.alloc(bytes);
    for (let at = 0; at + 4 <= bytes; at += 4) payload.writeUInt32LE(this.#random.u32(), at);
    // What looks like a heartbeat inside a host frame is data.
    const frame = encodeFrame({ flags: Flag.GoAway, seq: this.#random.u32(), timestamp: 0 });
    if (bytes > 16) frame.copy(payload, this.#random.u32() % (bytes - 16));
    return payload;
  }
}

/** Bursts of exchanges for so long; each exchange checks its own answer and rejects when it is wrong. */
export async function traffic(
  world: World,
  durationMs: number,
  exchange: (payload: Buffer, index: number) => Promise<void>,
): Promise<number> {
  const payloads = new Payloads(world.random);
  const endMs = world.now() + durationMs;
  while (world.now() < endMs) {
    const burst = Array.from({ length: 1 + (world.random.u32() % 4) }, () => {
      const index = payloads.made;
      return exchange(payloads.next(), index);
    });
    disturb(world.hub, world.random);
    await Promise.all(burst);
    if (world.random.next() < world.pauseShare) await world.sleep(world.random.u32() % 500);
  }
  return payloads.made;
}

/** A heartbeat out of turn on some of the links, while they are busy. */
function disturb(hub: HeartbeatHub, random: Random): void {
  for (const link of hub.links()) {
    if (random.next() < 0.3) link.setDegraded(random.next() < 0.5);
  }
}
