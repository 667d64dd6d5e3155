import { ApplicationFailure } from '@temporalio/workflow';
import type { ImageFile } from '../../model/image/build.js';
import type { CheckedImage } from '../../model/image/messages.js';
import type { ImageSpec } from '../../model/image/spec.js';
import { whyOf } from './failure.js';
import { runLibraryTask } from './library.js';
import { buildOf, changeUpload, type ImageMemory } from './memory.js';
import { condition } from '../inbox.js';

export interface Target {
  readonly provider: string;
  readonly format: string;
}

/**
 * Brings files of a build to provider accounts in parallel. A failed upload is recorded and stops no other.
 * Ends only after all of them, also when the build is cancelled: a running upload may still create an image.
 */
export async function uploadAll(
  memory: ImageMemory,
  number: number,
  { accounts }: CheckedImage,
  targets: readonly Target[],
  validatedAt?: string,
): Promise<void> {
  const results = await Promise.allSettled(
    targets.map(async ({ provider, format }) => {
      const account = accounts[provider];
      const file = buildOf(memory, number).files.find((made) => made.format === format);
      if (account === undefined || file === undefined)
        throw ApplicationFailure.nonRetryable(
          `build ${number} has no file ${format} for ${provider}`,
          'Invalid',
        );
      await upload(memory, number, { provider, type: account.type, at: account.site }, file, validatedAt);
    }),
  );
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** The provider account a build is validated at; undefined without validation. */
export function validatedAtOf({ validate }: ImageSpec): string | undefined {
  return validate === false ? undefined : validate.provider;
}

/** Why nothing is uploaded to a provider account now; undefined if it may be. */
export function pauseOfUploads({ state }: ImageMemory, provider: string): string | undefined {
  const paused = state.pausedUploads?.[provider];
  return paused === undefined ? undefined : `uploads to ${provider} are paused by ${paused.by}`;
}

/**
 * Files are on the builders of the site that made them, so these bring them away. While uploads
 * to the account are paused, a build waits only for the account it is validated at; other
 * uploads follow after the build.
 */
async function upload(
  memory: ImageMemory,
  number: number,
  { provider, type, at }: { readonly provider: string; readonly type: string; readonly at: string },
  { path, format, sha256, bytes, site }: ImageFile,
  validatedAt: string | undefined,
): Promise<void> {
  const why = pauseOfUploads(memory, provider);
  if (why !== undefined) {
    changeUpload(memory, number, { provider, type, site: at, state: 'waiting', why });
    if (provider !== validatedAt) return;
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
