import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite } from '../../../src/testing/index.js';
import { startEc2 } from '../providers/aws/support/front.js';
import { motoIsMissing } from '../providers/aws/support/moto.js';
import { newFolder } from '../../harness/folder.js';

const missing = motoIsMissing();

if (missing !== undefined) test.skip(`provider aws: ${missing}`);
else {
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'aws',
      endpoint: 'endpoint',
      uploads: true,
      consistencyWindowMs: 0,
      without: { 'list-pages': "EC2's pages hold a thousand machines: too many for the emulator" },
      open: async () => {
        const ec2 = await startEc2();
        const folder = newFolder();
        const keyFile = join(folder, 'key');
        writeFileSync(
          keyFile,
          generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
            type: 'sec1',
            format: 'pem',
          }),
          { mode: 0o600 },
        );
        const diskFile = join(folder, 'disk');
        writeFileSync(diskFile, randomBytes(1_200_000));
        return {
          admin: {
            region: 'us-east-1',
            endpoint: ec2.endpoint,
            accessKeyId: ec2.accessKeyId,
            secretAccessKey: 'secret-access-key-of-the-suite',
            hostKeySecret: 'host-key-secret-of-the-suite-0123456789',
            privateKey: { secret: `file:${keyFile}` },
            sshPort: ec2.sshPort,
            zones: ['us-east-1a', 'us-east-1b'],
          },
          user: { publicKeys: ['ssh-ed25519 AAAA suite'] },
          flavor: 't3.micro',
          image: 'ami-1e749f67',
          upload: { file: diskFile, format: 'raw' },
          close: async () => {
            await ec2.close();
            rmSync(folder, { recursive: true });
          },
        };
      },
    },
  );
}
