/**
 * A plain socket, tuned and without heartbeats: what the kernel finds out by itself, beside what we say it will. Runs
 * in the namespace of its host.
 */
import { connect } from 'node:net';
import { explainTuning, type TuneOptions, tuneSocket } from '../../src/net/index.ts';
import { causeOfSocketError } from '../../src/net/socket-errors.ts';
import { obey, programOptions, say } from './program.ts';

export interface PlainOptions {
  host: string;
  port: number;
  tune: TuneOptions;
}

const { host, port, tune } = programOptions<PlainOptions>();
say('dials');
const socket = connect({ host, port });
let code: string | undefined;

socket.on('connect', () => {
  say('connected');
  // Without heartbeats, `idleWithoutBeats` is what holds.
  say('tuned', { report: tuneSocket(socket, tune), explained: explainTuning(tune) });
});
socket.on('error', (error: NodeJS.ErrnoException) => {
  code = error.code;
});
socket.on('close', () => say('closed', { cause: causeOfSocketError(code), code }));
socket.resume();

obey({ write: (bytes) => socket.write(Buffer.alloc(bytes)) });
