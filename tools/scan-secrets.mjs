// @ts-check
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMain, root, runMain, say } from './environment.mjs';
import { runProgram } from './run-program.mjs';

/**
 * Looks for secrets in all files that Git has or would take: `node tools/scan-secrets.mjs [FOLDER]`. What is
 * a secret in form only stands in scan-secrets.json, by file and digest, with a reason; an entry that no
 * longer matches anything is a fault, too.
 */

/** @typedef {{ file: string, line: number, kind: string, digest: string }} Finding */
/** @typedef {{ file: string, digest: string, reason: string }} Allowed */

/** The first group is the secret; without one the whole match. */
const patterns = /** @type {const} */ ({
  'private key': /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?:\\[nr]|['"+\s])*([A-Za-z0-9+/=]{40,})/g,
  'AWS access key': /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  'GitHub token': /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{60,})/g,
  'GitLab token': /\bglpat-[\w-]{20,}/g,
  'npm token': /\bnpm_[A-Za-z0-9]{36}\b/g,
  'Slack token': /\bxox[abeoprs]-[\w-]{10,}/g,
  'Google API key': /\bAIza[\w-]{35}\b/g,
  'Vault token': /\bhv[sb]\.[\w-]{24,}/g,
  'age key': /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g,
  'JSON web token': /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g,
  'payload key': /["']key["']\s*:\s*["']([A-Za-z0-9+/]{43}=)["']/g,
  'password in a URL': /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@'"`<>${}]+:([^\s/:@'"`<>${}]{6,})@/g,
  'random text under a telling name':
    /(?:password|passwd|secret|token|api_?key|private_?key|credential)\w*["']?\s*[:=]\s*["'`]?([\w+/=-]{20,})(?![\w+/=(.-])/gi,
});

/** Bits per character from which a text looks random: words and names stay below. */
const randomBits = 3.7;

/** @param {string} file @param {string} text @returns {readonly Finding[]} */
export function findSecrets(file, text) {
  return Object.entries(patterns).flatMap(([kind, pattern]) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const secret = match[1] ?? match[0];
      if (kind.startsWith('random') && !isRandom(secret)) return [];
      const line = text.slice(0, match.index).split('\n').length;
      return [{ file, line, kind, digest: createHash('sha256').update(secret).digest('hex').slice(0, 16) }];
    }),
  );
}

/** Letters and digits mixed, and hardly any repetition. @param {string} text */
function isRandom(text) {
  if (!/\d/.test(text) || !/[A-Za-z]/.test(text)) return false;
  const counts = new Map();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const bits = [...counts.values()].reduce(
    (sum, count) => sum - (count / text.length) * Math.log2(count / text.length),
    0,
  );
  return bits >= (/^[0-9a-f]+$/i.test(text) ? 3 : randomBits);
}

/**
 * Scans a Git checkout. Faults are findings that are not allowed, and entries of the allow list that match
 * nothing.
 * @param {string} [folder]
 * @returns {Promise<readonly string[]>}
 */
export async function scanSecrets(folder = root) {
  const list = await runProgram('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: folder,
    limitMs: 60_000,
  });
  /** @type {Finding[]} */
  const findings = [];
  for (const file of list.split('\0').filter((name) => name !== '')) {
    const bytes = await readFile(join(folder, file)).catch(() => Buffer.alloc(0));
    if (!bytes.subarray(0, 8_000).includes(0)) findings.push(...findSecrets(file, bytes.toString('utf8')));
  }
  const allowed = await readAllowed(folder);
  /** @param {Finding | Allowed} one @param {Finding | Allowed} other */
  const same = (one, other) => one.file === other.file && one.digest === other.digest;
  return [
    ...findings
      .filter((finding) => !allowed.some((entry) => same(entry, finding)))
      .map(
        ({ file, line, kind, digest }) =>
          `${file}:${line}: ${kind} (digest ${digest}). Remove it and replace the secret, or allow it with a reason in tools/scan-secrets.json`,
      ),
    ...allowed
      .filter((entry) => !findings.some((finding) => same(entry, finding)))
      .map(({ file, digest }) => `tools/scan-secrets.json: nothing in ${file} has the digest ${digest}`),
    ...allowed
      .filter(({ reason }) => typeof reason !== 'string' || reason.length < 10)
      .map(({ file }) => `tools/scan-secrets.json: the entry for ${file} gives no reason`),
  ];
}

/** @param {string} folder @returns {Promise<readonly Allowed[]>} */
async function readAllowed(folder) {
  const text = await readFile(join(folder, 'tools', 'scan-secrets.json'), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  return JSON.parse(text);
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const faults = await scanSecrets(process.argv[2]);
    for (const fault of faults) say(fault);
    process.exitCode = faults.length === 0 ? 0 : 1;
  });
}
