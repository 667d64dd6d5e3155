import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  isPluginError,
  PluginError,
  type ImageFileInput,
  type LibraryInput,
  type Outcome,
  type UploadedImage,
} from '../../contract.js';
import { hasTags, tagsOfUpload } from '../../provider-base/machines.js';
import { readWithProgress } from '../../provider-base/read-with-progress.js';
import { novaTags } from './machines.js';
import type { Session } from './session.js';

const formats: readonly string[] = ['qcow2', 'raw', 'vmdk', 'vdi', 'vhd', 'vhdx', 'iso'];

/** Property with the token of the upload that an image is of. */
const tokenName = 'heddle-upload';

const imageSchema = z
  .looseObject({
    id: z.string().min(1),
    status: z.string(),
    size: z.number().nullish(),
    created_at: z.string().optional(),
  })
  .transform(({ id, status, size, created_at: createdAt, ...properties }) => ({
    id,
    status,
    size: size ?? undefined,
    createdAt,
    tags: Object.fromEntries(
      Object.entries(properties).filter(
        (entry): entry is [string, string] => entry[0].startsWith('heddle-') && typeof entry[1] === 'string',
      ),
    ),
  }));
type GlanceImage = z.output<typeof imageSchema>;
const pageSchema = z.object({ images: z.array(imageSchema), next: z.string().optional() });
const anyAnswer = z.unknown();

/**
 * Creates an image record with all tags, then fills it. An interrupted attempt leaves a record without data.
 */
export async function uploadImage(
  session: Session,
  { image, token, file, format, bytes, tags = {}, progress }: ImageFileInput,
): Promise<Outcome & { readonly providerImage?: string }> {
  if (!formats.includes(format))
    return { answer: 'not done', why: `Glance accepts ${formats.join(', ')}, not ${format}` };
  const found = await imagesOf(session, { [tokenName]: token });
  const complete = found.find(({ status }) => status === 'active');
  if (complete !== undefined) return { answer: 'done', providerImage: complete.id };
  // Glance may refuse data for a record that an interrupted attempt began to fill.
  for (const { id } of found) await session.remove('image', pathOf(id));
  const properties = { ...tags, [tokenName]: token };
  const { id } = await session.read(imageSchema, 'image', {
    method: 'POST',
    path: '/images',
    body: {
      ...properties,
      name: `${image.name}@${image.revision}`,
      disk_format: format,
      container_format: 'bare',
      visibility: 'private',
      tags: novaTags(properties),
    },
  });
  await session.read(anyAnswer, 'image', {
    method: 'PUT',
    path: `${pathOf(id)}/file`,
    headers: { 'content-type': 'application/octet-stream' },
    file: () => Readable.from(readWithProgress(file, progress, 'the cloud stores it')),
  });
  const made = await session.find(imageSchema, 'image', pathOf(id));
  if (made?.status === 'active' && (bytes === undefined || made.size === undefined || made.size === bytes))
    return { answer: 'done', providerImage: id };
  throw new PluginError(
    'Retryable',
    `image ${id} is ${made?.status ?? 'absent'} with ${made?.size ?? 0} of ${bytes ?? '?'} bytes after its upload`,
  );
}

/** Deletes every image with the upload's tags, also incomplete ones. */
export async function deleteImage(session: Session, input: LibraryInput): Promise<Outcome> {
  for (const { id, tags } of await imagesOf(session, tagsOfUpload(input, tokenName))) {
    if (tags[tokenName] === undefined) continue;
    try {
      await session.remove('image', pathOf(id));
    } catch (error) {
      // A volume or a share needs it, or it is protected.
      if (isPluginError(error) && error.kind === 'Invalid') return { answer: 'not done', why: error.message };
      throw error;
    }
  }
  return { answer: 'done' };
}

export async function listImages(
  session: Session,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  const found = await imagesOf(session, tags);
  return found.map(({ id, createdAt, tags: own }) => ({
    providerImage: id,
    tags: own,
    ...(createdAt === undefined ? {} : { createdAt }),
  }));
}

/** All pages, incomplete images included. Glance tags contain hashes of long values, so properties decide. */
async function imagesOf(
  session: Session,
  tags: Readonly<Record<string, string>>,
): Promise<readonly GlanceImage[]> {
  const query = new URLSearchParams(novaTags(tags).map((tag): [string, string] => ['tag', tag]));
  query.set('limit', '200');
  const found: GlanceImage[] = [];
  for (;;) {
    const { images, next } = await session.read(pageSchema, 'image', {
      method: 'GET',
      path: `/images?${query.toString()}`,
    });
    found.push(...images);
    const last = images.at(-1);
    if (next === undefined || last === undefined) break;
    query.set('marker', last.id);
  }
  return found.filter(
    ({ status, tags: own }) => !['deleted', 'pending_delete'].includes(status) && hasTags(own, tags),
  );
}

function pathOf(id: string): string {
  return `/images/${encodeURIComponent(id)}`;
}
