/**
 * The demo's two ends in one process, over loopback: an echo server and a listener that never answers on one side, the
 * watching links on the other. Strikes a peer on its server side only, so that the links under watch have nothing
 * but the wire to judge by.
 */
import { setMaxListeners } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { connectHeartbeat } from '../../client/connect.ts';
import { HeartbeatHub } from '../../net/hub.ts';
import type { Link } from '../../net/types.ts';
import { createEchoServer, type EchoServer } from '../../server/echo-server.ts';
import { Peer } from './peer.ts';
import type { Kind, KindName } from './scenario.ts';

const STRAY_BYTES = 3;
/** Twice what a link may skip while it looks for the next frame. */
const GARBAGE_BYTES = 2_048;
/** Never the first byte of a heartbeat, nor of an echo frame. */
const GARBAGE = 0xa5;
/** Connects under way at once: few, as this one process also has to accept them, one per turn of its loop. */
const CONNECTING = 8;
/** A beat on loopback has arrived after this, ms. */
const DELIVERY_MS = 5;

export class Stage {
  readonly peers: Peer[] = [];
  readonly hub = new HeartbeatHub();
  readonly #intervalMs: number;
  readonly #server: EchoServer;
  readonly #mute: Server;
  /** Our ends of connections that no link watches on the server side: frozen and mute peers. */
  readonly #abandoned = new Set<Socket>();
  readonly #byLink = new Map<Link, Peer>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
    this.#server = createEchoServer({ intervalMs });
    this.#mute = createServer({ pauseOnConnect: true }, (socket) => this.#abandon(socket));
    this.#listen();
  }

  /** Connect one link per role. Rejects when `signal` aborts or a connection fails. */
  async connect(cast: readonly Kind[], signal: AbortSignal): Promise<void> {
    const { port } = (await this.#server.listen(0)) as AddressInfo;
    await new Promise<void>((resolve) => this.#mute.listen(0, '127.0.0.1', resolve));
    const mutePort = (this.#mute.address() as AddressInfo).port;
    setMaxListeners(2 * CONNECTING, signal); // one per connection under way, not a leak
    const waiting = [...cast];
    const connectAll = async (): Promise<void> => {
      for (let kind = waiting.pop(); kind !== undefined; kind = waiting.pop()) {
        await this.#connectOne(kind, kind.name === 'mute' ? mutePort : port, signal);
      }
    };
    await Promise.all(Array.from({ length: CONNECTING }, connectAll));
  }

  async #connectOne(kind: Kind, port: number, signal: AbortSignal): Promise<void> {
    const isMute = kind.name === 'mute';
    const link = await connectHeartbeat({
      port,
      hub: this.hub,
      signal,
      intervalMs: this.#intervalMs,
      preciseRtt: true,
      waitFor: isMute ? 'connect' : 'up',
    });
    const peer = new Peer(kind, link);
    if (isMute) peer.struckAtMs = performance.now();
    this.peers.push(peer);
    this.#byLink.set(link, peer);
  }

  /** Let its fate befall this peer. */
  strike(peer: Peer): void {
    const farEnd = this.#farEndOf(peer);
    const blow = BLOWS[peer.kind.name];
    if (farEnd === undefined || blow === undefined) return;
    peer.struckAtMs = performance.now();
    const socket = blow(farEnd, peer.link);
    if (socket !== undefined) this.#abandon(socket);
  }

  /** The server says GOAWAY and drains; frozen and mute peers are let go. */
  async close(drainMs: number): Promise<void> {
    for (const socket of this.#abandoned) socket.destroy();
    this.#mute.close();
    await this.#server.close({ drainMs });
    await this.hub.close();
  }

  #listen(): void {
    this.hub.on('suspect', (link) => {
      const peer = this.#byLink.get(link);
      if (peer === undefined) return;
      peer.suspected = true;
      if (peer.kind.name === 'stalled') this.#wake(peer);
    });
    this.hub.on('recovered', (link) => {
      const peer = this.#byLink.get(link);
      if (peer !== undefined) peer.recovered = true;
    });
    this.hub.on('dead', (link, detail) => {
      const peer = this.#byLink.get(link);
      const { detectionTimeMs, detectionBoundMs } = link;
      if (peer !== undefined) peer.verdict = { ...detail, detectionTimeMs, detectionBoundMs };
    });
    this.hub.on('closed', (link, { cause }) => {
      const peer = this.#byLink.get(link);
      if (peer !== undefined) peer.ended = { cause, atMs: performance.now() };
    });
  }

  /** A stalled peer comes back: the server watches its socket again and finds the questions waiting there. */
  #wake(peer: Peer): void {
    const { localPort } = peer.link.socket;
    for (const socket of this.#abandoned) {
      if (socket.remotePort !== localPort) continue;
      this.#abandoned.delete(socket);
      this.#server.hub.attach(socket, { intervalMs: this.#intervalMs });
    }
  }

  #farEndOf(peer: Peer): Link | undefined {
    const { localPort } = peer.link.socket;
    for (const link of this.#server.hub.links()) if (link.socket.remotePort === localPort) return link;
    return undefined;
  }

  #abandon(socket: Socket): void {
    this.#abandoned.add(socket);
    socket.on('error', () => {}); // the verdict of the other end may reset it
  }
}

/** What is done to the far end. The socket returned is left open, with nobody behind it. */
const BLOWS: Readonly<Partial<Record<KindName, (farEnd: Link, nearEnd: Link) => Socket | undefined>>> = {
  stray: (farEnd) => void farEnd.write(Buffer.alloc(STRAY_BYTES, GARBAGE)),
  damage: (farEnd) => void farEnd.write(Buffer.alloc(GARBAGE_BYTES, GARBAGE)),
  stalled: (farEnd) => farEnd.detach().socket,
  frozen: (farEnd) => farEnd.detach().socket,
  reset: resetBy,
  crashed: (farEnd) => void farEnd.detach().socket.resume().end(),
  leaving: (farEnd) => void farEnd.leave({ drainMs: 0 }),
};

/**
 * The kernel resets a connection that is closed with bytes unread, so one beat is made to wait there. (Node's
 * `resetAndDestroy` sends a FIN first, and the other end may read that as an orderly close.)
 */
function resetBy(farEnd: Link, nearEnd: Link): undefined {
  const { socket } = farEnd.detach();
  nearEnd.setDegraded(true); // a change is told at once
  // Our loop must not turn meanwhile, or Node would read the beat; a busy kernel needs a moment to deliver it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DELIVERY_MS);
  socket.destroy();
}
