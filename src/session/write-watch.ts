/**
 * Watches whether a blocked outbound queue still moves. Progress means: at the last look the queue was not empty,
 * and since then the kernel took more of it, so the peer's side freed room. Bytes that an empty socket buffer
 * swallows at once prove nothing. Made only for links whose queue was seen non-empty.
 */
export class WriteWatch {
  /** Last time progress was seen, or the time watching began, ms. */
  progressMs: number;
  /** Last look, ms. */
  lookedMs: number;
  /** A look, too, found the queue blocked: it was no mere moment between two turns of the loop. */
  isConfirmed = false;
  /** The stall was already reported. */
  stallReported = false;
  #takenBytes: number;

  constructor(nowMs: number, takenBytes: number) {
    this.progressMs = nowMs;
    this.lookedMs = nowMs;
    this.#takenBytes = takenBytes;
  }

  /** Look again: `takenBytes` is how much the kernel has taken in all, monotonic. True when the queue moved. */
  look(nowMs: number, takenBytes: number): boolean {
    this.lookedMs = nowMs;
    this.isConfirmed = true;
    if (takenBytes <= this.#takenBytes) return false;
    this.#takenBytes = takenBytes;
    this.progressMs = nowMs;
    this.stallReported = false;
    return true;
  }
}
