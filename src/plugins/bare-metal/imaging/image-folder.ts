import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseSpecial, refuseUntrusted } from '../../trusted-file.js';
import type { Knowledge, SizeReading } from '../../../model/machine/answer.js';

const endings = { raw: ['.raw', '.img'], gzip: ['.raw.gz', '.img.gz'], qcow2: ['.qcow2'] } as const;
type ImageFormat = keyof typeof endings;

export interface ImageFile {
  readonly file: string;
  readonly format: ImageFormat;
}

/** The files of an image: none, one, or several conflicting ones. */
async function findImages(folder: string, name: string): Promise<readonly ImageFile[]> {
  const present = new Set(await readdir(folder));
  return (Object.entries(endings) as [ImageFormat, readonly string[]][]).flatMap(([format, all]) =>
    all.flatMap((ending) =>
      present.has(`${name}${ending}`) ? [{ file: join(folder, `${name}${ending}`), format }] : [],
    ),
  );
}

/** The file of an image; otherwise the reason, where `is` states whether it is certain. */
export async function findImage(
  folder: string,
  name: string,
): Promise<{ readonly image: ImageFile } | (Knowledge & { readonly image?: undefined })> {
  try {
    const [image, ...others] = await findImages(folder, name);
    if (image === undefined) return { is: 'no' };
    if (others.length === 0) return { image };
    const names = [image, ...others].map(({ file }) => file).join(' and ');
    return { is: 'unknown', why: `${names} conflict; remove all but one` };
  } catch (error) {
    return { is: 'unknown', why: `cannot read the folder of images: ${(error as Error).message}` };
  }
}

/**
 * The file of an image to write, if everything that a load needs is present.
 * @throws Error
 */
export async function openImage(
  { images, rescue }: { readonly images: string; readonly rescue: string },
  name: string,
): Promise<ImageFile> {
  for (const file of ['kernel', 'initramfs']) {
    refuseUntrusted('file', join(rescue, file));
    refuseSpecial(join(rescue, file));
    if (!existsSync(join(rescue, file)))
      throw new Error(`${rescue} has no ${file}; create the rescue system: heddle image rescue ${rescue}`);
  }
  const found = await findImage(images, name);
  if (found.image === undefined) throw new Error(found.why ?? `image ${name} does not exist in ${images}`);
  refuseUntrusted('file', found.image.file);
  refuseSpecial(found.image.file);
  return found.image;
}

/** Size of the stored file in megabytes. */
export async function sizeOfImage(folder: string, name: string): Promise<SizeReading> {
  const found = await findImage(folder, name);
  if (found.image === undefined) return { why: found.why ?? `image ${name} does not exist in ${folder}` };
  const { size } = await stat(found.image.file);
  return { sizeMb: Math.max(1, Math.ceil(size / 2 ** 20)) };
}
