import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { PluginError, type ImageFileInput, type Outcome, type UploadedImage } from '../../contract.js';
import { withProgress } from '../../provider-base/read-with-progress.js';
import type { LocalApi } from './api.js';
import { imagePath, tagWords } from './verbs.js';

const listSchema = z.object({
  images: z.array(
    z.object({ image: z.string(), tags: z.record(z.string(), z.string()), createdAt: z.string() }),
  ),
});
const formats: readonly string[] = ['tar', 'tar.gz', 'tgz'];

/** Uploads an image to the machine service's library, as a tar archive of what differs from the host. */
export async function uploadImage(
  api: LocalApi,
  { providerImage, token, file, format, bytes = 0, tags = {}, progress }: ImageFileInput,
): Promise<Outcome> {
  if (!formats.includes(format))
    return { answer: 'not done', why: `the machine service accepts ${formats.join(', ')}, not ${format}` };
  const query = new URLSearchParams([
    ['token', token],
    ['gzip', String(format !== 'tar')],
    ...tagPairs(tags),
  ]);
  const verb = `sent${bytes === 0 ? '' : ` of ${inMb(bytes)}`}`;
  await api.transfer('PUT', `${imagePath(providerImage)}/file?${query.toString()}`, {
    body: Readable.from(withProgress(createReadStream(file), verb, progress)),
  });
  return { answer: 'done' };
}

export async function listImages(
  api: LocalApi,
  tags: Readonly<Record<string, string>>,
): Promise<readonly UploadedImage[]> {
  const query = new URLSearchParams(tagPairs(tags)).toString();
  const { images } = await api.read(listSchema, `/v1/uploads?${query}`);
  return images.map(({ image, ...more }) => ({ providerImage: image, ...more }));
}

export async function downloadImage(
  api: LocalApi,
  { providerImage, file, format, progress }: ImageFileInput,
  signal: AbortSignal,
): Promise<Outcome> {
  if (format !== 'tar') return { answer: 'not done', why: `the machine service provides tar, not ${format}` };
  const receive = async (content: Readable): Promise<void> => {
    try {
      await pipeline(
        content,
        (source: AsyncIterable<Buffer>) => withProgress(source, 'fetched', progress),
        createWriteStream(file, { mode: 0o600 }),
        { signal },
      );
    } catch (error) {
      throw new PluginError(
        'Retryable',
        `the download of image ${providerImage} from the machine service failed: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  };
  await api.transfer('GET', `${imagePath(providerImage)}/file`, { receive });
  return { answer: 'done' };
}

function tagPairs(tags: Readonly<Record<string, string>>): [string, string][] {
  return tagWords(tags).map((word) => ['tag', word]);
}

function inMb(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MB`;
}
