import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/support/reporter.ts'],
    // Much of the suite waits for real sockets and processes: more workers than cores keep the cores busy.
    maxWorkers: 4,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    restoreMocks: true,
  },
});
