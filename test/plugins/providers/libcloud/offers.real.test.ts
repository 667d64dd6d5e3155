import { afterEach, describe, expect, test } from 'vitest';
import { openProviderBench } from '../../../../src/testing/provider-account.js';
import type { ProviderBench } from '../../../../src/testing/provider-bench.js';
import type { SuiteAccount } from '../../../../src/testing/provider-options.js';
import { startEc2 } from '../aws/support/front.js';
import { motoIsMissing } from '../aws/support/moto.js';
import { flavorId, imageId, secret, startCloud } from '../openstack/support/cloud.js';
import { startDigitalOcean } from './support/digital-ocean.js';
import { libcloudIsMissing, venv } from './support/environment.js';

let close: () => Promise<void> = () => Promise.resolve();
afterEach(() => close());

async function open(account: SuiteAccount): Promise<ProviderBench> {
  const opened = await openProviderBench({ name: 'libcloud', open: () => Promise.resolve(account) });
  close = opened.close;
  return opened.bench;
}

const offersOf = async (bench: ProviderBench, wanted: { flavor: string; image: string }) =>
  bench.ask((provider) => provider.offers?.(wanted));

describe.skipIf(libcloudIsMissing() !== undefined)('provider libcloud', () => {
  test.skipIf(motoIsMissing() !== undefined)(
    'tells a plan which flavor and image EC2 refuses, and refuses nothing without the permission to ask',
    async () => {
      const ec2 = await startEc2();
      const good = { flavor: 't3.micro', image: 'ami-1e749f67' };
      const bench = await open({
        ...good,
        admin: {
          venv,
          driver: 'ec2',
          region: 'us-east-1',
          endpoint: ec2.endpoint,
          key: ec2.accessKeyId,
          secret: 'secret-access-key-of-the-suite',
        },
        close: () => ec2.close(),
      });
      expect(await offersOf(bench, good)).toEqual({ refused: {} });
      expect(await offersOf(bench, { flavor: 't3.huge', image: 'ami-00000000' })).toEqual({
        refused: {
          flavor: expect.stringMatching(/^EC2 refuses the flavor t3\.huge: .*InvalidInstanceType/),
          image: expect.stringMatching(/^EC2 refuses the image ami-00000000: .*InvalidAMIID/),
        },
      });
      ec2.faults.forbidden = ['DescribeInstanceTypes', 'DescribeImages'];
      expect(await offersOf(bench, { flavor: 't3.huge', image: 'ami-00000000' })).toEqual({ refused: {} });
    },
  );

  test('tells a plan which flavor and image an OpenStack project does not have', async () => {
    const cloud = await startCloud();
    const bench = await open({
      flavor: flavorId,
      image: imageId,
      admin: {
        venv,
        driver: 'openstack',
        endpoint: cloud.authUrl,
        gateway: true,
        key: 'credential-1',
        secret,
      },
      close: () => cloud.close(),
    });
    expect(await offersOf(bench, { flavor: flavorId, image: imageId })).toEqual({ refused: {} });
    expect(await offersOf(bench, { flavor: 'huge', image: '00000000-0000-4000-8000-000000000000' })).toEqual({
      refused: {
        flavor: 'the project has no flavor with the id huge',
        image: 'the project has no image with the id 00000000-0000-4000-8000-000000000000',
      },
    });
  });

  describe('with DigitalOcean', () => {
    const openDroplets = async (options = {}) => {
      const cloud = await startDigitalOcean(options);
      const { flavor, image } = cloud;
      const admin = {
        venv,
        driver: 'digitalocean',
        region: cloud.region,
        endpoint: cloud.endpoint,
        key: cloud.token,
        sshPort: cloud.sshPort,
      };
      const bench = await open({ flavor, image, admin, close: () => cloud.close() });
      return { flavor, image, cloud, bench };
    };

    test('tells a plan which size its region and which image DigitalOcean does not have', async () => {
      const { flavor, image, bench } = await openDroplets();
      expect(await offersOf(bench, { flavor, image })).toEqual({ refused: {} });
      expect(await offersOf(bench, { flavor: 'elsewhere', image: 'no-such-image' })).toEqual({
        refused: {
          flavor: `region fra1 has no size elsewhere; it has ${flavor}`,
          image: 'DigitalOcean has no image no-such-image',
        },
      });
    });

    test('answers unknown to a reset while another action is carried out', async () => {
      const { bench, cloud } = await openDroplets();
      await bench.withReady(async (subject) => {
        const shutdown = await fetch(`${cloud.endpoint}/v2/droplets/1/actions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${cloud.token}` },
          body: JSON.stringify({ type: 'shutdown' }),
        });
        expect(shutdown.status).toBe(201);
        expect(await bench.act(subject, (provider, machine) => provider.powerReset?.(machine))).toEqual({
          answer: 'unknown',
          why: 'machine 1 is being switched, and was not reset',
        });
      });
    });

    test('switches a droplet off by force if its system does not shut down', async () => {
      const { bench } = await openDroplets({ isDeaf: true });
      await bench.withReady(async (subject) => {
        expect(await bench.act(subject, (provider, machine) => provider.powerOff?.(machine))).toMatchObject({
          answer: 'unknown',
        });
        await bench.until('the droplet is off', async () => {
          const status = await bench.act(subject, (provider, machine) => provider.powerStatus?.(machine));
          return status?.power === 'off';
        });
        expect(await bench.act(subject, (provider, machine) => provider.powerOff?.(machine))).toEqual({
          answer: 'done',
        });
      });
    });
  });
});
