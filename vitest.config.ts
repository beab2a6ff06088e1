import { defineConfig } from 'vitest/config';

/** Files that change the process they run in: each has one of its own. */
const ALONE = ['test/net/native/*.test.ts', 'test/net/diagnosis/real-*.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', './test/support/reporter.ts'],
    // One per core: more would make the tests that wait for real sockets and processes wait for each other.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    restoreMocks: true,
    projects: [
      // To load the sources anew for each file costs as much time as all the tests take.
      {
        extends: true,
        test: { name: 'together', include: ['test/**/*.test.ts'], exclude: ALONE, isolate: false },
      },
      { extends: true, test: { name: 'alone', include: ALONE } },
    ],
  },
});
