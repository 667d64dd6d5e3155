import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { newHostKey } from '../../src/local/host-key.js';
import { temporaryFolder } from '../harness/local/service.js';

it('creates host keys that ssh2 reads', () => {
  for (let count = 0; count < 500; count += 1) {
    const key = newHostKey();
    const parsed = ssh2.utils.parseKey(key.private);
    if (parsed instanceof Error) throw parsed;
    expect(`${parsed.type} ${parsed.getPublicSSH().toString('base64')}`).toBe(key.public);
    if (count === 0) expect(parsed.verify('text', parsed.sign('text'))).toBe(true);
  }
});

it('creates host keys that OpenSSH reads', (context) => {
  context.skip(!existsSync('/usr/bin/ssh-keygen'), 'ssh-keygen is not installed');
  const key = newHostKey();
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, key.private, { mode: 0o600 });
  expect(execFileSync('/usr/bin/ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' }).trim()).toBe(
    key.public,
  );
});
