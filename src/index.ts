/** `wirebeat`: everything an embedding service needs, from one door. The floors have doors of their own. */
export { WirebeatError } from './base/errors.ts';
export * from './client/index.ts';
export * from './net/index.ts';
export * from './server/index.ts';
export * from './wire/index.ts';
