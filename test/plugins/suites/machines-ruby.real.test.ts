import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite, startMachineService } from '../../../src/testing/index.js';

// The provider in Ruby, as a program of its own.
if (spawnSync('ruby', ['--version']).status !== 0)
  test.skip('the suite: ruby is not installed: npm run setup:extras installs it');
else
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'machines-ruby',
      folders: [join(import.meta.dirname, '../../../examples/plugins')],
      endpoint: 'endpoint',
      open: async () => {
        const service = await startMachineService();
        return {
          admin: { endpoint: service.endpoint, apiKey: service.apiKey },
          flavor: 'tiny',
          image: 'host',
          pageSize: service.pageSize,
          stateOf: (id) => service.stateOf(id),
          stallNext: () => service.stallNext(),
          close: () => service.close(),
        };
      },
    },
  );
