import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  PluginError,
  type ImageFileInput,
  type LibraryInput,
  type Outcome,
  type UploadedImage,
} from '../../contract.js';
import { hasTags, tagsOfUpload } from '../../provider-base/machines.js';
import { readWithProgress } from '../../provider-base/read-with-progress.js';
import type { DockerApi } from './api.js';

const formats: readonly string[] = ['tar', 'tar.gz', 'tgz'];

/** Whose upload an image is, for ever. */
const label = 'heddle-upload';

const repository = /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*$/;

/** A name is part of a path, in which `..` and other characters would have a meaning. */
const imageName = /^[A-Za-z0-9][\w.:@-]*(?:\/[A-Za-z0-9][\w.:@-]*)*$/;

const imageSchema = z.object({
  Id: z.string().min(1),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});
const listSchema = z.array(
  z.object({
    Id: z.string().min(1),
    RepoTags: z.array(z.string()).nullish(),
    Labels: z.record(z.string(), z.string()).nullish(),
    Created: z.number().optional(),
  }),
);

/** Takes the file system of a machine, as a tar archive, in as an image. */
export async function uploadImage(
  api: DockerApi,
  { image, token, file, format, tags = {}, progress }: ImageFileInput,
): Promise<Outcome & { readonly providerImage?: string }> {
  if (!formats.includes(format))
    return {
      answer: 'not done',
      why: `the daemon accepts a file system as ${formats.join(', ')}, not as ${format}`,
    };
  if (!repository.test(image.name))
    return {
      answer: 'not done',
      why: `${image.name} is not a valid image name for the daemon: use lower-case letters, digits and hyphens only`,
    };
  const repo = `localhost/heddle/${image.name}`;
  const name = `${repo}:${image.revision}`;
  const known = await find(api, name);
  if (known !== undefined)
    return isOurs(known, token)
      ? { answer: 'done', providerImage: name }
      : { answer: 'not done', why: `image ${name} already exists and belongs to another owner` };
  const id =
    (await listOf(api, token))[0] ??
    (await takeIn(
      api,
      { ...tags, [label]: token },
      Readable.from(readWithProgress(file, progress, 'the daemon unpacks it')),
    ));
  // Podman takes no tag with the file.
  await api.call({
    method: 'POST',
    path: `/images/${encodeURIComponent(id)}/tag?${new URLSearchParams({ repo, tag: image.revision }).toString()}`,
  });
  return { answer: 'done', providerImage: name };
}

/** @throws PluginError Invalid if the daemon does not have the image: CREATE fetches none. */
export async function requireImage(api: DockerApi, image: string): Promise<void> {
  if (!imageName.test(image))
    throw new PluginError(
      'Invalid',
      `${JSON.stringify(image)} is not a valid image name for the daemon: its parts between slashes consist of letters, digits and . _ - : @, and begin with a letter or a digit`,
    );
  if ((await find(api, image)) !== undefined) return;
  throw new PluginError(
    'Invalid',
    'the daemon does not have this image, and CREATE does not pull images; run docker pull on its host',
  );
}

/** The daemon has it only when all of it has come. */
async function takeIn(
  api: DockerApi,
  labels: Readonly<Record<string, string>>,
  file: Readable,
): Promise<string> {
  const words = new URLSearchParams({ fromSrc: '-' });
  for (const [name, value] of Object.entries(labels)) words.append('changes', `LABEL ${name}=${value}`);
  const { body } = await api.call({ method: 'POST', path: `/images/create?${words.toString()}`, file });
  const [id] = await listOf(api, labels[label] ?? '');
  // One that failed in the middle is answered with 200, and with why in the text.
  if (id === undefined)
    throw new PluginError(
      'Retryable',
      `the daemon received the file but created no image: ${body.toString('utf8').trim().slice(-500) || 'no reason given'}`,
    );
  return id;
}

/** All that was ever taken in for it: an attempt that was cut may have left one without a name. */
export async function deleteImage(api: DockerApi, input: LibraryInput): Promise<Outcome> {
  for (const { Id: id, Labels } of await withLabels(api, tagsOfUpload(input, label))) {
    if (Labels?.[label] === undefined) continue;
    const { status, message } = await api.call({
      method: 'DELETE',
      path: `/images/${encodeURIComponent(id)}?force=false`,
      also: [404, 409],
    });
    if (status === 409) return { answer: 'not done', why: `the daemon does not delete it: ${message}` };
  }
  return { answer: 'done' };
}

/** Images without a name, left by an interrupted attempt, are identified by id. */
export async function listImages(
  api: DockerApi,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  const found = await withLabels(api, tags);
  return found.map(({ Id, RepoTags, Labels, Created }) => ({
    providerImage: RepoTags?.find((name) => !name.startsWith('<none>')) ?? Id,
    tags: Labels ?? {},
    createdAt: Created === undefined ? undefined : new Date(Created * 1_000).toISOString(),
  }));
}

async function listOf(api: DockerApi, token: string): Promise<readonly string[]> {
  return (await withLabels(api, { [label]: token })).map(({ Id }) => Id);
}

/** Podman finds no image by several labels at once, so the first one is asked for. */
async function withLabels(
  api: DockerApi,
  labels: Readonly<Record<string, string>>,
): Promise<z.output<typeof listSchema>> {
  const wanted = Object.entries(labels);
  const filters = JSON.stringify({ label: wanted.slice(0, 1).map(([name, value]) => `${name}=${value}`) });
  const found = await api.read(listSchema, {
    method: 'GET',
    path: `/images/json?filters=${encodeURIComponent(filters)}`,
  });
  return found.filter(({ Labels }) => hasTags(Labels, labels));
}

type Image = z.output<typeof imageSchema>;

function find(api: DockerApi, name: string): Promise<Image | undefined> {
  const path = encodeURIComponent(name).replaceAll(/%(2F|3A|40)/g, decodeURIComponent);
  return api.find(imageSchema, `/images/${path}/json`);
}

function isOurs({ Config }: Image, token: string): boolean {
  return Config?.Labels?.[label] === token;
}
