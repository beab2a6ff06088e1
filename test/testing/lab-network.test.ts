/** The lab's sockets behave like Node's where a link depends on it, and its network loses nothing it should not. */
import { describe, expect, test } from 'vitest';
import { connectLab, type LabConnection, type LabConnectionOptions } from '../../src/testing/lab-network.ts';
import { echo } from '../../src/testing/lab-peers.ts';
import { LabProcess } from '../../src/testing/lab-process.ts';
import type { LabSocket } from '../../src/testing/lab-socket.ts';
import { LabWorld } from '../../src/testing/lab-world.ts';

interface Lab extends LabConnection {
  world: LabWorld;
  a: LabProcess;
  b: LabProcess;
}

function lab(options: LabConnectionOptions = {}): Lab {
  const world = new LabWorld(1);
  const [a, b] = [new LabProcess(world, 'a'), new LabProcess(world, 'b')];
  return Object.assign(connectLab(a, b, options), { world, a, b });
}

/** What a socket reads, as "time:text". */
function listen(socket: LabSocket): string[] {
  const heard: string[] = [];
  const note = (text: string): void => void heard.push(`${socket.process.world.nowMs}:${text}`);
  socket.on('data', (bytes: Uint8Array) => note(Buffer.from(bytes).toString()));
  socket.on('end', () => note('end'));
  socket.on('error', (error: NodeJS.ErrnoException) => note(`${error.code}`));
  socket.on('close', () => note('close'));
  socket.resume();
  return heard;
}

const text = (bytes: string): Buffer => Buffer.from(bytes);

describe('lab network', () => {
  test('bytes arrive after the delay, in order whatever the delay of each says, merged when unread', () => {
    const delaysMs = [30, 10, 0];
    const { near, far, world } = lab({ there: { delayMs: () => delaysMs.shift() ?? 0 }, back: {} });
    for (const part of ['a', 'b', 'c']) near.write(text(part));
    const heard = listen(far);
    world.run(100);
    expect(heard).toEqual(['30:abc']);
  });

  test('a bandwidth spreads arrivals', () => {
    const { near, far, world } = lab({ there: { bytesPerSecond: 16_384_000 } });
    const heard: number[] = [];
    far.on('data', (bytes: Uint8Array) => heard.push(world.nowMs, bytes.length));
    far.resume();
    near.write(Buffer.alloc(40_000));
    world.run(100);
    expect(heard.filter((_, index) => index % 2 === 1)).toEqual([16_384, 16_384, 7_232]);
    expect(heard[2]! - heard[0]!).toBeCloseTo(1, 2);
  });

  test('input comes in pieces as small as asked for, all of it in one poll', () => {
    const { near, far, world } = lab();
    far.readBytes = 2;
    const heard = listen(far);
    near.write(text('abcde'));
    world.run(1);
    expect(heard).toEqual(['0:ab', '0:cd', '0:e']);
  });

  test('a lost direction keeps bytes and gives them in order when it heals; the other direction goes on', () => {
    const { near, far, there, world } = lab();
    const [atFar, atNear] = [listen(far), listen(near)];
    there.lose(100);
    near.write(text('lost '));
    far.write(text('heard'));
    world.run(50);
    near.write(text('too'));
    world.run(100);
    expect(atNear).toEqual(['0:heard']);
    expect(atFar).toEqual(['100:lost too']);
  });

  test('damage changes what arrives, once', () => {
    const { near, far, there, world } = lab();
    const heard = listen(far);
    there.damage = (bytes) => {
      bytes[0] = 0x58;
      there.damage = undefined;
    };
    const sent = text('abc');
    near.write(sent);
    world.run(1);
    near.write(text('abc'));
    world.run(1);
    expect(heard).toEqual(['0:Xbc', '1:abc']);
    expect(sent.toString()).toBe('abc');
  });

  test('F21: a translator forgets an idle flow, silently and for good, and keeps a busy one', () => {
    const connection = lab({ natIdleMs: 100 });
    const heard = listen(connection.far);
    for (const atMs of [50, 140, 245]) connection.world.at(atMs, () => connection.near.write(text('x')));
    connection.world.run(1_000);
    expect(heard).toEqual(['50:x', '140:x']);
    expect(connection.forgottenMs).toBe(245);
  });
});

