import { afterAll, describe, expect, test } from 'vitest';
import { caseFailure } from '../../harness/suites/case-failure.js';
import type { JsonObject } from '../../../src/model/json.js';
import { archiveOf } from '../../harness/suites/archive.js';
import {
  createProviderSuite,
  providerSuite,
  type ProviderSuiteOptions,
} from '../../../src/testing/provider-suite.js';
import { flavor, image, secret, startCloud } from '../providers/openstack/support/cloud.js';

const optionsWith = (more: JsonObject = {}): ProviderSuiteOptions => ({
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
        ...more,
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
    'list-pages': 'its servers are answers that were recorded, of one page',
    'same-moment':
      'Nova knows no client tokens: the engine calls CREATE once at a time, and looks before it calls again',
    login: 'its servers are answers that were recorded: there is nothing to log in to',
  },
});

providerSuite({ describe, test, afterAll }, optionsWith());

test('a server with a floating address is completed, whichever of its calls CREATE is killed at', async () => {
  const options = optionsWith({ floatingNetwork: 'public' });
  expect(await caseFailure(createProviderSuite(options), 'half-made')).toBeUndefined();
});
