import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../../../src/model/json.js';
import type { CreateInput } from '../../../../src/plugins/contract.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { AwsProvider } from '../../../../src/plugins/providers/aws/aws.js';
import { parseSpec } from '../../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../../src/schema/problem.js';
import { startStack, type Stack } from '../../../harness/stack.js';
import { startEc2, type Ec2Front } from './support/front.js';
import { motoIsMissing } from './support/moto.js';

const missing = motoIsMissing();
const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

describe.skipIf(missing !== undefined)(
  `provider aws on moto${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let ec2: Ec2Front;
    let account: JsonObject;
    let count = 0;
    beforeAll(async () => {
      ec2 = await startEc2();
      account = {
        region: 'us-east-1',
        endpoint: ec2.endpoint,
        accessKeyId: ec2.accessKeyId,
        secretAccessKey: 'not-looked-at',
        sshPort: ec2.sshPort,
        hostKeySecret: 'host-key-secret-of-this-test-0123456789',
        zones: ['us-east-1a', 'us-east-1b'],
      };
    });
    afterEach(() =>
      Object.assign(ec2.faults, {
        full: [],
        throttle: 0,
        lag: false,
        refuse: undefined,
        forbidden: [],
        quotas: {},
        pageSize: undefined,
      }),
    );
    afterAll(() => ec2?.close());

    const provider = (fields: JsonObject = {}): AwsProvider =>
      new AwsProvider({
        task: {
          taskId: 't',
          taskName: 'CREATE',
          clusterId: 'c',
          clusterUid: 'u',
          nodeId: 'n-1',
          incarnation: 1,
          attempt: 1,
          config: {},
          nodes: {},
          cluster: {},
          provider: { name: 'aws', type: 'aws', fields: {} },
        },
        log: quiet,
        signal: new AbortController().signal,
        fields: fieldsOf<JsonObject>('aws', { ...account, ...fields }),
      });
    const input = (incarnation = 1): CreateInput => {
      count += 1;
      // The incarnation alone decides where a node of number 1 is requested.
      const key = `uid/n${count}-1/${incarnation}`;
      return {
        flavor: 't3.micro',
        image: 'ami-1e749f67',
        hostname: `n-${count}`,
        key,
        token: `${count}`.padStart(64, '0'),
        tags: { 'heddle-key': key, 'heddle-installation': 'aws-test' },
        fields: {},
      };
    };
    const create = async (
      asked: CreateInput,
      fields: JsonObject = {},
    ): Promise<CreateInput & { readonly providerid: string }> => {
      const { result } = await provider(fields).create(asked);
      return { ...asked, providerid: z.string().parse(result?.['providerid']) };
    };

    test('a machine that lists omit for a while is created once, and does not count as impossible', async () => {
      ec2.faults.lag = true;
      const machine = await create(input());
      await expect(provider().confirm(machine)).rejects.toMatchObject({ kind: 'NotReady' });
      expect(await provider().find(machine.key)).toEqual([]);
      expect((await create(machine)).providerid).toBe(machine.providerid);
      ec2.faults.lag = false;
      await provider().confirm(machine);
      expect(await provider().find(machine.key)).toHaveLength(1);
      await provider().delete(machine);
    });

    test('a plan is told which instance types and images the region lacks, as far as the account may ask', async () => {
      const good = { flavor: 't3.micro', image: 'ami-1e749f67' };
      expect(await provider().offers(good)).toEqual({ refused: {} });
      expect(
        await provider({ zones: ['us-east-1e'] }).offers({ flavor: 't3.*', image: 'ami-00000000' }),
      ).toEqual({
        refused: {
          flavor: 'EC2 does not have this instance type in us-east-1e',
          image: 'EC2 does not have this image in region us-east-1',
        },
      });
      expect(await provider().offers({ ...good, image: 'resolve:ssm:/aws/debian' })).toEqual({ refused: {} });
      ec2.faults.forbidden = ['DescribeInstanceTypeOfferings', 'DescribeImages'];
      expect(await provider().offers({ flavor: 'huge', image: 'ami-00000000' })).toEqual({ refused: {} });
    });

    test('reads the vCPU quotas of the wanted instance types, and what runs of them', async () => {
      ec2.faults.quotas = { 'L-1216C47A': 32, 'L-DB2E81BA': 0 };
      const flavors = ['t3.micro', 'm5.xlarge', 'g4dn.xlarge', 'z.nonsense'];
      const before = await provider().quota({ flavors });
      expect(before).toMatchObject({
        limits: { 'standard-vcpus': 32, 'g-vcpus': 0 },
        used: { 'g-vcpus': 0 },
        sizes: {
          't3.micro': { cores: 2, memory: 1_024, 'standard-vcpus': 2 },
          'm5.xlarge': { cores: 4, memory: 16_384, 'standard-vcpus': 4 },
          'g4dn.xlarge': { cores: 4, memory: 16_384, 'g-vcpus': 4 },
        },
      });
      const used = before.used['standard-vcpus'] ?? 0;
      const machines: (CreateInput & { readonly providerid: string })[] = [];
      // Spot instances have quotas of their own.
      for (const fields of [{ spot: false }, { spot: true }]) {
        const request = input();
        const { result } = await provider(fields).create(request);
        machines.push({ ...request, providerid: (result as { readonly providerid: string }).providerid });
      }
      expect(await provider().quota({ flavors })).toMatchObject({ used: { 'standard-vcpus': used + 2 } });
      // What it may not read is not a limit.
      ec2.faults.forbidden = ['GetServiceQuota'];
      expect(await provider().quota({ flavors: ['t3.micro'] })).toMatchObject({
        limits: {},
        sizes: { 't3.micro': { cores: 2 } },
      });
      ec2.faults.forbidden = ['DescribeInstanceTypes'];
      expect(await provider().quota({ flavors: ['t3.micro'] })).toEqual({ limits: {}, used: {} });
      ec2.faults.forbidden = [];
      for (const machine of machines)
        await provider()
          .delete(machine)
          .catch(() => undefined);
    });

    test('a key whose machine is gone gets no other, and changed fields are named as the reason', async () => {
      const machine = await create(input());
      await expect(create(machine, { spot: true })).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('were fields or secrets of the account changed') as string,
      });
      await provider().delete(machine);
      await expect(create(machine)).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('Replace the node') as string,
      });
      await expect(provider().confirm(machine)).rejects.toMatchObject({
        kind: 'MachineFailed',
        message: expect.stringContaining('was terminated') as string,
      });
    });

    test('distinguishes lack of capacity, quotas, rate limits and missing permissions', async () => {
      ec2.faults.full = ['us-east-1a'];
      await expect(create(input())).rejects.toMatchObject({
        kind: 'Capacity',
        message: expect.stringContaining('us-east-1a') as string,
      });
      await provider().delete(await create(input(2)));
      for (const [code, status, kind] of [
        ['VcpuLimitExceeded', 400, 'Quota'],
        ['UnauthorizedOperation', 403, 'Auth'],
      ] as const) {
        ec2.faults.refuse = { status, code };
        await expect(create(input(2))).rejects.toMatchObject({ kind });
      }
      ec2.faults.refuse = undefined;
      ec2.faults.throttle = 1;
      const asked = input(2);
      await expect(create(asked)).rejects.toMatchObject({ kind: 'Retryable' });
      await provider().delete(await create(asked));
    });

    test('a spot instance with its own root volume and key pair', async () => {
      await ec2.call('CreateKeyPair', { KeyName: 'ours' });
      const user = {
        spot: true,
        rootVolumeGb: 12,
        rootVolumeType: 'gp3',
        keyName: 'ours',
        userData: '#!/bin/sh\ntrue',
      };
      await expect(create(input(), { ...user, keyName: "nobody's" })).rejects.toMatchObject({
        kind: 'Invalid',
      });
      const machine = await create(input(), user);
      const described = await ec2.call('DescribeInstances', { 'InstanceId.1': machine.providerid });
      expect(described).toContain('<instanceLifecycle>spot</instanceLifecycle>');
      expect(described).toContain('<keyName>ours</keyName>');
      expect(
        await ec2.call('DescribeVolumes', {
          'Filter.1.Name': 'attachment.instance-id',
          'Filter.1.Value.1': machine.providerid,
        }),
      ).toContain('<size>12</size>');
      await provider().delete(machine);
    });

    test('lists more machines than one page holds', async () => {
      ec2.faults.pageSize = 5;
      const machines = await Promise.all(Array.from({ length: 12 }, () => create(input())));
      const listed = await provider().list({ 'heddle-installation': 'aws-test' });
      expect(listed.map(({ providerid }) => providerid).toSorted()).toEqual(
        machines.map(({ providerid }) => providerid).toSorted(),
      );
      await Promise.all(machines.map((machine) => provider().delete(machine)));
      expect(await provider().list({ 'heddle-installation': 'aws-test' })).toEqual([]);
    });

    describe('in a cluster', () => {
      let stack: Stack;
      beforeAll(async () => {
        const providers: Record<string, object> = {};
        stack = await startStack({ config: { providers } });
        const key = join(stack.folder, 'login-key');
        writeFileSync(
          key,
          generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
            type: 'sec1',
            format: 'pem',
          }),
          { mode: 0o600 },
        );
        providers['cloud'] = {
          type: 'aws',
          fields: { ...account, privateKey: { secret: `file:${key}` } },
          hardware: { small: 't3.micro' },
          images: { debian: 'ami-1e749f67' },
          hostKeys: 'provided',
        };
        await stack.startWorker();
      });
      afterAll(() => stack?.stop());

      test('nodes come from the zone with capacity, use the given host key, and leave nothing', async () => {
        const launchedBefore = ec2.launches.length;
        ec2.faults.full = ['us-east-1a'];
        const parsed = parseSpec({
          name: 'web',
          nodes: {
            app: { count: 1, provider: 'cloud', hardware: 'small', image: 'debian', services: ['web'] },
          },
          services: {
            web: {
              actions: { install: { type: 'shell', fields: { script: 'echo installed >"$HOME/web"' } } },
            },
          },
        });
        if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
        const { operation } = await stack.client.apply(parsed.spec);
        expect((await stack.client.waitFor('web', operation)).operation).toMatchObject({ state: 'done' });
        expect(
          ec2.launches.slice(launchedBefore).map((launch) => launch.get('Placement.AvailabilityZone')),
        ).toEqual(['us-east-1b']);
        const [node] = [...ec2.nodes.values()];
        expect(readFileSync(join(node?.home ?? '', 'web'), 'utf8')).toBe('installed\n');
        const removal = await stack.client.delete('web');
        expect((await stack.client.waitFor('web', removal.operation ?? '')).operation.state).toBe('done');
        expect(ec2.nodes.size).toBe(0);
      });
    });
  },
);
