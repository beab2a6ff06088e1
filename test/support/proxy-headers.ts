/** PROXY headers as a load balancer writes them, for the tests. */

const SIGNATURE = '0d0a0d0a000d0a515549540a';

/** Version 2: version and command, family and transport, and the body in hexadecimal (spaces allowed). */
export function proxyV2(command: number, family: number, bodyHex: string): Buffer {
  const body = Buffer.from(bodyHex.replaceAll(' ', ''), 'hex');
  const head = Buffer.alloc(4, 0);
  head[0] = command;
  head[1] = family;
  head.writeUInt16BE(body.length, 2);
  return Buffer.concat([Buffer.from(SIGNATURE, 'hex'), head, body]);
}

/** Version 1, for a client at this IPv4 address. */
export function proxyV1(client: string): Buffer {
  return Buffer.from(`PROXY TCP4 ${client} 10.9.9.9 40000 7400\r\n`, 'latin1');
}
