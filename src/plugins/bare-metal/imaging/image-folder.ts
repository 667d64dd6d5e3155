import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseUntrusted } from '../../trusted-file.js';
import type { Knowledge, SizeReading } from '../../../model/machine/answer.js';

const endings = { raw: ['.raw', '.img'], gzip: ['.raw.gz', '.img.gz'], qcow2: ['.qcow2'] } as const;
type ImageFormat = keyof typeof endings;

export interface ImageFile {
  readonly file: string;
  readonly format: ImageFormat;
}

/** The files of an image: none, one, or several that contradict each other. */
async function findImages(folder: string, name: string): Promise<readonly ImageFile[]> {
  const present = new Set(await readdir(folder));
  return (Object.entries(endings) as [ImageFormat, readonly string[]][]).flatMap(([format, all]) =>
    all.flatMap((ending) =>
      present.has(`${name}${ending}`) ? [{ file: join(folder, `${name}${ending}`), format }] : [],
    ),
  );
}

/** The file of an image; else why there is none, where `is` says whether that is certain. */
export async function findImage(
  folder: string,
  name: string,
): Promise<{ readonly image: ImageFile } | (Knowledge & { readonly image?: undefined })> {
  try {
    const [image, ...others] = await findImages(folder, name);
    if (image === undefined) return { is: 'no' };
    if (others.length === 0) return { image };
    const names = [image, ...others].map(({ file }) => file).join(' and ');
    return { is: 'unknown', why: `${names} contradict each other; remove all but one` };
  } catch (error) {
    return { is: 'unknown', why: `the folder of images cannot be read: ${(error as Error).message}` };
  }
}

/**
 * The file of an image that is to be written, when all is there that a load needs.
 * @throws Error
 */
export async function openImage(
  { images, rescue }: { readonly images: string; readonly rescue: string },
  name: string,
): Promise<ImageFile> {
  for (const file of ['kernel', 'initramfs']) {
    refuseUntrusted('file', join(rescue, file));
    if (!existsSync(join(rescue, file)))
      throw new Error(`${rescue} has no ${file}; make the rescue system: heddle image rescue ${rescue}`);
  }
  const found = await findImage(images, name);
  if (found.image === undefined) throw new Error(found.why ?? `there is no image ${name} in ${images}`);
  refuseUntrusted('file', found.image.file);
  return found.image;
}

/** Megabytes of the file as it is stored. */
export async function sizeOfImage(folder: string, name: string): Promise<SizeReading> {
  const found = await findImage(folder, name);
  if (found.image === undefined) return { why: found.why ?? `there is no image ${name} in ${folder}` };
  const { size } = await stat(found.image.file);
  return { sizeMb: Math.max(1, Math.ceil(size / 2 ** 20)) };
}
