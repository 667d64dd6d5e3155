import { afterAll, describe, test } from 'vitest';
import { providerSuite } from '../../../src/testing/index.js';
import { flavor, image, secret, startCloud } from '../providers/openstack/support/cloud.js';

providerSuite(
  { describe, test, afterAll },
  {
    name: 'openstack',
    endpoint: 'authUrl',
    open: async () => {
      const cloud = await startCloud();
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
        close: () => cloud.close(),
      };
    },
    without: {
      'same-moment':
        'Nova knows no client tokens: the engine calls CREATE once at a time, and looks before it calls again',
      login: 'its servers are answers that were recorded: there is nothing to log in to',
    },
  },
);
