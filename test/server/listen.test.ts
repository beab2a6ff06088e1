/** Where the server listens, and what it says when it cannot. */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createEchoServer, type EchoServer } from '../../src/server/echo-server.ts';
import { closeAll, later, temporaryFolder } from '../support/sockets.ts';

afterEach(closeAll);

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

function echo(): EchoServer {
  const server = createEchoServer();
  later(() => server.close());
  return server;
}

describe('listen', () => {
  test('without arguments: loopback, any free port', async () => {
    const server = echo();
    expect(server.address()).toBeNull();
    const address = (await server.listen()) as AddressInfo;
    expect(address).toMatchObject({ address: '127.0.0.1', family: 'IPv4' });
    expect(address.port).toBeGreaterThan(0);
    expect(server.address()).toEqual(address);
  });

  test('port and host, as two arguments or as options', async () => {
    expect(await echo().listen(0, '127.0.0.2')).toMatchObject({ address: '127.0.0.2' });
    expect(await echo().listen({ port: 0, host: '127.0.0.3', backlog: 5 })).toMatchObject({
      address: '127.0.0.3',
    });
  });

  test.skipIf(!hasIpv6)(`IPv6${hasIpv6 ? '' : ' [needs IPv6: not on this machine]'}`, async () => {
    expect(await echo().listen(0, '::1')).toMatchObject({ address: '::1', family: 'IPv6' });
  });

  test('a unix socket, whose file is gone after the close', async () => {
    const path = join(temporaryFolder(), 's');
    const server = echo();
    expect(await server.listen({ path })).toBe(path);
    expect(existsSync(path)).toBe(true);
    await server.close();
    expect(existsSync(path)).toBe(false);
  });

  test('a socket file that a killed process left behind is removed', async () => {
    const path = join(temporaryFolder(), 's');
    const killed = `() => process.kill(process.pid, 'SIGKILL')`;
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, ${killed})`;
    spawnSync(process.execPath, ['-e', script]);
    expect(existsSync(path)).toBe(true);
    expect(await echo().listen({ path })).toBe(path);
  });

  test('a socket file that is in use, and one that is no socket, are left alone', async () => {
    const path = join(temporaryFolder(), 's');
    await echo().listen({ path });
    const inUse = { code: 'EADDRINUSE', message: `cannot listen on ${path}: the address is in use` };
    await expect(echo().listen({ path })).rejects.toMatchObject(inUse);
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, 'precious');
    await expect(echo().listen({ path: file })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(existsSync(file)).toBe(true);
  });

  test('a port in use: the code, and the address in the message; another port works afterwards', async () => {
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    later(() => other.close());
    const { port } = other.address() as AddressInfo;
    const server = echo();
    await expect(server.listen(port)).rejects.toMatchObject({
      name: 'WirebeatError',
      code: 'EADDRINUSE',
      message: `cannot listen on 127.0.0.1:${port}: the address is in use`,
    });
    expect(await server.listen(0)).toMatchObject({ address: '127.0.0.1' });
  });

  test('an address of another machine', async () => {
    await expect(echo().listen(0, '192.0.2.1')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
    const six = { message: /^cannot listen on \[2001:db8::1\]:0: / };
    if (hasIpv6) await expect(echo().listen(0, '2001:db8::1')).rejects.toThrow(six.message);
  });

  test.each([
    ['an address', {}],
    ['a name, still being looked up', { host: 'localhost' }],
  ])('closed at once after listen, %s: both settle, and nobody listens', async (_title, where) => {
    const server = createEchoServer();
    const listening = server.listen(where);
    const refused = expect(listening).rejects.toMatchObject({ code: 'HB_ERR_CLOSED' });
    await server.close();
    await refused;
    expect([server.address(), server.server.listening]).toEqual([null, false]);
  });

  test('closed at once after listen on a unix socket: no file stays', async () => {
    const path = join(temporaryFolder(), 's');
    const server = createEchoServer();
    const refused = expect(server.listen({ path })).rejects.toMatchObject({ code: 'HB_ERR_CLOSED' });
    await server.close();
    await refused;
    expect(existsSync(path)).toBe(false);
  });

  test('a closed server does not listen again', async () => {
    const server = createEchoServer();
    await server.listen();
    await server.close();
    await expect(server.listen()).rejects.toMatchObject({
      code: 'HB_ERR_CLOSED',
      message: 'the server is closed; make a new one',
    });
  });

  test('a second listen is refused, leaves no listener behind, and the first goes on', async () => {
    const server = echo();
    const listening = server.listen();
    const refusal = { name: 'WirebeatError', code: 'HB_ERR_LISTEN', message: /listens already/ };
    await expect(server.listen()).rejects.toMatchObject({ code: refusal.code });
    const address = await listening;
    await expect(server.listen()).rejects.toThrow(refusal.message);
    expect(server.server.listenerCount('error')).toBe(0);
    expect(server.address()).toEqual(address);
  });

  test.each([
    ['port', { port: 65_536 }, '65536'],
    ['port', { port: -1 }, '-1'],
    ['host', { host: '' }, '""'],
    ['path', { path: '' }, '""'],
    ['backlog', { backlog: 0 }, '0'],
    ['options.prot', { prot: 1 }, 'is no option'],
  ])('%s: %o is refused by name and value', async (name, options, shown) => {
    await expect(echo().listen(options as never)).rejects.toThrow(new RegExp(`^${name} .*${shown}`));
  });
});
