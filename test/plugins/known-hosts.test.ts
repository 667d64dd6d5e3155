import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { hostKeysFor, isHostKey } from '../../src/plugins/known-hosts.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let one: string;
let two: string;
beforeAll(() => {
  folder = newFolder();
  [one, two] = ['one', 'two'].map((name) => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
    return readFileSync(join(folder, `${name}.pub`), 'utf8')
      .split(' ')
      .slice(0, 2)
      .join(' ');
  }) as [string, string];
});

describe('known_hosts', () => {
  test('returns the keys of a host at its port, whatever the case of its name', () => {
    const text = `# ours\na.example,10.0.0.1 ${one} comment\r\n[a.example]:2222 ${two}\n`;
    expect(hostKeysFor(text, 'A.example', 22)).toEqual([one]);
    expect(hostKeysFor(text, '10.0.0.1', 22)).toEqual([one]);
    expect(hostKeysFor(text, 'a.example', 2222)).toEqual([two]);
    expect(hostKeysFor(text, 'a.example.org', 22)).toEqual([]);
  });

  test('matches and excludes patterns as ssh does', () => {
    const text = `*.example,!b.example ${one}\n`;
    expect(
      ['a.example', 'b.example', 'example', 'aXexample'].map((host) => hostKeysFor(text, host, 22).length),
    ).toEqual([1, 0, 0, 0]);
  });

  test('matches entries that ssh-keygen hashed', () => {
    const file = join(folder, 'known_hosts');
    writeFileSync(file, `a.example ${one}\n[b.example]:2222 ${two}\n`);
    execFileSync('ssh-keygen', ['-H', '-f', file], { stdio: 'ignore' });
    const hashed = readFileSync(file, 'utf8');
    expect(hashed).not.toContain('example');
    expect(hostKeysFor(hashed, 'a.example', 22)).toEqual([one]);
    expect(hostKeysFor(hashed, 'b.example', 2222)).toEqual([two]);
    expect(hostKeysFor(hashed, 'b.example', 22)).toEqual([]);
  });

  test("returns no key that is revoked, malformed, or a certificate authority's", () => {
    expect(hostKeysFor(`a ${one}\n@revoked * ${one}\n`, 'a', 22)).toEqual([]);
    expect(hostKeysFor(`@cert-authority a ${one}\n`, 'a', 22)).toEqual([]);
    expect(
      hostKeysFor(`a ${one.replace('ssh-ed25519', 'ssh-rsa')}\na ssh-ed25519 AAAA\na ssh-ed25519\n`, 'a', 22),
    ).toEqual([]);
    expect([isHostKey(one), isHostKey('ssh-ed25519 AAAA'), isHostKey('')]).toEqual([true, false, false]);
  });
});
