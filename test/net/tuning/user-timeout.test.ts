/** The kernel's patience on links: what is asked for reaches the kernel, and follows the verdict when rates change. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { connectHeartbeat } from '../../../src/client/connect.ts';
import { HeartbeatHub } from '../../../src/net/hub.ts';
import { socketFd } from '../../../src/net/native/native.ts';
import { emulation } from '../../../src/net/tuning/emulation.ts';
import { currentKernel, type Kernel } from '../../../src/net/tuning/kernel.ts';
import { setUserTimeout } from '../../../src/net/tuning/user-timeout.ts';
import type { AttachOptions } from '../../../src/net/types.ts';
import { createEchoServer } from '../../../src/server/echo-server.ts';
import type { EchoServerOptions } from '../../../src/server/options.ts';
import { recordingHost } from '../../support/hosts.ts';
import { closeAll, eventually, later, socketPair, tame, temporaryFolder } from '../../support/sockets.ts';

afterEach(closeAll);

const kernel = currentKernel();
const isTested = process.platform === 'linux' && kernel !== undefined;
const lacks = isTested ? '' : ' [needs Linux and koffi]';

/** TCP_USER_TIMEOUT as the kernel holds it, ms; 0: its own rule. */
function held(socket: Socket): number | undefined {
  const { sockets, platform } = kernel as Kernel;
  return sockets.getInt(socketFd(socket) as number, platform.numbers.tcpLevel, platform.numbers.userTimeout);
}

function ownHub(): HeartbeatHub {
  const hub = new HeartbeatHub();
  later(() => hub.close());
  return hub;
}

async function echo(options: EchoServerOptions = {}, where: object = {}) {
  const server = createEchoServer({ intervalMs: 1_000, ...options });
  later(() => server.close());
  const address = (await server.listen(where)) as AddressInfo;
  return { server, port: address.port };
}

describe.skipIf(!isTested)(`attach: userTimeout${lacks}`, () => {
  const attached = async (options: AttachOptions, kind: 'tcp' | 'tls' = 'tcp') =>
    ownHub().attach((await socketPair(kind)).accepted, { intervalMs: 1_000, ...options });

  test.each(['tcp', 'tls'] as const)(
    'follow on %s: the bound of our verdict, and one interval more',
    async (kind) => {
      const link = await attached({ userTimeout: 'follow' }, kind);
      expect(link.detectionBoundMs).toBe(5_010); // 3 x 1 s, two graces of 1 s, a tick
      expect(held(link.socket)).toBe(6_010);
    },
  );

  test('follow takes part in interval and multiplier', async () => {
    const link = await attached({ userTimeout: 'follow', intervalMs: 20_000, deadAfter: 2 });
    expect(held(link.socket)).toBe(Math.ceil(link.detectionBoundMs + 20_000));
  });

  test('follow ends where the kernel can count no further', async () => {
    const link = await attached({ userTimeout: 'follow', intervalMs: 16_777_185, deadAfter: 255 });
    expect(link.detectionBoundMs + 16_777_185).toBeGreaterThan(2 ** 32);
    expect(held(link.socket)).toBe(2 ** 31 - 1);
  });

  test('a number is honoured, shorter than our verdict or not; false and unset change nothing', async () => {
    expect(held((await attached({ userTimeout: 100 })).socket)).toBe(100);
    expect(held((await attached({ userTimeout: 999_999 })).socket)).toBe(999_999);
    expect(held((await attached({ userTimeout: false })).socket)).toBe(0);
    expect(held((await attached({})).socket)).toBe(0);
  });

  test('a socket that is given back has the rule of the kernel again, unless nothing was asked', async () => {
    const link = await attached({ userTimeout: 'follow' });
    expect(held(link.detach().socket)).toBe(0);
    const { accepted } = await socketPair();
    setUserTimeout(accepted, 4_444, kernel);
    const other = ownHub().attach(accepted, { intervalMs: 1_000 });
    expect(held(other.detach().socket)).toBe(4_444);
    const { accepted: unix } = await socketPair('unix');
    const watched = ownHub().attach(unix, { intervalMs: 1_000, userTimeout: 5_000 });
    expect(emulation.limitMs(unix)).toBe(5_000);
    watched.detach();
    expect(emulation.limitMs(unix)).toBe(false);
  });

  test('a socket that still connects gets it when it stands', async () => {
    const { port } = await echo();
    const socket = tame(connect({ port, host: '127.0.0.1' }));
    const link = ownHub().attach(socket, { intervalMs: 1_000, userTimeout: 'follow', firstPhase: 0 });
    await link.whenUp();
    expect(held(socket)).toBe(6_010);
  });

  test('follow goes with the rates, whenever they are agreed; a number stays', async () => {
    const { port } = await echo({ negotiate: true, intervalMs: 1_000 });
    const hub = ownHub();
    const dial = (userTimeout: 'follow' | number) =>
      connectHeartbeat({ port, hub, intervalMs: 1_000, negotiate: true, userTimeout });
    const link = await dial('follow');
    const steady = await dial(7_777);
    await eventually(() => link.stats().negotiated && steady.stats().negotiated, 'both agree');
    const before = held(link.socket);
    await new Promise((resolve) => setTimeout(resolve, 1_000)); // the least time between two changes
    const agreed = once(hub, 'negotiated');
    link.setRates({ requiredMinRxMs: 5_000 });
    await agreed;
    expect(link.stats().rxIntervalMs).toBe(5_000);
    expect(held(link.socket)).toBeGreaterThan(15_000);
    expect(held(link.socket)).toBe(Math.ceil(link.detectionBoundMs + 5_000));
    expect(before).toBeLessThan(10_000);
    expect(held(steady.socket)).toBe(7_777);
  });
});

