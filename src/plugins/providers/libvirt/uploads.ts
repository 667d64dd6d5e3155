import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  PluginError,
  type ImageFileInput,
  type LibraryInput,
  type Outcome,
  type UploadedImage,
} from '../../contract.js';
import { readQcow2 } from '../../provider-base/qcow2.js';
import { readWithProgress, withProgress } from '../../provider-base/read-with-progress.js';
import { copyVolume, stateOfCopy } from './copy.js';
import { readImage } from './fields.js';
import { partOf } from './identity.js';
import type { LibvirtAccount } from './images.js';
import { claimImage, listTemplates, removeTemplate, type Template } from './template.js';

/**
 * Sends the file into a volume of its own, reads it back, and has libvirt copy that to the
 * image: an image is never there before it is whole. An interrupted attempt leaves a template,
 * whose metadata record the copy, and maybe the sent volume; the next attempt uses both.
 */
export async function uploadImage(
  account: LibvirtAccount,
  input: ImageFileInput,
): Promise<Outcome & { readonly providerImage?: string }> {
  const { virsh, volumes, fields } = account;
  const { providerImage, token, file, format, tags = {}, progress } = input;
  const target = readImage(providerImage);
  const disk = await readDisk(file, format);
  if ('why' in disk) return { answer: 'not done', why: disk.why };
  const claim = { volume: target, token, kind: 'upload', tags } as const;
  const template = await claimImage(virsh, fields, volumes, claim);
  if (template === undefined) return isAnothers(target);
  const part = partOf(template);
  const state = stateOfCopy(template, { token, target });
  const isThere = (await volumes.find(target)) !== undefined;
  if (state === undefined && isThere) {
    await removeTemplate(virsh, template);
    return isAnothers(target);
  }
  if (state === 'done' && !isThere) {
    // A person deleted the image.
    await removeTemplate(virsh, template);
    return uploadImage(account, input);
  }
  if (state !== 'done') await send(account, input, { name: part, capacity: disk.capacity });
  const from = { pool: fields.pool, name: part, capacity: disk.capacity };
  const outcome = await copyVolume(virsh, volumes, { domain: template, token, target, from, progress });
  await volumes.delete(part);
  return outcome;
}

/**
 * Deletes the image with these tags, whole or not; one that another upload or capture made is none of ours.
 */
export async function deleteImage(
  { virsh, volumes, fields: { pool } }: LibvirtAccount,
  { providerImage, tags = {} }: LibraryInput,
): Promise<Outcome> {
  const image = readImage(providerImage);
  const [template] = await listTemplates(virsh, pool, { volume: image, tags });
  if (template === undefined) return { answer: 'done' };
  if (hasVolume(template)) {
    const user = await volumes.userOf(image);
    if (user !== undefined) return { answer: 'not done', why: `${user} uses the image ${image}` };
    await volumes.delete(image);
  }
  await volumes.delete(partOf(template));
  await removeTemplate(virsh, template);
  return { answer: 'done' };
}

export async function listImages(
  { virsh, fields: { pool } }: LibvirtAccount,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  const templates = await listTemplates(virsh, pool, { tags });
  return templates.map(({ volume, createdAt, tags: own }) => ({
    providerImage: volume,
    tags: own,
    createdAt,
  }));
}

export async function downloadImage(
  { volumes }: LibvirtAccount,
  { providerImage, file, format, progress }: ImageFileInput,
): Promise<Outcome> {
  const image = readImage(providerImage);
  const volume = await volumes.base(image);
  if (volume.format !== format)
    return { answer: 'not done', why: `image ${image} is ${volume.format}, not ${format}` };
  if (volume.backing !== undefined)
    return { answer: 'not done', why: `image ${image} is incomplete: it is a layer on ${volume.backing}` };
  await volumes.read(image, (content) =>
    pipeline(withProgress(content, 'fetched', progress), createWriteStream(file, { mode: 0o600 })),
  );
  return { answer: 'done' };
}

/** Whether the template's volume is the one that was uploaded or captured, as far as it is there. */
function hasVolume(template: Template): boolean {
  return template.kind === 'capture' || stateOfCopy(template, { target: template.volume }) !== undefined;
}

/** Leaves the file in a volume. What an earlier attempt left is used only if it is the whole file. */
async function send(
  { volumes }: LibvirtAccount,
  { file, format, sha256, bytes, progress }: ImageFileInput,
  part: { readonly name: string; readonly capacity: number },
): Promise<void> {
  if (sha256 === undefined || bytes === undefined)
    throw new PluginError('Invalid', 'the upload specifies neither checksum nor size of its file');
  const isSent = async (): Promise<boolean> => {
    const hash = createHash('sha256');
    await volumes.read(
      part.name,
      (content) => pipeline(withProgress(content, 'verified', progress), hash),
      bytes,
    );
    return hash.digest('hex') === sha256;
  };
  if ((await volumes.find(part.name)) !== undefined) {
    if (await isSent()) return;
    await volumes.delete(part.name);
  }
  const content = Readable.from(readWithProgress(file, progress, 'libvirt stores it'));
  await volumes.make(part.name, { ...part, format, content });
  if (await isSent()) return;
  await volumes.delete(part.name);
  throw new PluginError('Retryable', `libvirt stored content that differs from ${file}`);
}

/**
 * The size of the disk in a file. Refuses what would have libvirt's host read other files, and
 * a raw disk that it would take for another format.
 */
async function readDisk(
  file: string,
  format: string,
): Promise<{ readonly capacity: number } | { readonly why: string }> {
  if (format !== 'qcow2' && format !== 'raw') return { why: `libvirt accepts qcow2 and raw, not ${format}` };
  const header = await readQcow2(file);
  if ((header !== undefined) !== (format === 'qcow2'))
    return { why: `${file} is ${header === undefined ? 'not qcow2' : 'qcow2'}` };
  if (header === undefined) return { capacity: (await stat(file)).size };
  if (header.backing !== undefined) return { why: `${file} is a layer on another file` };
  if (header.hasDataFile) return { why: `${file} has its data in another file` };
  return header;
}

function isAnothers(image: string): Outcome {
  return { answer: 'not done', why: `image ${image} already exists and belongs to another owner` };
}
