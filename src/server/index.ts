/** `wirebeat/server`: the reference echo server. */
export type { CloseOptions, EchoServer } from './echo-server.ts';
export { createEchoServer } from './echo-server.ts';
export {
  lengthPrefixedFrame,
  lengthPrefixedFrameLength,
  PAYLOAD_LIMIT_BYTES,
  PREFIX_BYTES,
} from './length-prefix.ts';
export type { ListenOptions } from './listen.ts';
export type { EchoServerOptions } from './options.ts';
export { ECHO_SERVER_DEFAULTS } from './options.ts';
