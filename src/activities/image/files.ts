import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BuiltFile } from '../../model/machine/messages.js';
import { PluginError } from '../../plugins/errors.js';
import { openFile } from '../../schema/read-text.js';

/** Where a builder keeps the file of an image. */
export function fileOf(
  folder: string,
  { name, revision }: { readonly name: string; readonly revision: string },
  format: string,
): string {
  return join(folder, `${name}-${revision}.${format}`);
}

/** @throws PluginError Invalid for a file outside of the folder: such files must not be removed or sent. */
export function checkInside(folder: string, path: string): string {
  const whole = resolve(path);
  if (dirname(whole) !== resolve(folder))
    throw new PluginError('Invalid', `${path} is not a file of this builder, whose folder is ${folder}`);
  return whole;
}

export async function describeFile(path: string, format: string, signal: AbortSignal): Promise<BuiltFile> {
  const file = await openFile(path);
  const { size } = await file.stat();
  const hash = createHash('sha256');
  await pipeline(file.createReadStream(), hash, { signal }); // The stream closes the file.
  return { path, format, sha256: hash.digest('hex'), bytes: size };
}

/** @throws PluginError Invalid if the file differs from the built one. */
export async function checkFile(
  { path, format, sha256 }: { readonly path: string; readonly format: string; readonly sha256?: string },
  signal: AbortSignal,
): Promise<BuiltFile> {
  const found = await describeFile(path, format, signal).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw new PluginError(
      'Invalid',
      `${path} is not on this builder (${cause instanceof Error ? cause.message : String(cause)}); all builders of a site need the same folder`,
      { cause },
    );
  });
  if (sha256 !== undefined && found.sha256 !== sha256)
    throw new PluginError(
      'Invalid',
      `${path} is not the file that was built: its SHA-256 is ${found.sha256}, not ${sha256}`,
    );
  return found;
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.part`, { force: true });
}
