// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, isMain, root, runMain, say } from './environment.mjs';

/**
 * Asks the npm registry for known vulnerabilities of the packages that the product needs at run time, and
 * ends with a line of counts. A registry that does not answer the question is a check that was skipped, which
 * the counts say: it is not a pass. It fails 14 days after the last answer, which the cache folder records; a registry
 * that has never answered on this computer is a mirror without this question.
 */

const limitMs = 120_000;
const patienceDays = 14;

/** @typedef {{ result: 'passed' | 'failed' | 'skipped', lines: readonly string[] }} Audit */

/** @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options] @returns {Promise<Audit>} */
export async function audit({ cwd = root, env = process.env } = {}) {
  // The packages of the lockfile, whatever is installed.
  const words = ['audit', '--omit=dev', '--json', '--package-lock-only', '--fetch-retries=1'];
  const child = spawn('npm', words, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let [output, complaint] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk) => (complaint += chunk));
  await once(child, 'close');
  const report = parse(output);
  const counts = report?.metadata?.vulnerabilities;
  const answered = typeof counts?.total === 'number';
  const record = join(cacheFolder(env), 'audit.json');
  if (!answered) {
    const reason = `the registry gave no answer to npm audit: ${reasonOf(report, complaint)}`;
    const days = daysSinceAnswer(record);
    if (days === undefined) return { result: 'skipped', lines: [`${reason}; it never has on this computer`] };
    return {
      result: days < patienceDays ? 'skipped' : 'failed',
      lines: [`${reason}; the last was ${days} days ago`],
    };
  }
  writeAnswer(record);
  if (counts.total === 0)
    return { result: 'passed', lines: ['no known vulnerability in the packages of the product'] };
  const found = Object.values(report.vulnerabilities ?? {}).map(
    ({ name, severity, range }) => `${name} ${range}: ${severity}`,
  );
  return {
    result: 'failed',
    lines: [`${counts.total} packages with known vulnerabilities; npm audit --omit=dev tells more`, ...found],
  };
}

/** @param {string} file @returns {number | undefined} */
function daysSinceAnswer(file) {
  try {
    const answered = Date.parse(JSON.parse(readFileSync(file, 'utf8')).answered);
    return Number.isNaN(answered) ? undefined : Math.floor((Date.now() - answered) / 86_400_000);
  } catch {
    return undefined;
  }
}

/** @param {string} file */
function writeAnswer(file) {
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, JSON.stringify({ answered: new Date().toISOString() }));
}

/** @param {string} text @returns {any} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {any} report @param {string} complaint */
function reasonOf(report, complaint) {
  const words = [
    report?.message,
    report?.error?.summary,
    ...complaint.split('\n').filter((line) => /audit|error/i.test(line)),
  ];
  return (
    words.find((text) => typeof text === 'string' && text.trim() !== '')?.trim() ??
    `it did not end within ${limitMs / 1000} s`
  );
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const { result, lines } = await audit();
    for (const line of lines) say(`${result}: ${line}`);
    const count = (/** @type {Audit['result']} */ name) => Number(result === name);
    process.stdout.write(
      `${count('passed')} passed, ${count('failed')} failed${result === 'skipped' ? ', 1 skipped' : ''}\n`,
    );
    process.exitCode = count('failed');
  });
}
