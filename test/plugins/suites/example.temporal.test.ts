import { afterAll, describe, test } from 'vitest';
import { providerSuite, startMachineService } from '../../../src/testing/index.js';

providerSuite(
  { describe, test, afterAll },
  {
    name: 'example',
    endpoint: 'endpoint',
    open: async () => {
      const service = await startMachineService();
      return {
        admin: { endpoint: service.endpoint, apiKey: service.apiKey },
        user: { volumeGb: 5 },
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
