/** Run by a test in a process of its own: two linked ends, one destroyed; then nothing may keep the process alive. */
import { type AddressInfo, connect, createServer } from 'node:net';
import { HeartbeatHub } from '../../src/net/hub.ts';

const hub = new HeartbeatHub();
const server = createServer((socket) => {
  hub.attach(socket, { intervalMs: 60_000 });
  server.close();
});
server.listen(0, '127.0.0.1', () => {
  const link = hub.attach(connect((server.address() as AddressInfo).port, '127.0.0.1'), {
    intervalMs: 60_000,
    firstPhase: 0,
  });
  void link.whenUp().then(() => link.destroy());
  void link.whenClosed().then(({ cause }) => console.log('closed', cause));
});
