import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStack, type Stack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';
import { closed } from '../../../harness/workflows/spec.js';
import { startEc2, type Ec2Front } from './support/front.js';
import { motoIsMissing } from './support/moto.js';

const missing = motoIsMissing();

describe.skipIf(missing !== undefined)(
  `half-made machines on moto${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let ec2: Ec2Front;
    let stack: Stack;
    beforeAll(async () => {
      ec2 = await startEc2();
      const providers: Record<string, object> = {};
      stack = await startStack({
        config: { sweep: { every: '1h', minimumAge: '1ms', delete: true }, providers },
      });
      const key = join(stack.folder, 'login-key');
      writeFileSync(
        key,
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' }),
        { mode: 0o600 },
      );
      providers['cloud'] = {
        type: 'aws',
        fields: {
          region: 'us-east-1',
          endpoint: ec2.endpoint,
          accessKeyId: ec2.accessKeyId,
          secretAccessKey: 'not-looked-at',
          sshPort: ec2.sshPort,
          hostKeySecret: 'a secret of a test that is long enough',
          privateKey: { secret: `file:${key}` },
        },
        hardware: { small: 't3.micro' },
        images: { debian: 'ami-1e749f67' },
        hostKeys: 'provided',
      };
    });
    afterAll(async () => {
      await stack?.stop();
      await ec2?.close();
    });

    const apply = (name: string) =>
      stack.client.apply(
        closed({
          name,
          nodes: {
            app: { count: 1, provider: 'cloud', hardware: 'small', image: 'debian', services: ['app'] },
          },
          services: { app: { actions: { start: { type: 'shell', fields: { script: 'true' } } } } },
        }),
      );
    const idsOf = async (action: string, pattern: RegExp, filter = {}): Promise<readonly string[]> =>
      [...new Set((await ec2.call(action, filter)).match(pattern))].toSorted();
    const volumes = (filter = {}) => idsOf('DescribeVolumes', /\bvol-[0-9a-f]+/g, filter);
    const interfaces = (filter = {}) => idsOf('DescribeNetworkInterfaces', /\beni-[0-9a-f]{8,}/g, filter);

    const attachedTo = (instance: string) => ({
      'Filter.1.Name': 'attachment.instance-id',
      'Filter.1.Value.1': instance,
    });
    /** As an image does that sets DeleteOnTermination to false. */
    const keepVolume = async (instance: string): Promise<void> => {
      const described = await ec2.call('DescribeVolumes', attachedTo(instance));
      await ec2.call('ModifyInstanceAttribute', {
        InstanceId: instance,
        'BlockDeviceMapping.1.DeviceName': /<device>([^<]*)</.exec(described)?.[1] ?? '',
        'BlockDeviceMapping.1.Ebs.DeleteOnTermination': 'false',
      });
    };
    /** A network interface like that of the instance; moto detaches none. */
    const leaveInterface = async (instance: string): Promise<void> => {
      const described = await ec2.call('DescribeNetworkInterfaces', attachedTo(instance));
      const tags = [...described.matchAll(/<key>([^<]*)<\/key><value>([^<]*)</g)].flatMap(
        ([, key = '', value = ''], index) => [
          [`TagSpecification.1.Tag.${index + 1}.Key`, key],
          [`TagSpecification.1.Tag.${index + 1}.Value`, value],
        ],
      );
      await ec2.call('CreateNetworkInterface', {
        SubnetId: /<subnetId>([^<]*)</.exec(described)?.[1] ?? '',
        'TagSpecification.1.ResourceType': 'network-interface',
        ...(Object.fromEntries(tags) as Record<string, string>),
      });
    };

    test('the sweep deletes what a launch left whose worker was killed, and nothing of others', async () => {
      const worker = await stack.startWorker('first');
      const { operation } = await apply('kept');
      expect((await stack.client.waitFor('kept', operation)).operation.state).toBe('done');
      const [kept = ''] = ec2.nodes.keys();
      ec2.faults.holdLaunch = true;
      await apply('doomed');
      await until('the instance of doomed', () => ec2.nodes.size === 2);
      await worker.kill();
      await stack.client.temporal.workflow.getHandle('cluster/doomed').terminate('by hand');
      ec2.faults.holdLaunch = false;
      // The instance ends, and a volume and a network interface of its launch remain.
      const doomed = [...ec2.nodes.keys()].find((id) => id !== kept) ?? '';
      const [volume = ''] = await volumes(attachedTo(doomed));
      const before = await interfaces();
      await leaveInterface(doomed);
      const eni = (await interfaces()).filter((id) => !before.includes(id));
      await keepVolume(doomed);
      await ec2.call('TerminateInstances', { 'InstanceId.1': doomed });
      // Volumes of somebody else, without tags and of another installation.
      const plant = async (tags: Readonly<Record<string, string>>): Promise<string> => {
        const text = await ec2.call('CreateVolume', { Size: '1', AvailabilityZone: 'us-east-1a', ...tags });
        return /\bvol-[0-9a-f]+/.exec(text)?.[0] ?? '';
      };
      const foreign = {
        'TagSpecification.1.ResourceType': 'volume',
        'TagSpecification.1.Tag.1.Key': 'heddle-installation',
        'TagSpecification.1.Tag.1.Value': 'another',
        'TagSpecification.1.Tag.2.Key': 'heddle-key',
        'TagSpecification.1.Tag.2.Value': 'uid/app-1/1',
      };
      const planted = [await plant({}), await plant(foreign)];
      const keptVolumes = await volumes(attachedTo(kept));
      expect(await volumes()).toEqual([...keptVolumes, volume, ...planted].toSorted());
      expect(eni).toHaveLength(1);

      await stack.startWorker('second');
      const first = await stack.client.sweep();
      expect(first.refused).toEqual([]);
      expect(first.leaks).toMatchObject([
        { kind: 'orphan', cluster: 'doomed', account: 'cloud', providerid: volume, state: 'failed' },
      ]);
      // By name, since the sweep by itself waits twice as long as EC2's lists may lag.
      const { deleted } = await stack.client.deleteLeaks([volume]);
      expect(deleted).toEqual([{ account: 'cloud', providerid: volume, key: first.leaks[0]?.key }]);
      expect(await volumes()).toEqual([...keptVolumes, ...planted].toSorted());
      expect(await interfaces()).toEqual(before);
      expect((await stack.client.sweep()).leaks).toEqual([]);

      // An image may keep a volume beyond its instance; DELETE then deletes it.
      await keepVolume(kept);
      const removal = await stack.client.delete('kept');
      expect((await stack.client.waitFor('kept', removal.operation ?? '')).operation.state).toBe('done');
      expect(await volumes()).toEqual(planted.toSorted());
    });
  },
);