describe('lab sockets', () => {
  test('F11: a reader that stops fills both kernels, then the queue, and what waits is counted as Node counts', () => {
    const { near, far, world } = lab({
      there: { sendBufferBytes: 1_000, receiveBufferBytes: 500 },
      back: {},
    });
    const done: number[] = [];
    const write = (bytes: number): boolean => near.write(Buffer.alloc(bytes), () => done.push(world.nowMs));
    expect(write(400)).toBe(true);
    expect(near.writableLength).toBe(0);
    world.run(10);
    expect(done).toEqual([0]);
    near.process.post(() => write(2_000));
    world.run(10);
    // 100 bytes more fit into the reader's kernel, 1 000 into ours; the write as a whole still counts as queued.
    expect([near.writableLength, near._handle.bytesWritten, near._handle.writeQueueSize]).toEqual([
      2_000, 2_400, 900,
    ]);
    expect(near.queuedSinceMs).toBe(10);
    let read = 0;
    far.on('data', (bytes: Uint8Array) => (read += bytes.length));
    far.process.post(() => far.resume());
    world.run(10);
    expect([read, near.writableLength, near._handle.writeQueueSize, near.queuedSinceMs]).toEqual([
      2_400,
      0,
      0,
      Infinity,
    ]);
    expect(done).toEqual([0, 20]);
    expect(near.progressMs).toBe(20);
  });

  test('writes behind a blocked one leave together, call back in order, and drain is told once', () => {
    const { near, far, world } = lab({ there: { sendBufferBytes: 10, receiveBufferBytes: 10 }, back: {} });
    const order: string[] = [];
    near.on('drain', () => order.push('drain'));
    near.process.post(() => {
      expect(near.write(Buffer.alloc(20_000), () => order.push('large'))).toBe(false);
      near.write(text(''), () => order.push('marker'));
      near.write(text('abc'), () => order.push('small'));
    });
    world.run(1);
    expect(order).toEqual([]);
    far.resume();
    world.run(1);
    expect(order).toEqual(['large', 'marker', 'small', 'drain']);
  });

  test('end: flushed, then FIN; both sides close, each once', () => {
    const { near, far, world } = lab({ there: { delayMs: 5 } });
    const [atNear, atFar] = [listen(near), listen(far)];
    near.write(text('bye'));
    near.end();
    world.run(50);
    expect(atFar).toEqual(['5:bye', '5:end', '5:close']);
    expect(atNear).toEqual(['10:end', '10:close']);
    expect([near.destroyed, far.destroyed, near.process.sockets.size]).toEqual([true, true, 0]);
  });

  test('destroy with unread bytes resets the other side, without them it ends it', () => {
    const unread = lab();
    const heard = listen(unread.near);
    unread.near.write(text('x'));
    unread.world.run(1);
    unread.far.process.post(() => unread.far.destroy());
    unread.world.run(1);
    expect(heard).toEqual(['1:ECONNRESET', '1:close']);

    const read = lab();
    const other = listen(read.near);
    read.far.process.post(() => read.far.destroy());
    read.world.run(1);
    expect(other).toEqual(['0:end', '0:close']);
  });

  test('writing to a socket that is gone brings a reset back', () => {
    // The end of the stream is under way for long, the reset for the bytes is not.
    const delaysMs = [50, 0];
    const { near, far, world } = lab({ there: { delayMs: 10 }, back: { delayMs: () => delaysMs.shift()! } });
    const heard = listen(near);
    far.process.post(() => far.destroy());
    near.process.post(() => near.write(text('x')));
    world.run(100);
    expect(heard).toEqual(['10:ECONNRESET', '10:close']);
  });

  test('write after end is an error, told to the callback', () => {
    const { near, world } = lab();
    const heard = listen(near);
    const codes: unknown[] = [];
    near.end();
    near.write(text('x'), (error: NodeJS.ErrnoException) => codes.push(error.code));
    world.run(1);
    expect(codes).toEqual(['ERR_STREAM_WRITE_AFTER_END']);
    expect(heard).toEqual(['0:ERR_STREAM_WRITE_AFTER_END', '0:close']);
  });

  test('an echo service sends everything back', () => {
    const { near, far, world } = lab({ there: { delayMs: 3 } });
    const heard = listen(near);
    echo(far);
    near.write(text('hello'));
    world.run(10);
    expect(heard).toEqual(['6:hello']);
  });
});

