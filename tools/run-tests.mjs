// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root, say } from './environment.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/**
 * @typedef {{ name: string, status: string, message?: string, startTime: number, endTime: number,
 *   assertionResults: readonly Result[] }} FileResult times in ms since the epoch
 */
/** @typedef {{ status: string, fullName: string, failureMessages?: readonly string[] }} Result */
/** @typedef {{ code: number, files: readonly FileResult[] }} Run */

/** @param {readonly string[]} args for vitest @returns {Promise<Counts>} */
export async function runTests(args) {
  return countRun(await run(args));
}

/** Files that pass only on their second run, beyond which the run fails. */
const maxUnsteadyFiles = 2;

/**
 * Runs the tests in parallel, and each file with a failure once more by itself: on a busy machine a file may
 * miss its time limits the first time. Files that pass only on their second run are reported; three of them
 * fail the run.
 * @param {readonly string[]} args for vitest, without names of files
 * @returns {Promise<Counts>}
 */
export async function runTestsWithSecondLook(args) {
  const first = await run(args);
  const names = first.files.filter(({ status }) => status === 'failed').map(({ name }) => name);
  if (names.length === 0) return countRun(first);
  say(`tests failed in ${names.length} of ${first.files.length} files: these run once more, one at a time`);
  const second = await run([
    ...args.filter((word) => !word.startsWith('--shard=')),
    '--no-file-parallelism',
    ...names.map((name) => relative(root, name)),
  ]);
  const merged = first.files.map((file) => second.files.find(({ name }) => name === file.name) ?? file);
  const counts = countRun({ code: second.code, files: merged });
  const steady = merged.flatMap(failuresOf);
  const unsteady = first.files.filter((file) => failuresOf(file).some((name) => !steady.includes(name)));
  if (unsteady.length === 0) return counts;
  const failures = unsteady.flatMap(failuresOf).filter((name) => !steady.includes(name));
  for (const failure of failures) sayFailed(`only on the first run (the failure is above): ${failure}`);
  say(`${unsteady.length} unsteady files; more than ${maxUnsteadyFiles} fail the run`);
  return unsteady.length > maxUnsteadyFiles ? { ...counts, failed: counts.failed + 1 } : counts;
}

/** @param {readonly string[]} args @returns {Promise<Run>} */
async function run(args) {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-report-'));
  const report = join(folder, 'report.json');
  try {
    const code = await runBinary('vitest', 'vitest', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ]);
    const results = await readFile(report, 'utf8').catch((cause) => {
      throw new Error('the test run ended before its end: it left no report', { cause });
    });
    const { testResults: files } = JSON.parse(results);
    saySlowest(files);
    return { code, files };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files that a run names as its slowest ones. */
const slowestFiles = 15;

/** @param {readonly FileResult[]} files */
function saySlowest(files) {
  const timed = files.map(({ name, startTime, endTime }) => ({
    name,
    seconds: (endTime - startTime) / 1_000,
  }));
  const slowest = timed.toSorted((a, b) => b.seconds - a.seconds).slice(0, slowestFiles);
  const total = timed.reduce((sum, { seconds }) => sum + seconds, 0);
  say(`the ${slowest.length} slowest of ${files.length} files, of ${Math.round(total)} s in all:`);
  for (const { name, seconds } of slowest)
    say(`${seconds.toFixed(1).padStart(7)} s  ${relative(root, name)}`);
}

/** Of a failure in the summary, in characters: enough for what a command printed. */
const longestMessage = 1_000;

/** @param {Run} run @returns {Counts} */
function countRun({ code, files }) {
  const results = files.flatMap(resultsOf);
  for (const file of files) {
    for (const { status, fullName, failureMessages = [] } of resultsOf(file)) {
      if (status !== 'failed') continue;
      const [message = ''] = (failureMessages[0] ?? '').split('\n');
      sayFailed(`${relative(root, file.name)}: ${fullName}: ${message.slice(0, longestMessage)}`);
    }
  }
  const passed = results.filter(({ status }) => status === 'passed').length;
  const failed = results.filter(({ status }) => status === 'failed').length;
  // An error outside any test fails the run and no test.
  return {
    passed,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: results.length - passed - failed,
  };
}

/** @param {FileResult} file @returns {readonly string[]} */
function failuresOf(file) {
  return resultsOf(file)
    .filter(({ status }) => status === 'failed')
    .map(({ fullName }) => `${relative(root, file.name)}: ${fullName}`);
}

/**
 * A file that could not even be loaded has no test in the report; it counts as one that failed.
 * @param {FileResult} file
 */
function resultsOf({ status, message = '', assertionResults }) {
  return assertionResults.length === 0 && status === 'failed'
    ? [{ status, fullName: 'the file as a whole', failureMessages: [message] }]
    : assertionResults;
}

/** .ci/run repeats these lines at its end. @param {string} what */
export function sayFailed(what) {
  say(`failed: ${what}`);
}

/** @param {string} name of the package @param {string} binary @param {readonly string[]} args */
export async function runBinary(name, binary, args) {
  const folder = join(root, 'node_modules', name);
  const { bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = typeof bin === 'string' ? bin : bin[binary];
  const child = spawn(process.execPath, [join(folder, file), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  // A terminal's Ctrl-C reaches the child too; it stops what it started, and we wait for that.
  const wait = () => undefined;
  const pass = () => child.kill('SIGTERM');
  process.on('SIGINT', wait).on('SIGTERM', pass);
  const [code] = await once(child, 'close');
  process.off('SIGINT', wait).off('SIGTERM', pass);
  return code;
}
