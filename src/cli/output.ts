/**
 * What a command says on stdout, in two faces: lines for people, or with --json one object per event (NDJSON), the
 * last of them `{"type":"summary",...}`, or `{"type":"error",...}` where the work could not be done. Diagnostics go to
 * stderr elsewhere. Numbers that do not exist (no RTT yet) and "never" are null in JSON.
 *
 * A reader that goes away (`| head`) is no error: `onClosed` is told, and what is said afterwards is dropped.
 */
export interface OutputOptions {
  json?: boolean | undefined;
  /** Only the summary. */
  quiet?: boolean | undefined;
}

/** One event; `type` says which. Units last in the names of its fields. */
export type OutputEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export class Output {
  readonly json: boolean;
  readonly isTerminal: boolean;
  readonly #quiet: boolean;
  #isClosed = false;

  constructor(options: OutputOptions, onClosed: () => void) {
    this.json = options.json === true;
    this.isTerminal = process.stdout.isTTY === true && !this.json;
    this.#quiet = options.quiet === true;
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#isClosed = true;
      if (error.code !== 'EPIPE') throw error;
      onClosed();
    });
    process.stderr.on('error', () => {}); // nobody is left to be told
  }

  /** Nobody reads us any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** An event. `text` is its line for people; without one they are not told. */
  report(event: OutputEvent, text?: string): void {
    if (!this.#quiet) this.#say(event, text);
  }

  /** The last word; also when quiet. `text` may be several lines. */
  summary(fields: Readonly<Record<string, unknown>>, text?: string): void {
    this.#say({ type: 'summary', ...fields }, text);
  }

  /** The last word where the work could not be done. */
  failure(message: string, code: string | undefined): void {
    this.#say({ type: 'error', ...(code !== undefined && { code }), message }, undefined);
  }

  /** Text that is drawn, not logged: only people at a terminal see it. */
  draw(text: string): void {
    if (this.isTerminal && !this.#isClosed) process.stdout.write(text);
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): void {
    if (!this.#isClosed) process.stdout.write(bytes);
  }

  /** Resolves when everything said so far has been taken, or can never be. */
  async flushed(): Promise<void> {
    if (!this.#isClosed) await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  }

  #say(event: OutputEvent, text: string | undefined): void {
    if (this.#isClosed) return;
    if (this.json) process.stdout.write(`${JSON.stringify(event)}\n`);
    else if (text !== undefined) process.stdout.write(`${text}\n`);
  }
}
