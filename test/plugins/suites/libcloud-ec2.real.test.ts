import { startEc2 } from '../providers/aws/support/front.js';
import { motoIsMissing } from '../providers/aws/support/moto.js';
import { libcloudIsMissing } from '../providers/libcloud/support/environment.js';
import { sharedFields, suiteOfDriver } from '../providers/libcloud/support/suite.js';

const shared = sharedFields();

suiteOfDriver(
  'ec2',
  {
    name: 'libcloud',
    without: { 'list-pages': 'further pages are refused: ec2.py says so' },
    open: async () => {
      const ec2 = await startEc2();
      return {
        admin: {
          ...shared,
          driver: 'ec2',
          region: 'us-east-1',
          endpoint: ec2.endpoint,
          key: ec2.accessKeyId,
          secret: 'secret-access-key-of-the-suite',
          sshPort: ec2.sshPort,
        },
        user: { publicKeys: ['ssh-ed25519 AAAA suite'] },
        flavor: 't3.micro',
        image: 'ami-1e749f67',
        close: () => ec2.close(),
      };
    },
  },
  libcloudIsMissing() ?? motoIsMissing(),
);