describe('lab processes', () => {
  test('F2: after a stall the timers run first, then what waited in the kernel is read', () => {
    const { near, far, a, world } = lab();
    const order: string[] = [];
    near.on('data', () => order.push(`read ${world.nowMs}`));
    near.resume();
    a.clock.setTimeout(() => order.push(`timer ${world.nowMs}`), 50);
    a.stall(300);
    world.at(10, () => far.write(text('x')));
    world.run(1_000);
    expect(order).toEqual(['timer 300', 'read 300']);
  });

  test('F17: a stopped process reads nothing while its kernel takes bytes, and goes on where it was', () => {
    const { near, far, b, world } = lab({ there: { receiveBufferBytes: 100, sendBufferBytes: 50 } });
    const heard: number[] = [];
    far.on('data', () => heard.push(world.nowMs));
    far.resume();
    b.freeze();
    near.process.post(() => near.write(Buffer.alloc(120)));
    world.run(500);
    expect([near.writableLength, heard.length]).toEqual([0, 0]);
    b.thaw();
    world.run(1);
    expect(heard.length).toBeGreaterThan(0);
    expect(b.standstills).toEqual([{ fromMs: 0, toMs: 500 }]);
  });

  test('F5: while suspended the monotonic clock stands, timers wait, and the network is away', () => {
    const { near, far, a, world } = lab();
    const fired: number[] = [];
    const heard = listen(near);
    const [startMs, bootMs] = [a.clock.now(), a.clock.boot()];
    a.clock.setTimeout(() => fired.push(world.nowMs), 100);
    a.suspend(5_000);
    world.at(10, () => far.write(text('x')));
    world.run(5_200);
    expect(fired).toEqual([5_100]);
    expect(heard).toEqual(['5000:x']);
    expect(a.clock.now() - startMs).toBe(100);
    expect(a.clock.boot() - bootMs).toBe(5_100);
    expect(a.worldTimeMs(a.clock.now())).toBe(5_100);
  });

  test('SIGCONT wakes no machine that sleeps', () => {
    const { a, world } = lab();
    const ran: number[] = [];
    a.freeze();
    world.at(50, () => a.suspend(1_000));
    world.at(100, () => a.post(() => ran.push(world.nowMs)));
    world.at(500, () => a.thaw());
    world.run(2_000);
    expect(ran).toEqual([1_050]);
    expect(a.standstills.map(({ toMs }) => toMs)).toEqual([1_050, 1_050]);
  });

  test('told to sleep while asleep, a machine sleeps until the later end, and no time counts twice', () => {
    const { a, world } = lab();
    const fired: number[] = [];
    a.clock.setTimeout(() => fired.push(world.nowMs), 100);
    a.suspend(5_000);
    world.at(2_000, () => a.suspend(4_000));
    world.at(3_000, () => a.suspend(1_000));
    world.run(7_000);
    expect(fired).toEqual([6_100]);
    expect(a.worldTimeMs(a.clock.now())).toBe(6_100);
  });

  test('a killed process is ended by its kernel; after a power failure nobody says a word', () => {
    for (const [end, said] of [
      ['kill', ['0:end', '0:close']],
      ['powerOff', []],
    ] as const) {
      const { near, b, world } = lab();
      const heard = listen(near);
      const ran: string[] = [];
      b.clock.setTimeout(() => ran.push('timer'), 10);
      b[end]();
      b.thaw();
      world.run(1_000);
      expect(heard).toEqual(said);
      expect([ran, b.wakeAtMs]).toEqual([[], Infinity]);
    }
  });

  test('a program that answers itself for ever is found out', () => {
    const { a, world } = lab();
    const again = (): void => a.post(again);
    again();
    expect(() => world.run(1)).toThrow('time stands still at 0 ms');
  });
});
