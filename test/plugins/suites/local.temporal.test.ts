import { afterAll, describe, test } from 'vitest';
import { archiveOf } from '../../harness/suites/archive.js';
import { providerSuite, startMachineService } from '../../../src/testing/index.js';

providerSuite(
  { describe, test, afterAll },
  {
    name: 'local',
    endpoint: 'endpoint',
    uploads: true,
    machines: ['power', 'load', 'capture'],
    open: async () => {
      const service = await startMachineService();
      const { file, remove } = await archiveOf('files', 'greeting');
      return {
        upload: { file, format: 'tar' },
        admin: { endpoint: service.endpoint, apiKey: service.apiKey },
        flavor: 'tiny',
        image: 'host',
        pageSize: service.pageSize,
        stateOf: (id) => service.stateOf(id),
        stallNext: () => service.stallNext(),
        close: async () => {
          remove();
          await service.close();
        },
      };
    },
  },
);
