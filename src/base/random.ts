/**
 * Where randomness comes from. The core takes a `Random`; only this file touches the system's source.
 * `seededRandom` makes every test and simulation replayable from one printed number.
 */
import { randomBytes } from 'node:crypto';

/** Source of randomness. `next` is uniform over [0, 1); `u32` is uniform over 0..2^32-1. */
export interface Random {
  next(): number;
  u32(): number;
}

const U32 = 2 ** 32;

/** A small, fast, well-mixed generator (sfc32, Chris Doty-Humphrey's PractRand), state filled from `seed`. */
export function seededRandom(seed: number): Random {
  let a = seed >>> 0;
  let b = Math.floor(seed / U32) >>> 0;
  let c = 0x9e3779b9;
  let counter = 1;
  const u32 = (): number => {
    const result = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + result;
    return result >>> 0;
  };
  for (let warmUp = 0; warmUp < 12; warmUp++) u32();
  return { u32, next: () => u32() / U32 };
}

let processRandom: Random | undefined;

/** The process's generator: seeded once from the system's entropy. Not for secrets; phases, jitter and offsets. */
export function systemRandom(): Random {
  if (processRandom === undefined) {
    const entropy = randomBytes(8);
    processRandom = seededRandom(entropy.readUInt32LE(0) + (entropy.readUInt32LE(4) & 0xfffff) * U32);
  }
  return processRandom;
}
