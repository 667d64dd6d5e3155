import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Image, Snapshot } from '@aws-sdk/client-ec2';
import {
  PluginError,
  type ImageFileInput,
  type LibraryInput,
  type Outcome,
  type UploadedImage,
} from '../../contract.js';
import { hasTags, tagsOfUpload } from '../../provider-base/machines.js';
import { ifPermitted, type Ec2 } from './api.js';
import { makeSnapshot } from './ebs.js';
import type { AwsFields } from './field-types.js';
import { tagsOf } from './machines.js';
import { tagFilters } from './parts.js';

/** Tag with the token of the upload that an image or a snapshot is of. */
const tokenTag = 'heddle-upload';
/** Tag of a snapshot that has all its blocks, and is completed by EBS. */
const writtenTag = 'heddle-written';
const pollMs = 3_000;

/**
 * Writes the disk into a snapshot and registers that as an image. Both are found by their tags: a complete
 * snapshot is used again, one that EBS still completes is waited for, and one that an interrupted attempt
 * began is deleted. The image's name is that of the upload, and EC2 has each name once.
 */
export async function uploadImage(
  ec2: Ec2,
  { imageArchitecture }: Pick<AwsFields, 'imageArchitecture'>,
  input: ImageFileInput,
): Promise<Outcome & { readonly providerImage?: string }> {
  const { image, token, file, format, bytes, tags = {}, progress } = input;
  if (format !== 'raw') return { answer: 'not done', why: `EBS accepts raw disks, not ${format}` };
  if (bytes === undefined)
    throw new PluginError('Invalid', 'the upload does not specify the size of its file');
  const own = { [tokenTag]: token };
  const title = `${image.name}@${image.revision}`;
  let [found] = (await ec2.images(tagFilters(own))).filter(({ State }) => State !== 'failed');
  if (found === undefined) {
    const labels = { Name: title, ...tags, ...own };
    let snapshot = await writtenSnapshot(ec2, own);
    if (snapshot === undefined) {
      snapshot = await makeSnapshot(ec2, {
        file,
        bytes,
        description: `image ${title}`,
        tags: labels,
        token: digestOf(`${token} ${new Date().toISOString()}`),
        progress,
      });
      await ec2.tag(snapshot, writtenTag);
    }
    await untilComplete(ec2, snapshot, progress);
    const name = `heddle/${title}/${digestOf(token).slice(0, 16)}`;
    const id = await ec2.registerImage({
      Name: name,
      Description: `image ${title}`,
      Architecture: imageArchitecture,
      VirtualizationType: 'hvm',
      EnaSupport: true,
      RootDeviceName: '/dev/xvda',
      BlockDeviceMappings: [
        {
          DeviceName: '/dev/xvda',
          Ebs: { SnapshotId: snapshot, VolumeType: 'gp3', DeleteOnTermination: true },
        },
      ],
      TagSpecifications: [
        { ResourceType: 'image', Tags: Object.entries(labels).map(([Key, Value]) => ({ Key, Value })) },
      ],
    });
    [found] = id === undefined ? await ec2.images([{ Name: 'name', Values: [name] }]) : [{ ImageId: id }];
  }
  const { ImageId: providerImage } = found ?? {};
  if (providerImage === undefined)
    throw new PluginError('Retryable', `EC2 does not show the image ${title} that it has`);
  await untilAvailable(ec2, providerImage, progress);
  return { answer: 'done', providerImage };
}

/**
 * Deletes every image and every snapshot with the upload's tags, also incomplete ones. Running
 * instances keep their volumes.
 */
export async function deleteImage(ec2: Ec2, input: LibraryInput): Promise<Outcome> {
  const own = tagsOfUpload(input, tokenTag);
  const isOwn = (found: Pick<Image, 'Tags'>): boolean =>
    tagsOf(found)[tokenTag] !== undefined && hasTags(tagsOf(found), own);
  for (const { ImageId = '' } of (await ec2.images(tagFilters(own))).filter(isOwn))
    await ec2.deregisterImage(ImageId);
  for (const { SnapshotId = '' } of (await ec2.snapshots(tagFilters(own))).filter(isOwn))
    if (!(await ec2.deleteSnapshot(SnapshotId)))
      return { answer: 'not done', why: `another image uses snapshot ${SnapshotId}` };
  return { answer: 'done' };
}

/**
 * Uploads with these tags. One without an image yet has the id of its snapshot. An account that may
 * not describe images or snapshots has uploaded none, and the sweep of its machines must not fail.
 */
export async function listImages(
  ec2: Ec2,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  const filters = tagFilters(tags);
  const images = ((await ifPermitted(() => ec2.images(filters))) ?? []).map(uploadedImage);
  const snapshots = ((await ifPermitted(() => ec2.snapshots(filters))) ?? []).map(uploadedSnapshot);
  const registered = new Set(images.map(({ tags: own }) => own[tokenTag]));
  return [...images, ...snapshots.filter(({ tags: own }) => !registered.has(own[tokenTag]))].filter(
    ({ tags: own }) => own[tokenTag] !== undefined && hasTags(own, tags),
  );
}

function uploadedImage({ ImageId = '', Tags, CreationDate }: Image): UploadedImage {
  return {
    providerImage: ImageId,
    tags: tagsOf({ Tags }),
    ...(CreationDate ? { createdAt: CreationDate } : {}),
  };
}

function uploadedSnapshot({ SnapshotId = '', Tags, StartTime }: Snapshot): UploadedImage {
  return {
    providerImage: SnapshotId,
    tags: tagsOf({ Tags }),
    ...(StartTime === undefined ? {} : { createdAt: StartTime.toISOString() }),
  };
}

/**
 * One with all its blocks: a pending one is so by its tag alone. Others are deleted: which
 * blocks they have is unknown.
 */
async function writtenSnapshot(ec2: Ec2, own: Readonly<Record<string, string>>): Promise<string | undefined> {
  const found = await ec2.snapshots(tagFilters(own));
  const written =
    found.find(({ State }) => State === 'completed') ??
    found.find(({ State, Tags }) => State === 'pending' && tagsOf({ Tags })[writtenTag] !== undefined);
  for (const { SnapshotId = '' } of found)
    if (SnapshotId !== written?.SnapshotId) await ec2.deleteSnapshot(SnapshotId);
  return written?.SnapshotId;
}

async function untilComplete(ec2: Ec2, id: string, progress: (text: string) => void): Promise<void> {
  for (;;) {
    const [found] = await ec2.snapshots([{ Name: 'snapshot-id', Values: [id] }]);
    if (found?.State === 'completed') return;
    if (found?.State === 'error') {
      await ec2.deleteSnapshot(id);
      throw new PluginError('Retryable', `snapshot ${id} failed: ${found.StateMessage ?? 'no reason given'}`);
    }
    progress(`snapshot ${id} is ${found?.State ?? 'not seen'}, ${found?.Progress ?? '0%'}`);
    await pause(pollMs, undefined, { signal: ec2.signal });
  }
}

async function untilAvailable(ec2: Ec2, id: string, progress: (text: string) => void): Promise<void> {
  for (;;) {
    const [found] = await ec2.images([{ Name: 'image-id', Values: [id] }]);
    if (found?.State === 'available') return;
    if (found?.State === 'failed') {
      await ec2.deregisterImage(id);
      throw new PluginError(
        'Retryable',
        `image ${id} failed: ${found.StateReason?.Message ?? 'no reason given'}`,
      );
    }
    progress(`image ${id} is ${found?.State ?? 'not seen'}`);
    await pause(pollMs, undefined, { signal: ec2.signal });
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
