/**
 * What the specification lets an end of a negotiating connection do, read off the wire and from nothing else: how far
 * apart its sends may be, and after how much silence it may judge. Where the answer to a group is still to come, the
 * more lenient of old and new holds: an end may have applied what the other's kernel only holds, or the reverse.
 */
interface Rates {
  readonly desiredMs: number;
  readonly requiredMs: number;
  readonly multiplier: number;
}

const [DESIRED, REQUIRED, MULTIPLIER, POLL, FINAL, REFUSE] = [1, 2, 3, 4, 5, 8];
const LEAST_REQUIRED_MS = 100;

const idOf = (word: number): number => word >>> 24;
const lowBits = (word: number): number => word & 0xffffff;
const tokenOf = (word: number): number => (word >>> 16) & 0xff;

/** One direction's groups: words are kept until their POLL. */
class Groups {
  readonly #words = new Map<number, number>();

  /** The group's rates when `word` is its POLL and all three words came before. */
  add(word: number): Rates | undefined {
    if (idOf(word) !== POLL) {
      this.#words.set(idOf(word), lowBits(word));
      return undefined;
    }
    const [desiredMs, requiredMs, multiplier] = [DESIRED, REQUIRED, MULTIPLIER].map((id) =>
      this.#words.get(id as number),
    );
    this.#words.clear();
    if (desiredMs === undefined || requiredMs === undefined || multiplier === undefined) return undefined;
    return { desiredMs, requiredMs, multiplier };
  }
}

export class AgreedRates {
  #mine: Rates;
  #asked: Rates | undefined;
  #askedToken = -1;
  #peer: Rates | undefined;
  /** The peer's group that we have not answered yet. */
  #heard: Rates | undefined;
  readonly #out = new Groups();
  readonly #in = new Groups();

  constructor(intervalMs: number, multiplier: number) {
    this.#mine = { desiredMs: intervalMs, requiredMs: LEAST_REQUIRED_MS, multiplier };
  }

  /** We sent this parameter word. */
  sent(word: number): void {
    const id = idOf(word);
    if (id === FINAL) {
      this.#peer = this.#heard ?? this.#peer;
      this.#heard = undefined;
    } else if (id === REFUSE) this.#heard = undefined;
    else {
      const rates = this.#out.add(word);
      if (rates === undefined) return;
      this.#asked = rates;
      this.#askedToken = tokenOf(word);
    }
  }

  /** This one came in. */
  got(word: number): void {
    const id = idOf(word);
    if (id === FINAL || id === REFUSE) {
      if (this.#asked === undefined || tokenOf(word) !== this.#askedToken) return;
      if (id === FINAL) this.#mine = this.#asked;
      this.#asked = undefined;
    } else this.#heard = this.#in.add(word) ?? this.#heard;
  }

  get #peers(): (Rates | undefined)[] {
    return this.#heard === undefined ? [this.#peer] : [this.#peer, this.#heard];
  }

  /** Longest gap between our sends: slower than before only when the peer knows. */
  get txIntervalMs(): number {
    const desiredMs = Math.min(this.#mine.desiredMs, this.#asked?.desiredMs ?? Number.POSITIVE_INFINITY);
    return Math.max(...this.#peers.map((peer) => Math.max(desiredMs, peer?.requiredMs ?? 0)));
  }

  /** Least silence that means death: shorter than before only when the peer knows. */
  get deadMs(): number {
    return Math.min(...this.#peers.map((peer) => this.#deadMs(peer)));
  }

  #deadMs(peer: Rates | undefined): number {
    const asked = this.#asked ?? this.#mine;
    const multiplier = peer?.multiplier ?? this.#mine.multiplier;
    if (peer !== undefined && peer.desiredMs > 0) {
      return multiplier * Math.max(peer.desiredMs, this.#mine.requiredMs, asked.requiredMs);
    }
    return multiplier * Math.max(this.#mine.desiredMs, asked.desiredMs, peer?.requiredMs ?? 0);
  }
}
