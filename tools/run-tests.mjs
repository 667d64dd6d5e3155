// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './environment.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {readonly string[]} args for vitest @returns {Promise<Counts>} */
export async function runTests(args) {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-report-'));
  const report = join(folder, 'report.json');
  try {
    const code = await runBinary('vitest', 'vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args]);
    const results = await readFile(report, 'utf8').catch((cause) => {
      throw new Error('the test run ended before its end: it left no report', { cause });
    });
    const tests = countTests(JSON.parse(results));
    // An error outside any test fails the run and no test.
    return code !== 0 && tests.failed === 0 ? { ...tests, failed: 1 } : tests;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * A file that could not even be loaded has no test in the report; it counts as one that failed.
 * @param {{ testResults: readonly { status: string, assertionResults: readonly { status: string }[] }[] }} report
 * @returns {Counts}
 */
function countTests({ testResults }) {
  const results = testResults.flatMap((file) =>
    file.assertionResults.length === 0 && file.status === 'failed' ? [{ status: 'failed' }] : file.assertionResults,
  );
  const passed = results.filter(({ status }) => status === 'passed').length;
  const failed = results.filter(({ status }) => status === 'failed').length;
  return { passed, failed, skipped: results.length - passed - failed };
}

/** @param {string} name of the package @param {string} binary @param {readonly string[]} args */
export async function runBinary(name, binary, args) {
  const folder = join(root, 'node_modules', name);
  const { bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = typeof bin === 'string' ? bin : bin[binary];
  const child = spawn(process.execPath, [join(folder, file), ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  // A terminal's Ctrl-C reaches the child too; it stops what it started, and we wait for that.
  const wait = () => undefined;
  const pass = () => child.kill('SIGTERM');
  process.on('SIGINT', wait).on('SIGTERM', pass);
  const [code] = await once(child, 'close');
  process.off('SIGINT', wait).off('SIGTERM', pass);
  return code;
}
