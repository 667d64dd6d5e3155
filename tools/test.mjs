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
 * All checks and tests, so that one run shows all that is wrong. With `--without-checks`, only the tests.
 * @returns {Promise<import('./run-tests.mjs').Counts>}
 */
async function run() {
  await prepare();
  const words = process.argv.slice(2).filter((word) => word !== '--without-checks');
  const failures = process.argv.includes('--without-checks') ? [] : await failedChecks();
  say('tests');
  const tests = words.length === 0 ? await runTestsWithSecondLook([]) : await runTests(words);
  for (const name of failures) sayFailed(`${name} (the report is above)`);
  return { ...tests, failed: tests.failed + failures.length };
}

/** @returns {Promise<readonly string[]>} names of the checks of sources that failed */
async function failedChecks() {
  say('lint, format, unused code, types and a scan for secrets');
  const checks = {
    lint: runBinary('oxlint', 'oxlint', ['--type-aware', '--deny-warnings']),
    format: runBinary('oxfmt', 'oxfmt', ['--check']),
    'unused code': runBinary('knip', 'knip', ['--no-progress']),
    types: runBinary('typescript', 'tsc', ['--noEmit', '-p', 'tsconfig.json']),
    'types of tools': runBinary('typescript', 'tsc', ['--noEmit', '-p', 'tools/tsconfig.json']),
    'types of benches and of deploy': runBinary('typescript', 'tsc', [
      '--noEmit',
      '-p',
      'bench/tsconfig.json',
    ]),
    'scan for secrets': countSecrets(),
  };
  const codes = await Promise.all(Object.values(checks));
  return Object.keys(checks).filter((_, index) => codes[index] !== 0);
}

/** A secret in a file, or no scan at all, is a failed check. @returns {Promise<number>} */
async function countSecrets() {
  const faults = await scanSecrets().catch((error) => [
    `the scan for secrets did not end: ${messageOf(error)}`,
  ]);
  for (const fault of faults) say(fault);
  return faults.length;
}
