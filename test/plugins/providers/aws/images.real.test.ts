import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ImageFileInput, PluginLog, Task } from '../../../../src/plugins/contract.js';
import type { JsonObject } from '../../../../src/model/json.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { AwsProvider } from '../../../../src/plugins/providers/aws/aws.js';
import { startEc2, type Ec2Front } from './support/front.js';
import { motoIsMissing } from './support/moto.js';
import { newFolder } from '../../../harness/folder.js';

const missing = motoIsMissing();
const ignore = (): void => undefined;
const log: PluginLog = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const blockBytes = 524_288;

describe.skipIf(missing !== undefined)(
  `uploads to EC2, by moto${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let ec2: Ec2Front;
    let folder: string;
    beforeAll(async () => {
      ec2 = await startEc2();
      folder = newFolder();
    });
    afterAll(() => ec2?.close());

    afterEach(() => {
      Object.assign(ec2.uploads.faults, { throttle: 0, completesLate: false });
      ec2.faults.forbidden = [];
    });

    function provider(signal = AbortSignal.timeout(60_000), more: JsonObject = {}): AwsProvider {
      const fields = {
        region: 'us-east-1',
        endpoint: ec2.endpoint,
        accessKeyId: ec2.accessKeyId,
        secretAccessKey: 'a secret',
        ...more,
      };
      const task: Task = {
        taskId: 't',
        taskName: 'UPLOAD_IMAGE',
        clusterId: 'image/web',
        clusterUid: 'u',
        nodeId: 'web-1',
        incarnation: 1,
        attempt: 1,
        config: {},
        nodes: {},
        cluster: {},
        provider: { name: 'cloud', type: 'aws', fields },
      };
      return new AwsProvider({ task, log, signal, fields: fieldsOf<JsonObject>('aws', fields) });
    }

    function upload(content: Buffer, more: Partial<ImageFileInput> = {}): ImageFileInput {
      const uid = randomUUID();
      const file = join(folder, uid);
      writeFileSync(file, content);
      return {
        image: { name: 'web', revision: '1' },
        providerImage: 'web@1',
        token: `${uid}/1/cloud`,
        file,
        format: 'raw',
        bytes: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
        tags: { 'heddle-installation': uid, 'heddle-key': `${uid}/web-1/1`, 'heddle-cluster': 'image/web' },
        progress: ignore,
        ...more,
      };
    }

    const expectNothingLeft = (): void => {
      expect([[...ec2.uploads.images.keys()], [...ec2.uploads.snapshots.keys()]]).toEqual([[], []]);
    };

    test('an image has the content of the file, without its blocks of zeros, for machines of its architecture', async () => {
      const content = Buffer.concat([
        randomBytes(blockBytes),
        Buffer.alloc(20 * blockBytes),
        randomBytes(1_000),
      ]);
      const image = upload(content);
      const arm = provider(undefined, { imageArchitecture: 'arm64' });
      const { answer, providerImage = '' } = await arm.uploadImage(image);
      expect(answer).toBe('done');
      const registered = ec2.uploads.images.get(providerImage);
      expect(Object.fromEntries(registered ?? [])).toMatchObject({
        Architecture: 'arm64',
        RootDeviceName: '/dev/xvda',
        EnaSupport: 'true',
      });
      const [snapshot] = ec2.uploads.snapshots.values();
      expect([...(snapshot?.blocks.keys() ?? [])]).toEqual([0, 21]);
      const stored = Buffer.alloc(22 * blockBytes);
      for (const [index, block] of snapshot?.blocks ?? []) block.copy(stored, index * blockBytes);
      expect(stored.subarray(0, content.length).equals(content)).toBe(true);
      expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('an interrupted upload is listed by its snapshot, and replaced by a whole image', async () => {
      const image = upload(randomBytes(6_000_000));
      const cut = new AbortController();
      await expect(
        provider(cut.signal).uploadImage({
          ...image,
          progress: () => cut.abort(new Error('the builder died')),
        }),
      ).rejects.toThrow('the builder died');
      expect(await provider().listImages({ ...image.tags })).toEqual([
        {
          providerImage: expect.stringMatching(/^snap-/),
          tags: expect.objectContaining(image.tags ?? {}),
          createdAt: expect.any(String),
        },
      ]);
      const { providerImage } = await provider().uploadImage(image);
      expect(ec2.uploads.snapshots.size).toBe(1);
      expect(await provider().uploadImage(image)).toEqual({ answer: 'done', providerImage });
      expect(await provider().listImages({ ...image.tags })).toMatchObject([{ providerImage }]);
      expect(await provider().listImages({ 'heddle-installation': randomUUID() })).toEqual([]);
      for (const _time of ['once', 'again'])
        expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('blocks that are refused for coming too fast are sent again', async () => {
      const content = randomBytes(3 * blockBytes);
      const image = upload(content);
      ec2.uploads.faults.throttle = 5;
      expect(await provider().uploadImage(image)).toMatchObject({ answer: 'done' });
      const [snapshot] = ec2.uploads.snapshots.values();
      expect(Buffer.concat([0, 1, 2].map((index) => snapshot?.blocks.get(index) ?? Buffer.alloc(0)))).toEqual(
        content,
      );
      expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('a snapshot that EBS still completes is waited for by the next attempt', async () => {
      const image = upload(randomBytes(1_000));
      const whilePending =
        (act: () => void) =>
        (text: string): void => {
          if (text.includes('is pending')) act();
        };
      const { faults, snapshots } = ec2.uploads;
      faults.completesLate = true;
      const cut = new AbortController();
      await expect(
        provider(cut.signal).uploadImage({
          ...image,
          progress: whilePending(() => cut.abort(new Error('the builder died'))),
        }),
      ).rejects.toThrow(/aborted|died/);
      const [snapshot] = snapshots.keys();
      const progress = whilePending(() => (faults.completesLate = false));
      expect(await provider().uploadImage({ ...image, progress })).toMatchObject({ answer: 'done' });
      expect([...snapshots.keys()]).toEqual([snapshot]);
      expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('an account that may not describe images and snapshots lists none, and neither uploads nor deletes', async () => {
      const image = upload(randomBytes(1_000));
      await provider().uploadImage(image);
      ec2.faults.forbidden = ['DescribeImages', 'DescribeSnapshots'];
      expect(await provider().listImages({ ...image.tags })).toEqual([]);
      await expect(provider().uploadImage(image)).rejects.toMatchObject({ kind: 'Auth' });
      await expect(provider().deleteImage(image)).rejects.toMatchObject({ kind: 'Auth' });
      ec2.faults.forbidden = [];
      expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('an upload of an account that was renamed is deleted by its tags, and none with others', async () => {
      const image = upload(randomBytes(1_000));
      await provider().uploadImage(image);
      const renamed = { ...image, token: image.token.replace('cloud', 'renamed') };
      const others = { ...renamed, tags: { ...image.tags, 'heddle-key': 'of another' } };
      expect(await provider().deleteImage(others)).toEqual({ answer: 'done' });
      expect(ec2.uploads.images.size).toBe(1);
      expect(await provider().deleteImage(renamed)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('a file that changes while it is sent becomes no image', async () => {
      const image = upload(randomBytes(1_000_000), { bytes: 2_000_000 });
      await expect(provider().uploadImage(image)).rejects.toMatchObject({
        kind: 'Retryable',
        message: expect.stringContaining('cannot be read completely'),
      });
      expect(ec2.uploads.images.size).toBe(0);
      expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('a snapshot that another image is made of is not deleted', async () => {
      const image = upload(randomBytes(1_000));
      await provider().uploadImage(image);
      const [SnapshotId = ''] = ec2.uploads.snapshots.keys();
      const answer = await fetch(ec2.endpoint, {
        method: 'POST',
        headers: { authorization: `AWS4-HMAC-SHA256 Credential=${ec2.accessKeyId}/x` },
        body: new URLSearchParams({
          Action: 'RegisterImage',
          Version: '2016-11-15',
          Name: 'a copy by hand',
          'BlockDeviceMapping.1.Ebs.SnapshotId': SnapshotId,
        }),
      });
      const [, ImageId = ''] = /<imageId>(ami-[0-9a-f]+)</.exec(await answer.text()) ?? [];
      expect(await provider().deleteImage(image)).toMatchObject({
        answer: 'not done',
        why: expect.stringContaining(SnapshotId),
      });
      await fetch(ec2.endpoint, {
        method: 'POST',
        headers: { authorization: `AWS4-HMAC-SHA256 Credential=${ec2.accessKeyId}/x` },
        body: new URLSearchParams({ Action: 'DeregisterImage', Version: '2016-11-15', ImageId }),
      });
      expect(await provider().deleteImage(image)).toEqual({ answer: 'done' });
      expectNothingLeft();
    });

    test('refuses other formats than raw, and wrong credentials', async () => {
      const image = upload(randomBytes(1_000));
      expect(await provider().uploadImage({ ...image, format: 'qcow2' })).toMatchObject({
        answer: 'not done',
        why: expect.stringContaining('raw'),
      });
      await expect(
        provider(undefined, { accessKeyId: 'AKIAOTHER' }).uploadImage(image),
      ).rejects.toMatchObject({ kind: 'Auth' });
      expectNothingLeft();
    });
  },
);
