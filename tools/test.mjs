// @ts-check
import { messageOf, say } from './environment.mjs';
import { prepare } from './prepare.mjs';
import { runBinary, runTests } from './run-tests.mjs';

const counts = await run().catch((error) => {
  say(messageOf(error));
  return { passed: 0, failed: 1, skipped: 0 };
});
process.exitCode = counts.failed === 0 ? 0 : 1;
const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`;
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`);

/** Lint, types, tests: all of them, so that one run shows all that is wrong. @returns {Promise<import('./run-tests.mjs').Counts>} */
async function run() {
  await prepare();
  say('lint');
  const lint = await runBinary('oxlint', 'oxlint', ['--type-aware', '--deny-warnings']);
  say('types');
  const types = await runBinary('typescript', 'tsc', ['--noEmit', '-p', 'tsconfig.json']);
  const toolTypes = await runBinary('typescript', 'tsc', ['--noEmit', '-p', 'tools/tsconfig.json']);
  say('tests');
  const tests = await runTests(process.argv.slice(2));
  const failedChecks = [lint, types, toolTypes].filter((code) => code !== 0).length;
  if (failedChecks > 0) say(`of lint and types, ${failedChecks} failed (counted below)`);
  return { ...tests, failed: tests.failed + failedChecks };
}
