import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite, startMachineService } from '../../../src/testing/index.js';

// The provider in Python, as a program of its own.
providerSuite(
  { describe, test, afterAll },
  {
    name: 'machines',
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
