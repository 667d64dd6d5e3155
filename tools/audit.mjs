// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, isMain, messageOf, root, runMain, say } from './environment.mjs';

/**
 * Asks for known vulnerabilities of the packages that the product needs at run time: the npm registry for
 * those of the lockfile, OSV (https://google.github.io/osv.dev/api/) for those in Python. Ends with a line of
 * counts. A source that does not answer is a check that was skipped, which the counts say: it is not a pass.
 * It fails 14 days after the last answer, which the cache folder records; a source that has never answered
 * cannot be reached from this computer.
 */

const limitMs = 120_000;
const patienceDays = 14;
const requirements = join(root, 'src', 'plugins', 'providers', 'libcloud', 'requirements.txt');

/**
 * What is vulnerable, or why there is no answer.
 * @typedef {{ found: readonly string[] } | { silent: string }} Answer
 * @typedef {{ result: 'passed' | 'failed' | 'skipped', lines: readonly string[] }} Audit
 */

/** @param {NodeJS.ProcessEnv} env @returns {Promise<Answer>} */
async function askNpm(env) {
  // The packages of the lockfile, whatever is installed.
  const words = ['audit', '--omit=dev', '--json', '--package-lock-only', '--fetch-retries=1'];
  const child = spawn('npm', words, {
    cwd: root,
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
  if (typeof report?.metadata?.vulnerabilities?.total !== 'number')
    return { silent: reasonOf(report, complaint) };
  const found = Object.values(report.vulnerabilities ?? {});
  return { found: found.map(({ name, severity, range }) => `${name} ${range}: ${severity}`) };
}

/** @param {NodeJS.ProcessEnv} env @returns {Promise<Answer>} */
async function askOsv(env) {
  const packages = [...readFileSync(requirements, 'utf8').matchAll(/^([\w.-]+)==(\S+)/gm)];
  const queries = packages.map(([, name, version]) => ({ package: { name, ecosystem: 'PyPI' }, version }));
  try {
    const answer = await fetch(new URL('/v1/querybatch', env.OSV_URL ?? 'https://api.osv.dev'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ queries }),
      signal: AbortSignal.timeout(limitMs),
    });
    if (!answer.ok) return { silent: `status ${answer.status}` };
    const { results } = /** @type {{ results?: { vulns?: { id: string }[] }[] }} */ (await answer.json());
    if (results?.length !== packages.length) return { silent: 'the answer is not one for each package' };
    return {
      found: results.flatMap(({ vulns = [] }, index) =>
        vulns.map(({ id }) => `${packages[index]?.[0]}: ${id}`),
      ),
    };
  } catch (error) {
    return { silent: messageOf(error) };
  }
}

/** @param {string} what @param {Answer} answer @param {string} record @returns {Audit} */
function judge(what, answer, record) {
  if ('silent' in answer) {
    const reason = `no answer for the packages ${what}: ${answer.silent}`;
    const days = daysSinceAnswer(record);
    if (days === undefined)
      return { result: 'skipped', lines: [`${reason}; there never was one on this computer`] };
    return {
      result: days < patienceDays ? 'skipped' : 'failed',
      lines: [`${reason}; the last was ${days} days ago`],
    };
  }
  mkdirSync(join(record, '..'), { recursive: true });
  writeFileSync(record, JSON.stringify({ answered: new Date().toISOString() }));
  return answer.found.length === 0
    ? { result: 'passed', lines: [`no known vulnerability in the packages ${what}`] }
    : {
        result: 'failed',
        lines: [`${answer.found.length} known vulnerabilities in the packages ${what}`, ...answer.found],
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
    const { env } = process;
    const [npm, osv] = await Promise.all([askNpm(env), askOsv(env)]);
    const audits = [
      judge('from npm', npm, join(cacheFolder(env), 'audit-npm.json')),
      judge('in Python', osv, join(cacheFolder(env), 'audit-python.json')),
    ];
    for (const { result, lines } of audits) for (const line of lines) say(`${result}: ${line}`);
    const count = (/** @type {Audit['result']} */ name) =>
      audits.filter(({ result }) => result === name).length;
    const skipped = count('skipped');
    process.stdout.write(
      `${count('passed')} passed, ${count('failed')} failed${skipped === 0 ? '' : `, ${skipped} skipped`}\n`,
    );
    process.exitCode = count('failed') === 0 ? 0 : 1;
  });
}