describe.skipIf(!isTested)(`defaults${lacks}`, () => {
  test('connectHeartbeat: follow; not with false, beside a host protocol or on a unix socket', async () => {
    const { port } = await echo();
    const hub = ownHub();
    const options = { port, hub, intervalMs: 1_000 };
    const link = await connectHeartbeat(options);
    expect(held(link.socket)).toBe(6_010);
    expect(held((await connectHeartbeat({ ...options, userTimeout: false })).socket)).toBe(0);
    expect(held((await connectHeartbeat({ ...options, protocol: recordingHost().host })).socket)).toBe(0);
    const path = `${temporaryFolder()}/s`;
    await echo({}, { path });
    const unix = await connectHeartbeat({ path, hub, intervalMs: 1_000 });
    expect(emulation.limitMs(unix.socket)).toBe(false);
  });

  test('echo server: the longest verdict that can be agreed on and a minute, on what it accepts', async () => {
    for (const [tune, expected] of [
      [undefined, 360_000],
      [{ userTimeoutMs: 44_000 }, 44_000],
      [{ userTimeoutMs: false }, 0],
      [false, 0],
    ] as const) {
      const { server, port } = await echo(tune === undefined ? {} : { tune });
      await connectHeartbeat({ port, hub: ownHub(), intervalMs: 1_000 });
      const [link] = server.hub.links();
      expect(held(link!.socket), String(tune)).toBe(expected);
    }
  });
});

test('without the kernel, and where it refuses, this process watches', async () => {
  const { accepted, connected } = await socketPair();
  expect(setUserTimeout(accepted, 4_321, undefined)).toBe('emulated');
  expect(emulation.limitMs(accepted)).toBe(4_321);
  setUserTimeout(accepted, 2 ** 32 + 74, undefined);
  expect(emulation.limitMs(accepted)).toBe(2 ** 31 - 1);
  const unix = await socketPair('unix');
  expect(setUserTimeout(unix.accepted, 1_234, kernel)).toBe('emulated');
  expect(emulation.limitMs(unix.accepted)).toBe(1_234);
  if (isTested) {
    expect(setUserTimeout(connected, 4_321, kernel)).toBe('kernel');
    expect(emulation.limitMs(connected)).toBe(false);
  }
});

test.each([0, 99, 2 ** 31, 1.5, true, 'Follow', null])('userTimeout %s is refused', async (userTimeout) => {
  const { accepted } = await socketPair();
  const options = { userTimeout } as unknown as AttachOptions;
  expect(() => ownHub().attach(accepted, options)).toThrow(/^userTimeout must be /);
});
