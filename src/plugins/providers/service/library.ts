import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { hasErrorCode } from '../../../model/system-error.js';
import { PluginError } from '../../errors.js';

const recordSchema = z.object({
  /** Of the capture that made it. */
  token: z.string(),
  resource: z.string(),
  tags: z.record(z.string(), z.string()),
  createdAt: z.string(),
  sha256: z.string(),
  bytes: z.int().min(1),
});
export type ImageRecord = z.output<typeof recordSchema>;

export type Found =
  | { readonly is: 'yes'; readonly file: string; readonly record: ImageRecord }
  | { readonly is: 'no' }
  /** `isBroken`: it is there, and not as it was captured. */
  | { readonly is: 'unknown'; readonly why: string; readonly isBroken?: true };

const dataName = 'data';
const recordName = 'image.json';

/**
 * Images of an account, each a folder with the captured file and its record. A rename makes it visible at
 * once.
 */
export class Library {
  readonly #images: string;

  constructor(folder: string) {
    this.#images = join(folder, 'images');
  }

  /**
   * If the folder cannot be read, the content is unknown: it may be a share that is not mounted, so nothing
   * here makes it.
   */
  async find(name: string): Promise<Found> {
    const at = this.#at(name);
    try {
      if (!(await readdir(this.#images)).includes(name)) return { is: 'no' };
      const record = recordSchema.safeParse(JSON.parse(await readFile(join(at, recordName), 'utf8')));
      if (!record.success)
        return {
          is: 'unknown',
          why: `the record of image ${name} in ${this.#images} cannot be read`,
          isBroken: true,
        };
      const file = join(at, dataName);
      const { size } = await stat(file);
      return size === record.data.bytes
        ? { is: 'yes', file, record: record.data }
        : {
            is: 'unknown',
            why: `image ${name} has ${size} bytes, but its record says ${record.data.bytes}`,
            isBroken: true,
          };
    } catch (error) {
      return {
        is: 'unknown',
        why: `the images cannot be listed: ${error instanceof Error ? error.message : String(error)}`,
      };
    }
  }

  /** Undefined if it is as captured; otherwise the difference. */
  async check(
    { file, record }: Extract<Found, { readonly is: 'yes' }>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return (await digestOf(file, signal)) === record.sha256
      ? undefined
      : 'its file was changed after the capture: the checksum differs';
  }

  /** Adds a folder with the file. False if an image of that name exists. */
  async put(
    folder: string,
    name: string,
    about: Omit<ImageRecord, 'sha256' | 'bytes'>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const file = join(folder, dataName);
    await chmod(file, 0o400);
    const { size: bytes } = await stat(file);
    const record: ImageRecord = { ...about, bytes, sha256: await digestOf(file, signal) };
    await writeSynced(join(folder, recordName), JSON.stringify(record));
    try {
      await rename(folder, this.#at(name));
      return true;
    } catch (error) {
      if (hasErrorCode(error, 'ENOTEMPTY') || hasErrorCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  async list(): Promise<readonly { readonly name: string; readonly record: ImageRecord }[]> {
    const names = await this.#names();
    const found = await Promise.all(
      names
        .filter((name) => namePattern.test(name))
        .map(async (name) => ({ name, found: await this.find(name) })),
    );
    return found.flatMap(({ name, found: image }) =>
      image.is === 'yes' ? [{ name, record: image.record }] : [],
    );
  }

  /** Renamed first, so that an incomplete one is never found. */
  async delete(name: string): Promise<void> {
    const gone = join(this.#images, `.deleted-${name}`);
    await rm(gone, { recursive: true, force: true });
    try {
      await rename(this.#at(name), gone);
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT'))
        throw new PluginError('Retryable', `image ${name} could not be deleted`, { cause: error });
      await this.#names();
      return;
    }
    await rm(gone, { recursive: true, force: true });
  }

  /** @throws PluginError Retryable where the folder cannot be read. */
  async #names(): Promise<readonly string[]> {
    return readdir(this.#images).catch((error: unknown) => {
      throw new PluginError(
        'Retryable',
        `the images cannot be listed: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    });
  }

  #at(name: string): string {
    if (!namePattern.test(name))
      throw new PluginError(
        'Invalid',
        `${JSON.stringify(name)} is not a valid image name: use letters, digits, dots, underscores, hyphens and @`,
      );
    return join(this.#images, name);
  }
}

/** The file that a capture writes into the folder that becomes the image. */
export function dataIn(folder: string): string {
  return join(folder, dataName);
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,199}$/;

async function digestOf(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash, { signal });
  return hash.digest('hex');
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
