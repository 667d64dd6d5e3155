import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLibcloud } from '../../src/cli/system/doctor-local.js';
import { loadConfig } from '../../src/config/index.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';

let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});
afterAll(() => registry.close());

test('doctor tells how to install Apache Libcloud for an account that lacks it', async () => {
  const config = loadConfig({ cwd: '/' });
  expect(await checkLibcloud(config, registry)).toEqual([]);
  const account = {
    ...config.providers['local'],
    type: 'libcloud',
    fields: { venv: '/no/such/environment' },
  };
  const providers = { ocean: account } as unknown as typeof config.providers;
  expect(await checkLibcloud({ ...config, providers }, registry)).toMatchObject([
    {
      check: 'libcloud (ocean)',
      state: 'fail',
      text: expect.stringContaining(
        '/no/such/environment/bin/pip install --only-binary :all: --require-hashes -r ',
      ),
      next: 'heddle plugins setup libcloud',
    },
  ]);
});
