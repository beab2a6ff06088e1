/**
 * A process in a namespace: started there, listened to, ended by its own process id. `ip netns exec` becomes the
 * program it starts, so the id is the program's. Programs of the lab say one JSON object per line; what others
 * print is kept as lines.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Happening, machineNowMs } from './program.ts';

export type Sought = (happening: Happening) => boolean;

export class Child {
  readonly name: string;
  /** What it said so far, oldest first. */
  readonly happenings: Happening[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  #waiting: (() => void)[] = [];
  #isOver = false;

  constructor(name: string, namespace: string, program: readonly string[], env: NodeJS.ProcessEnv) {
    this.name = name;
    this.#process = spawn('ip', ['netns', 'exec', namespace, ...program], { env, stdio: 'pipe' });
    this.#ended = new Promise((resolve) => {
      this.#process.once('error', (error) =>
        this.#note({ event: 'error', detail: { message: error.message } }),
      );
      this.#process.once('close', (status, signal) => {
        this.#isOver = true;
        this.#note({ event: 'exit', detail: { status, signal } });
        resolve();
      });
    });
    this.#process.stdin!.on('error', () => {}); // gone already: `exit` tells
    createInterface({ input: this.#process.stdout! }).on('line', (line) => this.#read(line));
    createInterface({ input: this.#process.stderr! }).on('line', (line) => this.#print(line));
  }

  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error(`${this.name} was not started`);
    return pid;
  }

  tell(line: string): void {
    this.#process.stdin!.write(`${line}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isOver) this.#process.kill(signal);
  }

  /** The first happening from number `from` on that is sought; undefined when none came within `limitMs`. */
  async find(sought: Sought, limitMs: number, from = 0): Promise<Happening | undefined> {
    const untilMs = machineNowMs() + limitMs;
    for (let next = from; ; ) {
      for (; next < this.happenings.length; next++) {
        const happening = this.happenings[next]!;
        if (sought(happening)) return happening;
      }
      const leftMs = untilMs - machineNowMs();
      if (leftMs <= 0 || this.#isOver) return undefined;
      await this.#news(leftMs);
    }
  }

  /** As `find`, but what does not come is an error. */
  async need(event: string, limitMs: number): Promise<Happening> {
    const found = await this.find((happening) => happening.event === event, limitMs);
    if (found === undefined) throw new Error(`${this.name} did not say "${event}" within ${limitMs} ms`);
    return found;
  }

  /** Also ends what is stopped or has its loop blocked. */
  async end(): Promise<void> {
    this.signal('SIGKILL');
    await this.#ended;
  }

  #news(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #read(line: string): void {
    if (line.startsWith('{')) this.#keep(JSON.parse(line) as Happening);
    else this.#print(line);
  }

  #print(line: string): void {
    this.#note({ event: 'print', detail: { line } });
  }

  #note(what: Omit<Happening, 'atMs'>): void {
    this.#keep({ atMs: machineNowMs(), ...what });
  }

  #keep(happening: Happening): void {
    this.happenings.push(happening);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
