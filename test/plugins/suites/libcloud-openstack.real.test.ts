import { flavorId, imageId, secret, startCloud } from '../providers/openstack/support/cloud.js';
import { sharedFields, suiteOfDriver } from '../providers/libcloud/support/suite.js';

const shared = sharedFields();

suiteOfDriver('openstack', {
  name: 'libcloud',
  open: async () => {
    const cloud = await startCloud();
    return {
      admin: {
        ...shared,
        driver: 'openstack',
        endpoint: cloud.authUrl,
        gateway: true,
        key: 'credential-1',
        secret,
        networks: ['net-1'],
        reachBy: 'private',
      },
      flavor: flavorId,
      image: imageId,
      close: () => cloud.close(),
    };
  },
  without: {
    'list-pages': 'Libcloud reads the pages, and the emulator has one',
    login: 'its servers are answers that were recorded: there is nothing to log in to',
  },
});
