/**
 * Vitest reporter that ends a run with the one line machines read: `N passed, N failed`, alone on its line.
 * With WIREBEAT_REQUIRE_ALL=1 a skipped test counts as a failure, because there everything must really run.
 */
import type { Reporter, TestModule } from 'vitest/node';

export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    const totals = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const skipped: string[] = [];
    for (const module of modules) {
      if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0)
        totals.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') totals.passed++;
        else if (state === 'failed') totals.failed++;
        else {
          totals.skipped++;
          skipped.push(test.fullName);
        }
      }
    }
    for (const name of skipped) console.log(`skipped: ${name}`);
    if (process.env.WIREBEAT_REQUIRE_ALL === '1' && totals.skipped > 0) {
      console.log('WIREBEAT_REQUIRE_ALL=1: skipped tests count as failed');
      totals.failed += totals.skipped;
      totals.skipped = 0;
      process.exitCode = 1;
    }
    const tail = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
    console.log(`${totals.passed} passed, ${totals.failed} failed${tail}`);
  }
}
