import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAutomatorBench } from '../../src/testing/automator-bench.js';
import { silentFields } from '../../src/testing/machine-answers.js';
import { openProviderBench } from '../../src/testing/provider-account.js';
import type { Surroundings } from '../../src/testing/surroundings.js';
import { newFolder } from '../harness/folder.js';
import { writeFiles } from '../harness/programs/bench.js';

const surroundings: Surroundings = {
  environment: { TOKEN: 'value-of-token' },
  programs: { environment: {}, limits: {} },
  writer: { writtenBy: 'administrator' },
};
const text = { title: 'Text', type: 'string' };
const hidden = { ...text, secret: true };
const reference = { secret: 'env:TOKEN' };
const common = { name: 'p', version: '1.0.0', description: 'P', command: ['./p.sh'] };

test('fields of an API that does not answer are checked and resolved', async () => {
  const folder = newFolder();
  writeFiles(folder, {
    'providers/p/p.json': { ...common, type: 'provider', fields: { admin: { key: hidden }, user: {} } },
    'providers/p/p.sh': '#!/bin/sh\n',
  });
  const open = (silent: object) =>
    openProviderBench(
      {
        name: 'p',
        folders: [folder],
        open: () =>
          Promise.resolve({ admin: { key: 'typed-secret' }, flavor: 'f', image: 'i', silent: { ...silent } }),
      },
      surroundings,
    );
  await expect(open({ kee: 'x' })).rejects.toThrow('admin.kee');
  const { bench, redact, close } = await open({ key: reference });
  expect(silentFields(bench)).toEqual({ fields: { key: 'value-of-token' } });
  expect(redact('value-of-token typed-secret')).toBe('(secret) (secret)');
  await close();
});

test('an automator gets checked and resolved fields, and no secret of the settings is shown', async () => {
  const folder = newFolder();
  const seen = join(folder, 'seen');
  writeFiles(folder, {
    'automators/p/p.json': {
      ...common,
      type: 'automator',
      fields: { admin: { key: hidden }, user: { script: text, token: hidden } },
      environment: { SEEN: seen },
    },
    'automators/p/p.sh': `#!/bin/sh\ncat > "$SEEN"\necho '{"status": 0}'\n`,
  });
  const { bench, redact, close } = await openAutomatorBench(
    {
      name: 'p',
      folders: [folder],
      script: (script) => ({ script, token: reference }),
      admin: { key: 'typed-secret' },
      open: () =>
        Promise.resolve({
          host: '127.0.0.1',
          port: 9,
          user: 'u',
          password: 'password-of-node',
          privateKey: 'key-of-the-node',
          hostKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBtAlTkJ1HbCvSyQYzH6wBnUCSkGzJDiPCkIDL2SjQVi',
        }),
    },
    surroundings,
  );
  expect(redact('typed-secret password-of-node key-of-the-node')).toBe('(secret) (secret) (secret)');
  await expect(bench.act('INSTALL', { scrip: 'true' })).rejects.toThrow('user.scrip');
  expect(existsSync(seen)).toBe(false);
  await bench.act('INSTALL', bench.options.script('true', ''));
  expect(JSON.parse(readFileSync(seen, 'utf8'))).toMatchObject({
    service: { action: { fields: { script: 'true', token: 'value-of-token' } } },
  });
  expect(redact('value-of-token')).toBe('(secret)');
  await close();
});
