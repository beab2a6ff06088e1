/**
 * Serial number arithmetic on u32 counters that wrap (RFC 1982; spec/HB1.md section 3). At one frame per millisecond
 * the counters wrap after 49.7 days, so the wrap is an ordinary path, not an exception.
 */

/**
 * How far `a` lies ahead of `b`, modulo 2^32: > 0 when a is newer, 0 when equal, < 0 when older. At a distance of
 * exactly 2^31 neither is ahead; the result is -2^31 from either side, that is: stale.
 */
export function serialDistance(a: number, b: number): number {
  return (a - b) | 0;
}
