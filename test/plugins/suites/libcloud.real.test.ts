import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite } from '../../../src/testing/index.js';
import { startEc2 } from '../providers/aws/support/front.js';
import { motoIsMissing } from '../providers/aws/support/moto.js';
import { startDigitalOcean } from '../providers/libcloud/support/digital-ocean.js';
import { libcloudIsMissing, venv } from '../providers/libcloud/support/environment.js';
import { flavorId, imageId, secret, startCloud } from '../providers/openstack/support/cloud.js';

const folder = mkdtempSync(join(tmpdir(), 'heddle-libcloud-'));
const keyFile = join(folder, 'key');
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
writeFileSync(keyFile, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true }));

const shared = {
  venv,
  hostKeySecret: 'host-key-secret-of-the-suite-0123456789',
  privateKey: { secret: `file:${keyFile}` },
};
const sameMoment =
  'most drivers know no client tokens: the engine calls CREATE once at a time, and looks before it calls again';
const suite = { name: 'libcloud', endpoint: 'endpoint' };
const missing = libcloudIsMissing();
const missingEc2 = missing ?? motoIsMissing();

if (missingEc2 !== undefined) test.skip(`driver ec2: ${missingEc2}`);
else {
  describe('driver ec2', () => {
    providerSuite(
      { describe, test, afterAll },
      {
        ...suite,
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
        without: { 'same-moment': sameMoment },
      },
    );
  });
}

if (missing !== undefined) test.skip(`drivers openstack and digitalocean: ${missing}`);
else {
  describe('driver openstack', () => {
    providerSuite(
      { describe, test, afterAll },
      {
        ...suite,
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
          'same-moment': sameMoment,
          login: 'its servers are answers that were recorded: there is nothing to log in to',
        },
      },
    );
  });

  describe('driver digitalocean', () => {
    providerSuite(
      { describe, test, afterAll },
      {
        ...suite,
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
        without: { 'same-moment': sameMoment },
      },
    );
  });
}
