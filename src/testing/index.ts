/** `wirebeat/testing`: for the tests of those who build on wirebeat. Needs the optional peer `fast-check`. */
export { chunkingArbitrary, damageArbitrary, frameArbitrary, streamArbitrary } from './arbitraries.ts';
