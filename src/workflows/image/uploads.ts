import { condition } from '@temporalio/workflow';
import type { ImageFile } from '../../model/image/build.js';
import type { CheckedImage } from '../../model/image/messages.js';
import { whyOf } from './failure.js';
import { runLibraryTask } from './library.js';
import { buildOf, changeUpload, type ImageMemory } from './memory.js';

export interface Target {
  readonly provider: string;
  readonly format: string;
}

/**
 * Brings files of a build to provider accounts, side by side. One that fails is noted, and stops no other.
 */
export async function uploadAll(
  memory: ImageMemory,
  number: number,
  { accounts }: CheckedImage,
  targets: readonly Target[],
): Promise<void> {
  await Promise.all(
    targets.map(async ({ provider, format }) => {
      const account = accounts[provider];
      const file = buildOf(memory, number).files.find((made) => made.format === format);
      if (account === undefined || file === undefined)
        throw new Error(`build ${number} has no file ${format} for ${provider}`);
      await upload(memory, number, { provider, type: account.type, at: account.site }, file);
    }),
  );
}

/** Why nothing is uploaded to a provider account now; undefined if it may be. */
export function pauseOfUploads({ state }: ImageMemory, provider: string): string | undefined {
  const paused = state.pausedUploads?.[provider];
  return paused === undefined ? undefined : `uploads to ${provider} are paused by ${paused.by}`;
}

/**
 * Files are on the builders of the site that made them, so these bring them away. While uploads to the account
 * are paused, a build waits only for the one that it is validated at; others follow after the build.
 */
async function upload(
  memory: ImageMemory,
  number: number,
  { provider, type, at }: { readonly provider: string; readonly type: string; readonly at: string },
  { path, format, sha256, bytes, site }: ImageFile,
): Promise<void> {
  const why = pauseOfUploads(memory, provider);
  if (why !== undefined) {
    const { spec } = memory.state;
    changeUpload(memory, number, { provider, type, site: at, state: 'waiting', why });
    const isValidated = spec !== undefined && spec.validate !== false && spec.validate.provider === provider;
    if (!isValidated || buildOf(memory, number).state !== 'building') return;
    await condition(() => pauseOfUploads(memory, provider) === undefined);
  }
  changeUpload(memory, number, { provider, type, site: at, state: 'uploading' });
  try {
    const { providerImage } = await runLibraryTask(
      memory,
      number,
      'UPLOAD_IMAGE',
      { site, provider, type },
      { file: { path, format, sha256, bytes } },
    );
    changeUpload(memory, number, { provider, type, site: at, state: 'ready', image: providerImage });
  } catch (error) {
    changeUpload(memory, number, { provider, type, site: at, state: 'failed', why: whyOf(error) });
  }
}
