// @ts-check
import { messageOf, say } from './environment.mjs';
import { prepare } from './prepare.mjs';
import { runBinary, runTests, runTestsWithSecondLook, sayFailed } from './run-tests.mjs';
import { scanSecrets } from './scan-secrets.mjs';

const counts = await run().catch((error) => {
  say(messageOf(error));
  return { passed: 0, failed: 1, skipped: 0 };
});
process.exitCode = counts.failed === 0 ? 0 : 1;
const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`;
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`);

/**
 * Lint, format, unused code, types, secrets, tests: all of them, so that one run shows all that is wrong.
 * @returns {Promise<import('./run-tests.mjs').Counts>}
 */
async function run() {
  await prepare();
  say('lint, format, unused code, types and a scan for secrets');
  const checks = await Promise.all([
    runBinary('oxlint', 'oxlint', ['--type-aware', '--deny-warnings']),
    runBinary('oxfmt', 'oxfmt', ['--check']),
    runBinary('knip', 'knip', ['--no-progress']),
    runBinary('typescript', 'tsc', ['--noEmit', '-p', 'tsconfig.json']),
    runBinary('typescript', 'tsc', ['--noEmit', '-p', 'tools/tsconfig.json']),
    runBinary('typescript', 'tsc', ['--noEmit', '-p', 'bench/tsconfig.json']),
    countSecrets(),
  ]);
  say('tests');
  const words = process.argv.slice(2);
  const tests = words.length === 0 ? await runTestsWithSecondLook([]) : await runTests(words);
  const names = [
    'lint',
    'format',
    'unused code',
    'types',
    'types of tools',
    'types of benches and of deploy',
    'scan for secrets',
  ];
  const failures = names.filter((_, index) => checks[index] !== 0);
  for (const name of failures) sayFailed(`${name} (the report is above)`);
  return { ...tests, failed: tests.failed + failures.length };
}

/** A secret in a file, or no scan at all, is a failed check. @returns {Promise<number>} */
async function countSecrets() {
  const faults = await scanSecrets().catch((error) => [
    `the scan for secrets did not end: ${messageOf(error)}`,
  ]);
  for (const fault of faults) say(fault);
  return faults.length;
}
