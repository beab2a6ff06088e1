/**
 * How much a test tries. `npm test` stays below two minutes on two cores; where everything must run
 * (WIREBEAT_REQUIRE_ALL=1, as in `.ci/run`) the same tests try more.
 */
const isThorough = process.env.WIREBEAT_REQUIRE_ALL === '1';

/** `full` where everything must run, `sample` otherwise. */
export function sized<T>(full: T, sample: T): T {
  return isThorough ? full : sample;
}
