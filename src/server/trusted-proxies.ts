/**
 * The load balancers that are believed: single addresses and CIDR blocks. Many clients come through one of them, so
 * they do not count as one address, and with the PROXY protocol they tell whose connection it is.
 */
import { BlockList, isIP } from 'node:net';
import { rangeError, typeError } from '../base/errors.ts';

export class TrustedProxies {
  readonly #blocks = new BlockList();
  readonly #isEmpty: boolean;

  /** `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`. TypeError or RangeError for anything else. */
  constructor(addresses: readonly string[]) {
    if (!Array.isArray(addresses)) throw typeError('trustedProxies', 'a list of addresses', addresses);
    for (const entry of addresses) this.#add(entry);
    this.#isEmpty = addresses.length === 0;
  }

  /** IPv4 addresses are also found when written as IPv6 (`::ffff:192.0.2.7`). */
  includes(address: string): boolean {
    if (this.#isEmpty) return false; // the usual case, asked once per connection
    const version = isIP(address);
    return version !== 0 && this.#blocks.check(address, version === 6 ? 'ipv6' : 'ipv4');
  }

  #add(entry: unknown): void {
    if (typeof entry !== 'string') throw typeError('trustedProxies', 'a list of addresses', entry);
    const [address = '', bits, ...rest] = entry.split('/');
    const version = isIP(address);
    const maxBits = version === 6 ? 128 : 32;
    const prefix = bits === undefined ? maxBits : /^\d{1,3}$/.test(bits) ? Number(bits) : maxBits + 1;
    if (version === 0 || rest.length > 0 || prefix > maxBits) {
      throw rangeError('trustedProxies', 'addresses or blocks such as 10.0.0.0/8', entry);
    }
    this.#blocks.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
  }
}
