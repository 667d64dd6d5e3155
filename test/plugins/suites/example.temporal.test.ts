import { afterAll, describe, test } from 'vitest';
import { providerSuite, startMachineService } from '../../../src/testing/index.js';

providerSuite(
  { describe, test, afterAll },
  {
    name: 'example',
    endpoint: 'endpoint',
    without: { offers: 'the example is about machines that are made of several things' },
    open: async () => {
      const service = await startMachineService();
      return {
        admin: { endpoint: service.endpoint, apiKey: service.apiKey },
        user: { volumeGb: 5 },
        flavor: 'tiny',
        image: 'host',
        close: () => service.close(),
      };
    },
  },
);
