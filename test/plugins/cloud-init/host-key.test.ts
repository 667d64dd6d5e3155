import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { describe, expect, it } from 'vitest';
import { makeHostKey } from '../../../src/plugins/cloud-init/host-key.js';
import { isHostKey } from '../../../src/plugins/known-hosts.js';
import { publicLine } from '../../harness/ssh-server.js';
import { newFolder } from '../../harness/folder.js';

const secret = 'a secret of a test that is long enough';

describe('a host key derived from a secret', () => {
  it('is the same for the same secret and machine, and different otherwise', () => {
    const key = makeHostKey(secret, 'u/app-1/1');
    expect(makeHostKey(secret, 'u/app-1/1')).toEqual(key);
    const others = [
      makeHostKey(secret, 'u/app-1/2'),
      makeHostKey(secret, 'u/app-2/1'),
      makeHostKey(`${secret}!`, 'u/app-1/1'),
    ];
    expect(new Set([key, ...others].map((one) => one.public)).size).toBe(4);
  });

  it.each(['u/app-1/1', 'u/app-2/1', 'another'])(
    'is read by SSH software, and its halves match (%s)',
    (name) => {
      const key = makeHostKey(secret, name);
      expect(isHostKey(key.public)).toBe(true);
      expect(publicLine(key.private)).toBe(key.public);
      const parsed = ssh2.utils.parseKey(key.private);
      if (parsed instanceof Error) throw parsed;
      const signature = parsed.sign('text');
      const reader = ssh2.utils.parseKey(key.public);
      if (reader instanceof Error || signature instanceof Error) throw new Error('it cannot sign');
      expect(reader.verify('text', signature)).toBe(true);
    },
  );

  it('is read by OpenSSH if it is installed', ({ skip }) => {
    const folder = newFolder();
    try {
      const key = makeHostKey(secret, 'u/app-1/1');
      writeFileSync(join(folder, 'key'), key.private, { mode: 0o600 });
      let read: string;
      try {
        read = execFileSync('ssh-keygen', ['-y', '-f', join(folder, 'key')], { encoding: 'utf8' });
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
          return skip('ssh-keygen is not installed');
        throw error;
      }
      expect(read).toMatch(new RegExp(`^${key.public.replaceAll('+', '\\+')}( |\\n)`));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses a guessable secret without showing it', () => {
    expect(() => makeHostKey('hunter2', 'u/app-1/1')).toThrow(
      /hostKeySecret is too short.*openssl rand -hex 32/,
    );
    expect(() => makeHostKey('hunter2', 'u/app-1/1')).not.toThrow(/hunter2/);
  });
});
