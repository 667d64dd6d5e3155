import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newFolder } from '../harness/folder.js';

const root = join(import.meta.dirname, '..', '..');
let folder: string;
beforeEach(() => {
  folder = newFolder();
  spawnSync('git', ['init', '--quiet'], { cwd: folder });
});

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

function scan(of = folder): { readonly code: number | null; readonly said: string } {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'tools', 'scan-secrets.mjs'), of], {
    encoding: 'utf8',
  });
  return { code: status, said: stderr };
}

const letters = (count: number): string =>
  randomBytes(count * 2)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, count);
const base64 = (bytes: number): string => randomBytes(bytes).toString('base64');
const upper = (count: number): string => letters(count).toUpperCase();
const pem = generateKeyPairSync('ed25519', {
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;

// Put together here, so that this file holds none.
const planted: readonly (readonly [string, string])[] = [
  ['private key', pem],
  ['private key', JSON.stringify({ key: pem })],
  ['AWS access key', `id = AKIA${upper(16)}`],
  ['GitHub token', `ghp_${letters(36)}`],
  ['GitLab token', `glpat-${letters(20)}`],
  ['npm token', `//registry/:_authToken=npm_${letters(36)}`],
  ['Slack token', `xoxb-${letters(24)}`],
  ['Google API key', `AIza${letters(35)}`],
  ['Vault token', `hvs.${letters(30)}`],
  ['JSON web token', `eyJ${letters(20)}.eyJ${letters(30)}.${letters(30)}`],
  ['payload key', `{"id": "k1", "key": "${base64(32)}"}`],
  ['password in a URL', `postgres://admin:${letters(12)}@db.example.com/heddle`],
  ['random text under a telling name', `const apiToken = '${letters(30)}7a';`],
  ['random text under a telling name', `DB_PASSWORD=${randomBytes(20).toString('hex')}`],
];

describe('the scan for secrets', () => {
  it('finds no secret in this repository', () => {
    expect(scan(root)).toEqual({ code: 0, said: '' });
  });

  // Promise: secret-scan
  it.each(planted)('finds a planted %s and does not repeat it (%#)', (kind, text) => {
    write('src/some.file', `first line\n${text}\n`);
    const { code, said } = scan();
    expect(code).toBe(1);
    expect(said).toContain(`src/some.file:2: ${kind} (digest `);
    for (const word of text.split(/[^\w+/=-]/).filter((part) => part.length >= 16))
      expect(said).not.toContain(word);
  });

  it('checks files that Git has or would add, and skips ignored and binary ones', () => {
    const token = `ghp_${letters(36)}`;
    write('.gitignore', 'ignored\n');
    write('ignored', token);
    write('binary', Buffer.from(`\0${token}`));
    expect(scan()).toEqual({ code: 0, said: '' });
    write('fresh', token);
    expect(scan()).toMatchObject({ code: 1 });
  });

  it('accepts words, names and references', () => {
    write(
      'some.ts',
      [
        'const secretReference = "env:SOME_LONG_NAME_OF_A_VARIABLE";',
        'token: parseTokenFromHeaderOfRequest(request)',
        'password: ${POSTGRES_PASSWORD:?run make-env.sh}',
        '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----',
        'http://user:${password}@host',
        'tokenLimit = 100000000000000000000',
      ].join('\n'),
    );
    expect(scan()).toEqual({ code: 0, said: '' });
  });

  it('permits exceptions with a reason, and fails for entries without one or without use', () => {
    const token = `ghp_${letters(36)}`;
    const entry = {
      file: 'fixture',
      digest: createHash('sha256').update(token).digest('hex').slice(0, 16),
      reason: 'made up for a test',
    };
    write('fixture', token);
    write('tools/scan-secrets.json', JSON.stringify([entry]));
    expect(scan()).toEqual({ code: 0, said: '' });
    write('tools/scan-secrets.json', JSON.stringify([{ ...entry, reason: '' }]));
    expect(scan()).toMatchObject({ code: 1, said: expect.stringContaining('gives no reason') as string });
    write('tools/scan-secrets.json', JSON.stringify([entry]));
    write('fixture', 'nothing any more');
    expect(scan()).toMatchObject({
      code: 1,
      said: expect.stringContaining('nothing in fixture has the digest') as string,
    });
    write('fixture', `ghp_${letters(36)}`);
    expect(scan().said).toContain('fixture:1: GitHub token');
  });

  it('fails without a Git checkout', () => {
    rmSync(join(folder, '.git'), { recursive: true });
    expect(scan()).toMatchObject({
      code: 1,
      said: expect.stringContaining('not a git repository') as string,
    });
  });
});
