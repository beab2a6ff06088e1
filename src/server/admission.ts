/**
 * Who may stay: how many links there are in all and from each address. Loopback is one machine's own processes and
 * is not limited by address. Keeps one number per address with links, so its memory is bounded by the links.
 */

/** Why a connection was not admitted. */
export type Refusal = 'HB_ERR_TOO_MANY_LINKS' | 'HB_ERR_TOO_MANY_FROM_ADDRESS' | 'HB_ERR_PROXY_HEADER';

const LOOPBACK = /^(::1$|(::ffff:)?127\.)/;

export class Admission {
  readonly #maxLinks: number;
  readonly #maxPerAddress: number;
  readonly #byAddress = new Map<string, number>();
  #links = 0;

  constructor(maxLinks: number, maxPerAddress: number) {
    this.#maxLinks = maxLinks;
    this.#maxPerAddress = maxPerAddress;
  }

  get links(): number {
    return this.#links;
  }

  /** Count one more link from `address` ('' = no address: a unix socket, a trusted proxy), or say why not. */
  admit(address: string): Refusal | undefined {
    if (this.#links >= this.#maxLinks) return 'HB_ERR_TOO_MANY_LINKS';
    const here = this.#byAddress.get(address) ?? 0;
    if (here >= this.#maxPerAddress && address !== '' && !LOOPBACK.test(address)) {
      return 'HB_ERR_TOO_MANY_FROM_ADDRESS';
    }
    this.#links++;
    this.#byAddress.set(address, here + 1);
    return undefined;
  }

  /** That link is gone. */
  leave(address: string): void {
    this.#links--;
    const here = (this.#byAddress.get(address) ?? 1) - 1;
    if (here === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, here);
  }
}
