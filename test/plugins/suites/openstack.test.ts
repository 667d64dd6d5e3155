import { afterAll, describe, test } from 'vitest';
import { archiveOf } from '../../harness/suites/archive.js';
import { providerSuite } from '../../../src/testing/index.js';
import { flavor, image, secret, startCloud } from '../providers/openstack/support/cloud.js';

providerSuite(
  { describe, test, afterAll },
  {
    name: 'openstack',
    endpoint: 'authUrl',
    uploads: true,
    open: async () => {
      const cloud = await startCloud();
      // Glance stores any bytes as a raw image.
      const { file, remove } = await archiveOf('files', 'greeting');
      return {
        admin: {
          authUrl: cloud.authUrl,
          gateway: true,
          applicationCredentialId: 'credential-1',
          applicationCredentialSecret: secret,
          hostKeySecret: 'host-key-secret-of-the-suite-0123456789',
          networks: ['net-1'],
        },
        flavor,
        image,
        upload: { file, format: 'raw' },
        close: async () => {
          remove();
          await cloud.close();
        },
      };
    },
    without: {
      'same-moment':
        'Nova knows no client tokens: the engine calls CREATE once at a time, and looks before it calls again',
      login: 'its servers are answers that were recorded: there is nothing to log in to',
    },
  },
);
