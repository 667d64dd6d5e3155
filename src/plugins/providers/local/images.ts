import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { z } from 'zod';
import { PluginError, type ImageFileInput, type Outcome, type UploadedImage } from '../../contract.js';
import { parseAnswer, type LocalApi } from './api.js';
import { imagePath, tagWords } from './verbs.js';

const listSchema = z.object({
  images: z.array(
    z.object({ image: z.string(), tags: z.record(z.string(), z.string()), createdAt: z.string() }),
  ),
});
const formats: readonly string[] = ['tar', 'tar.gz', 'tgz'];

/** Images in the machine service's library, as files: tar archives of what differs from the host. */
export class LocalImages {
  readonly #api: LocalApi;
  readonly #signal: AbortSignal;

  constructor(api: LocalApi, signal: AbortSignal) {
    this.#api = api;
    this.#signal = signal;
  }

  async upload({
    providerImage,
    token,
    file,
    format,
    bytes = 0,
    tags = {},
    progress,
  }: ImageFileInput): Promise<Outcome> {
    if (!formats.includes(format))
      return {
        answer: 'not done',
        why: `the machine service takes ${formats.join(', ')}, and not ${format}`,
      };
    const query = new URLSearchParams([
      ['token', token],
      ['gzip', String(format !== 'tar')],
      ...tagPairs(tags),
    ]);
    const source = Readable.from(
      told(createReadStream(file), `sent${bytes === 0 ? '' : ` of ${inMb(bytes)}`}`, progress),
    );
    await this.#api.transfer(
      { method: 'PUT', path: `${imagePath(providerImage)}/file?${query.toString()}` },
      Readable.toWeb(source) as ReadableStream,
    );
    return { answer: 'done' };
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly UploadedImage[]> {
    const call = {
      method: 'GET',
      path: `/v1/uploads?${new URLSearchParams(tagPairs(tags)).toString()}`,
    } as const;
    const answer = await this.#api.call(call);
    return parseAnswer(listSchema, answer.found ? answer.body : undefined, call).images.map(
      ({ image, ...more }) => ({ providerImage: image, ...more }),
    );
  }

  async download({ providerImage, file, format, progress }: ImageFileInput): Promise<Outcome> {
    if (format !== 'tar')
      return { answer: 'not done', why: `the machine service gives tar, and not ${format}` };
    const { body } = await this.#api.transfer({ method: 'GET', path: `${imagePath(providerImage)}/file` });
    if (body === null)
      throw new PluginError('Retryable', `the machine service sent nothing of image ${providerImage}`);
    try {
      await pipeline(
        Readable.fromWeb(body as NodeReadableStream),
        (source: AsyncIterable<Buffer>) => told(source, 'fetched', progress),
        createWriteStream(file, { mode: 0o600 }),
        { signal: this.#signal },
      );
    } catch (error) {
      if (this.#signal.aborted) throw error;
      throw new PluginError(
        'Retryable',
        `image ${providerImage} did not come whole from the machine service: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
    return { answer: 'done' };
  }

  /** Absent already is done. */
  async delete(providerImage: string): Promise<Outcome> {
    await this.#api.call({ method: 'DELETE', path: imagePath(providerImage) });
    return { answer: 'done' };
  }
}

function tagPairs(tags: Readonly<Record<string, string>>): [string, string][] {
  return tagWords(tags).map((word) => ['tag', word]);
}

/** Passes the stream on, and reports progress every few megabytes. */
async function* told(
  source: AsyncIterable<Buffer>,
  verb: string,
  progress: (text: string) => void,
): AsyncGenerator<Buffer> {
  const step = 8 * 2 ** 20;
  let passed = 0;
  for await (const chunk of source) {
    const before = Math.floor(passed / step);
    passed += chunk.length;
    if (Math.floor(passed / step) > before) progress(`${inMb(passed)} ${verb}`);
    yield chunk;
  }
}

function inMb(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MB`;
}
