/** The kernel's own options: set and read back on real sockets, and every way in which they can be out of reach. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
  type NativeSockets,
  nativeAccess,
  nativeSockets,
  openNative,
  socketFd,
} from '../../../src/net/native/native.ts';
import { nativePlatform } from '../../../src/net/native/platform.ts';
import { programOf, removePrograms } from '../../support/programs.ts';
import {
  closeAll,
  type Kind,
  listening,
  newSocket,
  socketPair,
  tame,
  temporaryFolder,
} from '../../support/sockets.ts';

afterEach(closeAll);
afterAll(removePrograms);

const LINUX = nativePlatform('linux', 'x64')!;
const { tcpLevel, socketLevel, keepAlive, userTimeout, keepAliveIdle, keepAliveCount } = LINUX.numbers;
const TCP_INFO = 11;
const EBADF = 9;
const ENOPROTOOPT = 92;

const isTested = process.platform === 'linux' && nativeSockets() !== undefined;
const lacks = isTested ? '' : ' [needs Linux and koffi]';
const require = createRequire(import.meta.url);

describe.skipIf(!isTested)(`options of real sockets${lacks}`, () => {
  const native = nativeSockets() as NativeSockets;

  test.each<Kind>(['tcp', 'tcp6', 'tls'])('%s: what is set is read back', async (kind) => {
    const { accepted, connected } = await socketPair(kind);
    const fd = socketFd(accepted)!;
    expect(fd).not.toBe(socketFd(connected));
    expect(native.getInt(fd, tcpLevel, userTimeout)).toBe(0);
    expect(native.setInt(fd, tcpLevel, userTimeout, 12_345)).toBe(0);
    expect(native.getInt(fd, tcpLevel, userTimeout)).toBe(12_345);
    expect(native.getInt(socketFd(connected)!, tcpLevel, userTimeout)).toBe(0);
    accepted.setKeepAlive(true, 7_000); // Node and this agree on the numbers
    expect(native.getInt(fd, socketLevel, keepAlive)).toBe(1);
    expect(native.getInt(fd, tcpLevel, keepAliveIdle)).toBe(7);
  });

  test('a refusal is the errno, and changes nothing', async () => {
    const fd = socketFd((await socketPair()).accepted)!;
    expect(native.setInt(fd, tcpLevel, 1_234, 1)).toBe(ENOPROTOOPT);
    expect(native.getInt(fd, tcpLevel, 1_234)).toBeUndefined();
    expect(native.getBytes(fd, tcpLevel, 1_234, new Uint8Array(8))).toBe(-ENOPROTOOPT);
    expect(native.setInt(99_999, tcpLevel, userTimeout, 1)).toBe(EBADF);
    const before = native.getInt(fd, tcpLevel, keepAliveCount);
    expect(native.setInt(fd, tcpLevel, keepAliveCount, 128)).toBeGreaterThan(0);
    expect(native.getInt(fd, tcpLevel, keepAliveCount)).toBe(before);
  });

  test('bytes: as many as fit, and how many', async () => {
    const fd = socketFd((await socketPair()).accepted)!;
    const roomy = new Uint8Array(512).fill(0xaa);
    const filled = native.getBytes(fd, tcpLevel, TCP_INFO, roomy);
    expect(filled).toBeGreaterThan(100);
    expect(roomy[0]).toBe(1); // TCP_ESTABLISHED
    expect(roomy.subarray(filled).every((byte) => byte === 0xaa)).toBe(true);
    const narrow = new Uint8Array(16).fill(0xaa);
    expect(native.getBytes(fd, tcpLevel, TCP_INFO, narrow.subarray(0, 8))).toBe(8);
    expect(narrow.subarray(8).every((byte) => byte === 0xaa)).toBe(true);
  });

  test('what a listener has, those it accepts from then on have too', async () => {
    const server = createServer();
    const where = await listening(server, 'tcp');
    expect(native.setInt(socketFd(server)!, tcpLevel, userTimeout, 5_000)).toBe(0);
    const accepting = once(server, 'connection');
    tame(connect({ ...where }));
    const [accepted] = (await accepting) as [Socket];
    expect(native.getInt(socketFd(accepted)!, tcpLevel, userTimeout)).toBe(5_000);
  });
});

describe('descriptors', () => {
  test.skipIf(process.platform === 'win32')('of sockets on TCP, TLS and unix paths', async () => {
    for (const kind of ['tcp', 'tls', 'unix'] as const) {
      const { accepted, connected } = await socketPair(kind);
      expect(socketFd(accepted), kind).toBeGreaterThan(2);
      expect(socketFd(connected), kind).toBeGreaterThan(2);
    }
  });

  test('none before it is open, none after it is closed', async () => {
    expect(socketFd(newSocket())).toBeUndefined();
    const server = createServer();
    expect(socketFd(server)).toBeUndefined();
    const { accepted } = await socketPair();
    accepted.destroy();
    await once(accepted, 'close');
    expect(socketFd(accepted)).toBeUndefined();
  });
});

describe('out of reach', () => {
  const forbidden = (): never => {
    throw new Error('must not be loaded');
  };

  test('WIREBEAT_NATIVE=0, or numbers nobody knows: koffi is not even loaded', () => {
    expect(openNative(true, LINUX, forbidden)).toEqual({ absence: 'switched off by WIREBEAT_NATIVE=0' });
    for (const [platform, arch] of [
      ['linux', 'mips'],
      ['linux', 'mipsel'],
      ['aix', 'ppc64'],
      ['freebsd', 'x64'],
    ] as const) {
      expect(openNative(false, nativePlatform(platform, arch), forbidden)).toEqual({
        absence: 'the option numbers of this platform are not known',
      });
    }
  });

  test('koffi is not installed, cannot be loaded, or lacks the functions', () => {
    const elsewhere = createRequire(pathToFileURL(join(temporaryFolder(), 'a.js')));
    expect(openNative(false, LINUX, elsewhere)).toEqual({
      absence: 'the package koffi is not installed (npm install koffi)',
    });
    expect(openNative(false, LINUX, forbidden).absence).toBe('koffi failed: Error: must not be loaded');
    expect(openNative(false, LINUX, () => ({})).absence).toMatch(/^koffi failed: TypeError/);
  });

  test.skipIf(!isTested)('koffi finds no such library on a system without it', () => {
    expect(openNative(false, nativePlatform('win32', 'x64'), require).absence).toMatch(/^koffi failed: /);
  });

  test('a whole process, with the switch and without', async () => {
    const program = await programOf(`import { nativeAccess } from './src/net/native/native.ts';
      const { sockets, absence } = nativeAccess();
      console.log(absence ?? typeof sockets.setInt);`);
    const answer = (value: string): string => {
      const env = { ...process.env, WIREBEAT_NATIVE: value };
      return spawnSync(process.execPath, [program], { env, encoding: 'utf8' }).stdout.trim();
    };
    expect(answer('0')).toBe('switched off by WIREBEAT_NATIVE=0');
    if (isTested) expect(answer('')).toBe('function');
  });
});

test('every platform has a full row, and no two options of a level share a number', () => {
  for (const [platform, arch] of [
    ['linux', 'arm64'],
    ['darwin', 'arm64'],
    ['win32', 'x64'],
  ] as const) {
    const { numbers, socketType } = nativePlatform(platform, arch)!;
    const ofTcp = [
      numbers.noDelay,
      numbers.keepAliveIdle,
      numbers.keepAliveInterval,
      numbers.keepAliveCount,
      numbers.userTimeout,
    ];
    expect(new Set(ofTcp).size, platform).toBe(5);
    expect(socketType).toBe(platform === 'win32' ? 'uintptr_t' : 'int');
  }
  expect(nativeAccess()).toBe(nativeAccess());
});
