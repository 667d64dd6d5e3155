// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, isMain, root, runMain, say } from './environment.mjs';

/**
 * Asks the npm registry for known vulnerabilities of the packages that the product needs at run time, and
 * ends with a line of counts. A registry that does not answer the question is a check that was skipped, which
 * the counts say: it is not a pass. It fails once the registry has not answered for 14 days, by a record in the cache
 * folder.
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
  const days = daysWithoutAnswer(join(cacheFolder(env), 'audit.json'), answered);
  if (!answered) {
    const reason = `the registry gave no answer to npm audit: ${reasonOf(report, complaint)}`;
    return days < patienceDays
      ? { result: 'skipped', lines: [reason] }
      : { result: 'failed', lines: [`${reason}; it has given none for ${days} days`] };
  }
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

/** Counts from the last answer, or from the first question without one. @param {string} file @param {boolean} answered */
function daysWithoutAnswer(file, answered) {
  const now = Date.now();
  let since = now;
  try {
    if (!answered) since = Date.parse(JSON.parse(readFileSync(file, 'utf8')).since) || now;
  } catch {
    // The first question.
  }
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, JSON.stringify({ since: new Date(since).toISOString() }));
  return Math.floor((now - since) / 86_400_000);
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
