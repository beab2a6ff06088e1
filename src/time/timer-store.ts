/**
 * Storage of the wheel's timers: places in typed arrays, linked into circular lists by index.
 *
 * Contract: places 0..heads-1 are list heads, always linked; the others are free, running or in exactly one list.
 * A timer leaves any list without knowing which one; the list was emptied by it when both neighbours were the same,
 * and then that neighbour is the head. 20 bytes of typed arrays per place and one payload reference.
 * Cost: all O(1) but growing, which doubles. Memory never shrinks; places are reused, the latest freed first.
 * Caveat: `grow` replaces the arrays, so none may be held in a variable across anything that can take a place.
 */

/** In place of a previous neighbour: the place is free, or its timer's callback runs right now. */
const FREE = -1;
const RUNNING = -2;

/** Words of `#links` per place. */
const WORDS = 3;

/** A handle is generation * 2^24 + place, at most 2^53: an integer a double holds exactly. */
const HANDLE_PLACES = 2 ** 24;
const GENERATION_MASK = 0x1fffffff;

const FIRST_CAPACITY = 64;

/** Places for timers, their lists, and the handles that name them. */
export class TimerStore<T> {
  /** Deadline in ms by place. */
  deadlines: Float64Array;
  /**
   * Three words per place: next, previous, generation. Side by side because a timer is touched when nothing of it
   * is in the cache any more: at a million timers each array more costs as much as all the arithmetic.
   */
  #links: Int32Array;
  readonly #payloads: (T | undefined)[] = [];
  readonly #heads: number;
  readonly #maxPlaces: number;
  /** First of the freed places, linked by `next`; 0 when there is none. */
  #firstFree = 0;
  /** First place never used so far. */
  #firstFresh: number;

  /** `heads` empty lists, and room for at most `maxPlaces` timers. */
  constructor(heads: number, maxPlaces: number) {
    const length = heads + Math.min(FIRST_CAPACITY, maxPlaces);
    this.deadlines = new Float64Array(length);
    this.#links = new Int32Array(length * WORDS);
    this.#heads = heads;
    this.#maxPlaces = maxPlaces;
    this.#firstFresh = heads;
    for (let head = 0; head < heads; head++) this.detach(head);
  }

  /** Bytes of the arrays, free places included. */
  get arrayBytes(): number {
    return this.#links.byteLength + this.deadlines.byteLength;
  }

  /** A free place, now holding `payload` and in no list. The caller keeps within `maxPlaces`. */
  take(payload: T): number {
    let place = this.#firstFree;
    if (place !== 0) {
      this.#firstFree = this.#links[place * WORDS]!;
    } else {
      if (this.#firstFresh === this.deadlines.length) this.#grow();
      place = this.#firstFresh++;
    }
    this.#payloads[place - this.#heads] = payload;
    return place;
  }

  /** Give back a place that is in no list. Its handles are stale from here on. */
  release(place: number): void {
    const links = this.#links;
    const at = place * WORDS;
    links[at] = this.#firstFree;
    links[at + 1] = FREE;
    links[at + 2] = (links[at + 2]! + 1) & GENERATION_MASK;
    this.#payloads[place - this.#heads] = undefined;
    this.#firstFree = place;
  }

  payloadOf(place: number): T {
    return this.#payloads[place - this.#heads] as T;
  }

  handleOf(place: number): number {
    return this.#links[place * WORDS + 2]! * HANDLE_PLACES + place;
  }

  /** The place a handle names, or 0 when the handle is stale or was never given out. */
  placeOf(handle: number): number {
    // `&` takes an integer up to 2^53 modulo 2^32, so the low 24 bits survive whatever the generation.
    const place = handle & (HANDLE_PLACES - 1);
    if (place < this.#heads || place >= this.#firstFresh || this.#links[place * WORDS + 1] === FREE) return 0;
    return this.handleOf(place) === handle ? place : 0;
  }

  /** The timer after this one, or the list's head. */
  after(place: number): number {
    return this.#links[place * WORDS]!;
  }

  /** The list's last timer, or its head. */
  last(head: number): number {
    return this.#links[head * WORDS + 1]!;
  }

  /** Mark a timer that is in no list as the one whose callback runs, until it is appended or released. */
  run(place: number): void {
    this.#links[place * WORDS + 1] = RUNNING;
  }

  isRunning(place: number): boolean {
    return this.#links[place * WORDS + 1] === RUNNING;
  }

  isEmpty(head: number): boolean {
    return this.#links[head * WORDS] === head;
  }

  /** Put a timer at the end of a list. True when the list was empty. */
  append(head: number, place: number): boolean {
    const links = this.#links;
    const last = links[head * WORDS + 1]!;
    links[last * WORDS] = place;
    links[place * WORDS] = head;
    links[place * WORDS + 1] = last;
    links[head * WORDS + 1] = place;
    return last === head;
  }

  /** Take a timer out of its list. The list's head when that emptied it, else -1. */
  unlink(place: number): number {
    const links = this.#links;
    const after = links[place * WORDS]!;
    const before = links[place * WORDS + 1]!;
    links[before * WORDS] = after;
    links[after * WORDS + 1] = before;
    return after === before ? after : -1;
  }

  /** Make a list empty; its timers stay linked among themselves, from the returned first to the head. */
  detach(head: number): number {
    const first = this.#links[head * WORDS]!;
    this.#links[head * WORDS] = this.#links[head * WORDS + 1] = head;
    return first;
  }

  /** Move a whole list that is not empty into an empty one. */
  moveAll(from: number, to: number): void {
    const links = this.#links;
    const last = links[from * WORDS + 1]!;
    const first = this.detach(from);
    links[to * WORDS] = first;
    links[to * WORDS + 1] = last;
    links[first * WORDS + 1] = to;
    links[last * WORDS] = to;
  }

  /** Order a list by deadline; equal ones keep their order. Allocates: for lists that are seldom out of order. */
  sort(head: number): void {
    const { deadlines } = this;
    const places: number[] = [];
    for (let place = this.after(head); place !== head; place = this.after(place)) places.push(place);
    places.sort((a, b) => (deadlines[a]! < deadlines[b]! ? -1 : deadlines[a]! > deadlines[b]! ? 1 : 0));
    this.detach(head);
    for (const place of places) this.append(head, place);
  }

  #grow(): void {
    const { deadlines } = this;
    const links = this.#links;
    const length = this.#heads + Math.min((deadlines.length - this.#heads) * 2, this.#maxPlaces);
    this.deadlines = new Float64Array(length);
    this.deadlines.set(deadlines);
    this.#links = new Int32Array(length * WORDS);
    this.#links.set(links);
  }
}
