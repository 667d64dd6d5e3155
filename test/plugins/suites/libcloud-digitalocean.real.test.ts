import { startDigitalOcean } from '../providers/libcloud/support/digital-ocean.js';
import { sharedFields, suiteOfDriver } from '../providers/libcloud/support/suite.js';

const shared = sharedFields();

suiteOfDriver('digitalocean', {
  name: 'libcloud',
  without: { 'list-pages': 'Libcloud reads the pages, and the emulator has one' },
  open: async () => {
    const cloud = await startDigitalOcean();
    return {
      admin: {
        ...shared,
        driver: 'digitalocean',
        region: cloud.region,
        endpoint: cloud.endpoint,
        key: cloud.token,
        sshPort: cloud.sshPort,
      },
      flavor: cloud.flavor,
      image: cloud.image,
      close: () => cloud.close(),
    };
  },
});
