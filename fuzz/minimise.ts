/**
 * Makes a failing input smaller while it keeps failing: pieces are left out, from halves down to single bytes, until
 * nothing more can go. Not the smallest of all, but small enough to read; bounded, so that a slow target ends too.
 */

const MAX_ATTEMPTS = 3000;

/** `fails` is asked about candidates; the input itself is taken to fail. */
export function minimise(input: Buffer, fails: (candidate: Buffer) => boolean): Buffer {
  let smallest = input;
  let attempts = 0;
  for (let size = Math.ceil(input.length / 2); size >= 1; ) {
    let hasShrunk = false;
    for (let at = 0; at < smallest.length && attempts < MAX_ATTEMPTS; attempts++) {
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (fails(candidate)) {
        smallest = candidate;
        hasShrunk = true;
      } else at += size;
    }
    // Single bytes again as long as it helps: one that goes may free another.
    if (size > 1) size = Math.floor(size / 2);
    else if (!hasShrunk || attempts >= MAX_ATTEMPTS) break;
  }
  return smallest;
}
